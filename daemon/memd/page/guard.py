"""Which requests are the page's own: what a browser says of where each comes from. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

PAGE = "/"
"""Where the page is, and where its link leads."""


@dataclass(frozen=True, slots=True, repr=False)
class Head:
    """A request without its body. Names of headers are in small letters; one given twice has both values."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The target without its query, as it was sent."""
        return self.target.partition("?")[0]

    @property
    def token(self) -> str | None:
        """The key in a link to the page; None where the request is none to it."""
        if self.method != "GET" or self.path != PAGE:
            return None
        try:
            given = parse_qs(urlsplit(self.target).query, max_num_fields=10).get("token")
        except ValueError:
            return None
        return given[0] if given else None


def why_foreign(head: Head, port: int) -> str | None:
    """Return why a request is not the page's own, or None where nothing says so.

    A page of another origin can send requests here, and the browser may add our cookie: it is told apart by what
    browsers say in headers that no page can set. A name that was made to lead to 127.0.0.1 stands in `Host`.
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
    """Return what a browser's own words on a request say against it."""
    site = head.headers.get("sec-fetch-site")
    if site in (None, "same-origin"):
        return None
    framed = head.headers.get("sec-fetch-dest", "document") != "document"
    followed = head.headers.get("sec-fetch-mode", "navigate") == "navigate"
    if head.method != "GET" or head.path != PAGE or framed or not followed:
        return "fetch_site"
    # A link may be opened from anywhere: nobody else knows it. The page itself is typed, or comes back from a bookmark.
    return None if site == "none" or head.token is not None else "fetch_site"


def why_no_call(head: Head) -> str | None:
    """Return what a request to the daemon lacks that only the page's own script sends, or None."""
    kind, _, rest = head.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != "application/json" or rest.strip().lower() not in ("", "charset=utf-8"):
        return "content_type"
    return None if head.headers.get("x-memd") == "1" else "header_missing"


def cookie_of(head: Head, name: str) -> str | None:
    """Return a cookie's value; None where it isn't there exactly once."""
    found = []
    for each in head.headers.get("cookie", "").split(";"):
        key, _, value = each.strip().partition("=")
        if key == name:
            found.append(value)
    return found[0] if len(found) == 1 else None
