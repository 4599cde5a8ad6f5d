"""Plan and execute an import: copies are written atomically and never replace unknown text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from memd.importing.origins import Origin
from memd.importing.provenance import ImportedCopy, Provenance, hash_of, read_copy, with_provenance
from memd.importing.sources import (
    FOLDER,
    LIMIT_BYTES,
    ExcludedFile,
    Source,
    collect,
    other_target,
    same_name,
    text_of,
)
from memd.lifecycle.files import writing
from memd.sync.disk.discover import SourceFile, discover
from memd.sync.disk.read import read_file
from memd_client.errors import MemdError

NEW = "new"
"""There is no copy yet: it will be written."""
CHANGED = "changed"
"""The source has changed and the copy was not edited: it will be replaced."""
SAME = "same"
"""The copy is equal to its source."""
EDITED = "edited"
"""The copy was edited and the source has not changed: the copy is kept."""
CONFLICT = "conflict"
"""Both have changed: the copy is kept, and the user has to decide."""
KEPT = "kept"
"""Both have changed and the user keeps the copy: its provenance gets the hash of the current source."""
DUPLICATE = "duplicate"
"""Another memory file has the same text."""
LEFT_OUT = "left out"
"""It cannot be imported, or is excluded."""
GONE = "gone"
"""The source no longer exists: the copy is kept."""

FAILED = "failed"
"""Writing failed."""

COPIED_STATES = (NEW, CHANGED)
"""States in which the source's text is written."""
WRITTEN_STATES = (*COPIED_STATES, KEPT)
"""States in which a file is written."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """The plan, or the result, for one source.

    Attributes:
        state: One of the constants above.
        source: Absolute path of the source.
        target: Path of the copy in the workspace; for a duplicate, the file with the same text.
        size: Bytes of the source.
        reason: Why, unless the state says it.
        read: The source to read, if it is to be written.
        copy_hash: Hash of the copy that will be replaced, when the plan was made.
        kept: Text of that copy, if it is kept.
    """

    state: str
    source: str
    target: str = ""
    size: int = 0
    reason: str = ""
    read: Source | None = field(default=None, repr=False)
    copy_hash: str = ""
    kept: str = field(default="", repr=False)


@dataclass(slots=True)
class MemoryContents:
    """The files in an agent's memory that an import compares with.

    Attributes:
        copies: The first copy of each source, by source, with the hash of the whole file.
        texts: Paths of memory files by the hash of their text without provenance.
    """

    copies: dict[str, tuple[str, ImportedCopy, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def make_plan(origins: Iterable[Origin], workspace: Path, *, keep_mine: bool = False) -> list[ImportRow]:
    """Return the plan for every file of the origins, in their order."""
    rows: list[ImportRow] = []
    sources: list[Source] = []
    left: list[ExcludedFile] = []
    kind = ""
    for origin in origins:
        kind = origin.kind
        taken, refused = collect(origin, workspace)
        sources += taken
        left += refused
    memory = load_memory(workspace, {source.size for source in sources})
    planned: set[str] = set()
    for source in {each.path: each for each in sources}.values():
        row = _row(source, kind, memory, workspace, planned, both=KEPT if keep_mine else CONFLICT)
        rows.append(row)
        if row.state != DUPLICATE:
            planned.add(same_name(row.target))
            memory.texts.setdefault(source.sha256, row.target)
    rows += [ImportRow(LEFT_OUT, each.path, "", each.size, each.reason) for each in left]
    named = {row.source for row in rows}
    return rows + list(_gone(memory.copies, kind, named))


def load_memory(workspace: Path, sizes: Iterable[int]) -> MemoryContents:
    """Return the files in an agent's memory that are imported or have one of the sizes."""
    memory = MemoryContents()
    wanted = set(sizes)
    files = discover(workspace, (), LIMIT_BYTES).files
    for path in sorted(files):
        imported = path.startswith(f"{FOLDER}/")
        if not imported and files[path].size not in wanted:
            continue
        text = _text(files[path])
        if text is None:
            continue
        copy = read_copy(text) if imported else None
        memory.texts.setdefault(copy.body_hash if copy else hash_of(text), path)
        if copy is not None:
            memory.copies.setdefault(
                _key(copy.provenance.kind, copy.provenance.source), (path, copy, hash_of(text))
            )
    return memory


def _row(
    source: Source, kind: str, memory: MemoryContents, workspace: Path, planned: set[str], *, both: str
) -> ImportRow:
    """Return the plan for one source; `both` is the state if source and copy have changed."""
    row = ImportRow(NEW, source.path, source.target, source.size, "", source)
    if known := memory.copies.get(_key(kind, source.path)):
        path, copy, whole = known
        changed = copy.provenance.sha256 != source.sha256
        state = (both if changed else EDITED) if copy.is_edited else (CHANGED if changed else SAME)
        if copy.body_hash == source.sha256:
            state = SAME  # the same change was made in the copy
        reason = {
            CONFLICT: "source and copy have both changed; keeping the copy (--keep-mine: permanently)",
            KEPT: "source and copy have both changed; keeping the copy permanently",
            EDITED: "the copy was edited; keeping it",
        }.get(state, "")
        kept = copy.body if state == KEPT else ""
        return ImportRow(state, source.path, path, source.size, reason, source, whole, kept)
    if twin := memory.texts.get(source.sha256):
        return ImportRow(DUPLICATE, source.path, twin, source.size, f"{twin} has the same text")
    for target in (source.target, other_target(source.target, source.path)):
        if same_name(target) not in planned and not os.path.lexists(workspace / target):
            named = "" if target == source.target else f"{source.target} is another file"
            return ImportRow(NEW, source.path, target, source.size, named, source)
    return ImportRow(
        LEFT_OUT, row.source, "", row.size, f"{source.target} and its alternative name are other files"
    )


def _gone(
    copies: Mapping[str, tuple[str, ImportedCopy, str]], kind: str, named: set[str]
) -> Iterable[ImportRow]:
    """Yield the copies of this kind whose source no longer exists."""
    for path, copy, _ in copies.values():
        source = copy.provenance.source
        if copy.provenance.kind == kind and source not in named and not os.path.lexists(source):
            yield ImportRow(GONE, source, path, 0, "the source no longer exists; keeping the copy")


def _key(kind: str, source: str) -> str:
    """Return the key of a source."""
    return f"{kind}\0{source}"


def _text(found: SourceFile) -> str | None:
    """Return a memory file's text; None if it cannot be read."""
    try:
        return read_file(found, LIMIT_BYTES).text
    except MemdError:
        return None


# --- writing -----------------------------------------------------------------------------------------------


def carry_out(rows: Iterable[ImportRow], kind: str, workspace: Path, imported: str) -> list[ImportRow]:
    """Execute a plan, and return the results.

    A file that cannot be written doesn't stop the others. New files have mode 0600, new folders 0700.
    """
    return [_write(row, kind, workspace, imported) if row.state in WRITTEN_STATES else row for row in rows]


def _write(row: ImportRow, kind: str, workspace: Path, imported: str) -> ImportRow:
    """Write one copy."""
    source = row.read
    assert source is not None
    try:
        text = text_of(source)
        if text is None:
            return replace(row, state=FAILED, reason="the source has changed in the meantime; import again")
        provenance = Provenance(kind, source.path, source.sha256, imported)
        copy = with_provenance(row.kept if row.state == KEPT else text, provenance)
        if len(copy.encode()) > LIMIT_BYTES:
            return replace(row, state=FAILED, reason="too large with the line about its source")
        if row.state == NEW:
            written = writing.create(workspace, row.target, copy)
        else:
            written = writing.change(
                workspace, row.target, lambda text: copy if hash_of(text) == row.copy_hash else text
            )
    except MemdError as error:
        return replace(row, state=FAILED, reason=error.message)
    if written:
        return row
    return replace(row, state=FAILED, reason=f"{row.target} has changed in the meantime; import again")
