"""The files of the page, read once for each opening: what isn't among them can't be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from memd.page.answers import HTML, TEXT, Answer, refused

FOLDER = Path(__file__).parent / "static"
"""Where they are in the package."""

INDEX = "index.html"

KINDS = {
    ".html": HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": TEXT,
    ".md": TEXT,
}
"""Files of other kinds are not served."""

MISSING = b'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>memd</title></head>\n<body><p>The page is not part of this installation.</p></body></html>\n'  # noqa: E501
"""The page where the package has none."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: what it holds, of which kind it is, and what tells this version from others."""

    body: bytes
    kind: str
    tag: str

    def answer(self, known: str | None) -> Answer:
        """Return it, or that it is what the browser has."""
        headers = (("ETag", self.tag), ("Cache-Control", "no-cache"))
        if known is not None and self.tag in (each.strip() for each in known.split(",")):
            return Answer(HTTPStatus.NOT_MODIFIED, headers=headers)
        return Answer(HTTPStatus.OK, self.body, self.kind, headers)


class Assets:
    """All files of the page by their names, with `/` between folders."""

    def __init__(self, files: Mapping[str, Asset]) -> None:
        self._files = files

    def __repr__(self) -> str:
        return f"<Assets: {len(self._files)} files>"

    def index(self, known: str | None) -> Answer:
        """Return the page itself."""
        found = self._files.get(INDEX)
        return found.answer(known) if found is not None else Answer(HTTPStatus.OK, MISSING, HTML)

    def static(self, name: str, known: str | None) -> Answer:
        """Return a file by its name; one there isn't is not found, whatever its name."""
        found = self._files.get(name)
        return found.answer(known) if found is not None else refused(HTTPStatus.NOT_FOUND)


def load_assets(folder: Path = FOLDER) -> Assets:
    """Read the page's files (blocking). Links and kinds that aren't served are left out."""
    files = {}
    for path in sorted(folder.rglob("*")):
        kind = KINDS.get(path.suffix)
        if kind is not None and path.is_file() and not path.is_symlink():
            body = path.read_bytes()
            tag = f'"{sha256(body).hexdigest()[:32]}"'
            files[path.relative_to(folder).as_posix()] = Asset(body, kind, tag)
    return Assets(files)
