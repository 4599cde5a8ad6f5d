"""What a list says of files: how many chunks each has, and its first heading."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memd.index.database import Database

MAX_TITLE_CHARS = 200
"""A title is cut here: a list is read at a glance."""

_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<title>\S[^\n]*?)[ \t]*#*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """How many chunks a file has, and its first heading in its first chunk, or an empty one."""

    chunks: int
    title: str


def list_files(db: Database, paths: Sequence[str]) -> dict[str, ListedFile]:
    """Return what is known of files by path; one that isn't in the index is left out."""
    rows = db.execute(
        """SELECT f.path, f.source,
             (SELECT count(*) FROM chunks WHERE path = f.path),
             (SELECT text FROM chunks WHERE path = f.path ORDER BY start_char, id LIMIT 1)
           FROM json_each(?) AS wanted CROSS JOIN files AS f ON f.path = wanted.value""",
        (json.dumps(list(paths)),),
    )
    return {
        str(path): ListedFile(int(chunks), first_heading(text or "") if source == "memory" else "")
        for path, source, chunks, text in rows
    }


def first_heading(markdown: str) -> str:
    """Return the first heading of a text without its signs, or an empty one."""
    found = _HEADING.search(markdown)
    return "" if found is None else found["title"][:MAX_TITLE_CHARS]
