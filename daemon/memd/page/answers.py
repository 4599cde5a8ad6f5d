"""The HTTP replies of the page's server, and its static files, read once per opening."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memd_client.errors import MemdError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No external sources, nothing inline, no frames: text of notes stays text even if the page has a defect."""

ALWAYS = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("X-Frame-Options", "DENY"),
)
NO_STORE = ("Cache-Control", "no-store")

HTML = "text/html; charset=utf-8"
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
EVENTS = "text/event-stream"

STATUS_OF = {
    "bad_params": 400,
    "agent_unknown": 404,
    "fact_missing": 404,
    "file_missing": 404,
    "method_unknown": 404,
    "fact_changed": 409,
    "agent_reloading": 503,
    "connection_lost": 503,
    "daemon_busy": 503,
    "daemon_unreachable": 503,
    "shutting_down": 503,
    "too_many_requests": 503,
    "deadline_exceeded": 504,
    "internal": 500,
}
"""HTTP statuses of errors; any other error is 422: the request was understood but can't be executed."""

FOLDER = Path(__file__).parent / "static"
"""Folder of the static files in the package."""

INDEX = "index.html"

KINDS = {
    ".html": HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": JSON,
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": TEXT,
    ".md": TEXT,
}
"""Files of other kinds are not served."""

MISSING = b'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>memd</title></head>\n<body><p>The page is not part of this installation.</p></body></html>\n'  # noqa: E501
"""The page if the package has none."""


class PageReply(Struct, frozen=True):
    """A complete HTTP reply."""

    status: int
    body: bytes = b""
    kind: str = ""
    headers: tuple[tuple[str, str], ...] = (NO_STORE,)

    def all_headers(self) -> list[tuple[str, str]]:
        """Return its headers, including those of every reply."""
        own = [("Content-Type", self.kind)] if self.kind else []
        if self.status != HTTPStatus.NOT_MODIFIED:
            own.append(("Content-Length", str(len(self.body))))
        return [*own, *self.headers, *ALWAYS]


def refused(status: HTTPStatus = HTTPStatus.FORBIDDEN) -> PageReply:
    """Return a reply with an error status and no details."""
    return PageReply(status)


def page(status: int, title: str, sentence: str) -> PageReply:
    """Return an HTML page with one sentence."""
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f"<body><h1>{escape(title)}</h1><p>{escape(sentence)}</p></body></html>\n"
    )
    return PageReply(status, text.encode(), HTML)


def dead_link() -> PageReply:
    """Return the page for a link that was used or has expired."""
    sentence = (
        "A link works once, and for a minute. Run `memctl web` again: it prints a new one and opens it."
    )
    return page(HTTPStatus.FORBIDDEN, "This link works no more", sentence)


def enter(cookie: str | None) -> PageReply:
    """Return a redirect to the page, which removes the link's key from the address.

    It is a page, no redirect: a browser that followed a link from elsewhere would not send a strict cookie along
    a redirect, but does from here.
    """
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">'
        '<title>memd</title></head>\n<body><p><a href="/">Open the page</a></p></body></html>\n'
    )
    handed = () if cookie is None else (("Set-Cookie", cookie),)
    return PageReply(HTTPStatus.OK, text.encode(), HTML, (NO_STORE, *handed))


def result(value: Any) -> PageReply:
    """Return a reply of the daemon."""
    return PageReply(HTTPStatus.OK, msgspec.json.encode({"result": value}), JSON)


def document(value: Any) -> PageReply:
    """Return a value of the page's server as JSON."""
    return PageReply(HTTPStatus.OK, msgspec.json.encode(value), JSON)


def failure(error: MemdError) -> PageReply:
    """Return an error as JSON."""
    status = STATUS_OF.get(error.wire_code, HTTPStatus.UNPROCESSABLE_ENTITY)
    return PageReply(status, msgspec.json.encode({"error": error.to_wire()}), JSON)


class Asset(Struct, frozen=True):
    """One static file: its contents, its media type and its ETag."""

    body: bytes
    kind: str
    tag: str

    def answer(self, known: str | None) -> PageReply:
        """Return the file, or 304 if the browser has this version."""
        headers = (("ETag", self.tag), ("Cache-Control", "no-cache"))
        if known is not None and self.tag in (each.strip() for each in known.split(",")):
            return PageReply(HTTPStatus.NOT_MODIFIED, headers=headers)
        return PageReply(HTTPStatus.OK, self.body, self.kind, headers)


class Assets:
    """All files of the page by their names, with `/` between folders."""

    def __init__(self, files: Mapping[str, Asset]) -> None:
        self._files = files

    def __repr__(self) -> str:
        return f"<Assets: {len(self._files)} files>"

    def index(self, known: str | None) -> PageReply:
        """Return the page itself."""
        found = self._files.get(INDEX)
        return found.answer(known) if found is not None else PageReply(HTTPStatus.OK, MISSING, HTML)

    def static(self, name: str, known: str | None) -> PageReply:
        """Return a file by its name, or 404."""
        found = self._files.get(name)
        return found.answer(known) if found is not None else refused(HTTPStatus.NOT_FOUND)


def load_assets(folder: Path = FOLDER) -> Assets:
    """Read the page's files (blocking), without symbolic links and other media types."""
    files = {}
    for path in sorted(folder.rglob("*")):
        kind = KINDS.get(path.suffix)
        if kind is not None and path.is_file() and not path.is_symlink():
            body = path.read_bytes()
            tag = f'"{sha256(body).hexdigest()[:32]}"'
            files[path.relative_to(folder).as_posix()] = Asset(body, kind, tag)
    return Assets(files)
