"""Writing what a plan says: every copy whole or not at all, and none over what it doesn't know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from memd.importing.plan import KEPT, NEW, WRITTEN, Row
from memd.importing.provenance import Provenance, hash_of, with_provenance
from memd.importing.sources import LIMIT_BYTES, text_of
from memd.lifecycle.files import writing
from memd_client.errors import MemdError

FAILED = "failed"
"""The state of a row that was to be written and wasn't."""


def carry_out(rows: Iterable[Row], kind: str, workspace: Path, imported: str) -> list[Row]:
    """Write what a plan says, and return what became of it.

    One file that can't be written stops no other. Written files have mode 0600, folders that had to be made 0700.
    """
    return [_write(row, kind, workspace, imported) if row.state in WRITTEN else row for row in rows]


def _write(row: Row, kind: str, workspace: Path, imported: str) -> Row:
    """Write one copy."""
    source = row.read
    assert source is not None
    try:
        text = text_of(source)
        if text is None:
            return replace(row, state=FAILED, reason="the source has changed since; import again")
        provenance = Provenance(kind, source.path, source.sha256, imported)
        copy = with_provenance(row.kept if row.state == KEPT else text, provenance)
        if len(copy.encode()) > LIMIT_BYTES:
            return replace(row, state=FAILED, reason="too big with the line about where it came from")
        if row.state == NEW:
            written = writing.create(workspace, row.target, copy)
        else:
            written = writing.change(
                workspace, row.target, lambda held: copy if hash_of(held) == row.held else held
            )
    except MemdError as error:
        return replace(row, state=FAILED, reason=error.message)
    if written:
        return row
    return replace(row, state=FAILED, reason=f"{row.target} was written by somebody meanwhile; import again")
