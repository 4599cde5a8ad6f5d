"""Access to the page: limits, the owner of a connection, and the origin that the browser reports."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

PAGE = "/"
"""Path of the page and of its link."""

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Linux's lists of connections. The second has those of programs that use IPv6, even to an IPv4 address."""

ESTABLISHED = "01"

ROOT = 0

Address = tuple[str, int]


class PageLimits(Struct, frozen=True):
    """The limits of the page's server.

    connections: open at once. A browser opens six for one page; beyond them one that has shown no session gives way.
    header_bytes: of a request's line and headers. A browser sends less than two thousand.
    body_bytes: of a request's body: the longest fact, spelled out in JSON escapes, is a tenth of it.
    answers_bytes: replies on their way to all browsers together; one more is answered with `daemon_busy`. One alone
        always fits.
    request_s: from connecting, or from a request's first byte, until it is complete.
    idle_s: between requests of a connection with a session. Longer than browsers keep unused connections open.
    send_s: for a browser to accept one part of a reply.
    token_s: until an unused link expires: a browser is started with it, or the user pastes it.
    tokens: unused links; the oldest expires first.
    sessions: pages opened since the server started; the oldest ends first.
    unwatched_s: until the server ends without an open page. Reloading a page takes a second.
    heartbeat_s: interval of messages in an event stream, to notice a closed page.
    """

    connections: int = 32
    header_bytes: int = 16 * 1024
    body_bytes: int = 256 * 1024
    answers_bytes: int = 64 * 1024 * 1024
    request_s: float = 10
    idle_s: float = 120
    send_s: float = 15
    token_s: float = 60
    tokens: int = 16
    sessions: int = 32
    unwatched_s: float = 60
    heartbeat_s: float = 15


def is_owned_by_user(ours: Address, theirs: Address, tables: Sequence[Path] = TABLES) -> bool:
    """Return whether the process at the other end of a connection belongs to the daemon's user or root.

    Every user of the machine can reach a port of 127.0.0.1. Linux lists the owner of each connection; elsewhere the
    page's keys alone decide.
    """
    is_listed = False
    for table in tables:
        try:
            lines = table.read_text("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        is_listed = True
        for state, uid, inode in _rows(lines, ours, theirs):
            if uid == ROOT and os.geteuid() != ROOT:
                # A connection closed by its program has no owner, and is listed as root's.
                return state == ESTABLISHED and inode != "0"
            return uid == os.geteuid()
    return not is_listed


def _rows(lines: list[str], ours: Address, theirs: Address) -> Iterator[tuple[str, int, str]]:
    """Return state, user and inode of the other end's socket, if a table lists it."""
    ends = {(_hex(theirs, mapped), _hex(ours, mapped)) for mapped in (False, True)}
    for line in lines[1:]:
        fields = line.split()
        if len(fields) > 9 and (fields[1], fields[2]) in ends:
            yield fields[3], int(fields[7]), fields[9]


def _hex(address: Address, mapped: bool) -> str:
    """Return an address in the format of the tables: 32-bit words in native byte order, then the port."""
    packed = ipaddress.IPv4Address(address[0]).packed
    if mapped:
        packed = bytes(10) + b"\xff\xff" + packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"


@dataclass(frozen=True, slots=True, repr=False)
class Head:
    """A request without its body. Names of headers are in lower case; a repeated header has all values."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The target without its query, as it was sent."""
        return self.target.partition("?")[0]

    @property
    def token(self) -> str | None:
        """The key in a link to the page; None for any other request."""
        if self.method != "GET" or self.path != PAGE:
            return None
        try:
            given = parse_qs(urlsplit(self.target).query, max_num_fields=10).get("token")
        except ValueError:
            return None
        return given[0] if given else None


def why_foreign(head: Head, port: int) -> str | None:
    """Return why a request is not from the page itself, or None.

    A page of another origin can send requests here, and the browser may add our cookie: browsers set
    headers that no page can set, and these tell them apart. `Host` shows a foreign name that resolves to 127.0.0.1.
    """
    host = head.headers.get("host", "").lower()
    if host not in (f"127.0.0.1:{port}", f"localhost:{port}"):
        return "host"
    origin = head.headers.get("origin")
    if origin is None and head.method == "POST":
        return "origin_missing"
    if origin is not None and origin != f"http://{host}":
        return "origin"
    return _why_foreign_fetch(head)


def _why_foreign_fetch(head: Head) -> str | None:
    """Return why the browser's `Sec-Fetch` headers rule a request out, or None."""
    site = head.headers.get("sec-fetch-site")
    if site in (None, "same-origin"):
        return None
    framed = head.headers.get("sec-fetch-dest", "document") != "document"
    followed = head.headers.get("sec-fetch-mode", "navigate") == "navigate"
    if head.method != "GET" or head.path != PAGE or framed or not followed:
        return "fetch_site"
    # A link may be opened from anywhere, because it is secret. The page itself is typed or opened from a bookmark.
    return None if site == "none" or head.token is not None else "fetch_site"


def why_no_call(head: Head) -> str | None:
    """Return why a request to the daemon is not from the page's own script, or None."""
    kind, _, rest = head.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != "application/json" or rest.strip().lower() not in ("", "charset=utf-8"):
        return "content_type"
    return None if head.headers.get("x-memd") == "1" else "header_missing"


def cookie_of(head: Head, name: str) -> str | None:
    """Return a cookie's value; None unless it is present exactly once."""
    found = []
    for each in head.headers.get("cookie", "").split(";"):
        key, _, value = each.strip().partition("=")
        if key == name:
            found.append(value)
    return found[0] if len(found) == 1 else None
