"""What an import writes where, and the writing: every copy whole or not at all, and none over unknown text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from memd.importing.origins import Origin
from memd.importing.provenance import Copy, Provenance, hash_of, read_copy, with_provenance
from memd.importing.sources import (
    FOLDER,
    LIMIT_BYTES,
    LeftOut,
    Source,
    collect,
    other_target,
    same_name,
    text_of,
)
from memd.lifecycle.files import writing
from memd.sync.disk.discover import Found, discover
from memd.sync.disk.read import read_file
from memd_client.errors import MemdError

NEW = "new"
"""Will be written: there is no copy yet."""
CHANGED = "changed"
"""Will be written over a copy nobody has edited: the source has changed."""
SAME = "same"
"""The copy is as its source is."""
EDITED = "edited"
"""The copy was edited, the source is as it was: the edit stays."""
CONFLICT = "conflict"
"""Both have changed: the copy stays, and somebody has to decide."""
KEPT = "kept"
"""Both have changed, and the copy was chosen for good: it is noted there that it is of the source as it is now."""
DUPLICATE = "duplicate"
"""Its text is memory already, under another name."""
LEFT_OUT = "left out"
"""It can't be imported, or isn't meant."""
GONE = "gone"
"""A copy whose source is no more: it stays."""

FAILED = "failed"
"""The state of a row that was to be written and wasn't."""

TAKEN = (NEW, CHANGED)
"""What is written of a source's text."""
WRITTEN = (*TAKEN, KEPT)
"""What a plan writes."""


@dataclass(frozen=True, slots=True)
class Row:
    """What becomes of one source.

    Attributes:
        state: One of those above.
        source: Its absolute path.
        target: Where its copy is or will be, below the workspace; for a duplicate, the file that has its text.
        size: Bytes of the source.
        reason: Why, where the state alone doesn't say it.
        read: What it is read by, where it is to be written.
        held: The hash of the copy that will be replaced, as it was when the plan was made.
        kept: What that copy holds, where it is kept.
    """

    state: str
    source: str
    target: str = ""
    size: int = 0
    reason: str = ""
    read: Source | None = field(default=None, repr=False)
    held: str = ""
    kept: str = field(default="", repr=False)


@dataclass(slots=True)
class Held:
    """What an agent's memory holds that an import has to know.

    Attributes:
        copies: By the source they name, the first of each; with the hash of the whole file.
        texts: Paths of memory by the hash of what they say, provenance left out.
    """

    copies: dict[str, tuple[str, Copy, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def make_plan(origins: Iterable[Origin], workspace: Path, *, keep_mine: bool = False) -> list[Row]:
    """Return what becomes of every file of the origins, in the order they are named in."""
    rows: list[Row] = []
    sources: list[Source] = []
    left: list[LeftOut] = []
    kind = ""
    for origin in origins:
        kind = origin.kind
        taken, refused = collect(origin, workspace)
        sources += taken
        left += refused
    held = load_held(workspace, {source.size for source in sources})
    planned: set[str] = set()
    for source in {each.path: each for each in sources}.values():
        row = _row(source, kind, held, workspace, planned, both=KEPT if keep_mine else CONFLICT)
        rows.append(row)
        if row.state != DUPLICATE:
            planned.add(same_name(row.target))
            held.texts.setdefault(source.sha256, row.target)
    rows += [Row(LEFT_OUT, each.path, "", each.size, each.reason) for each in left]
    named = {row.source for row in rows}
    return rows + list(_gone(held.copies, kind, named))


def load_held(workspace: Path, sizes: Iterable[int]) -> Held:
    """Return what an agent's memory holds."""
    held = Held()
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
        held.texts.setdefault(copy.body_hash if copy else hash_of(text), path)
        if copy is not None:
            held.copies.setdefault(
                _key(copy.provenance.kind, copy.provenance.source), (path, copy, hash_of(text))
            )
    return held


def _row(source: Source, kind: str, held: Held, workspace: Path, planned: set[str], *, both: str) -> Row:
    """Return what becomes of one source; `both` is its state where it and its copy have changed."""
    row = Row(NEW, source.path, source.target, source.size, "", source)
    if known := held.copies.get(_key(kind, source.path)):
        path, copy, whole = known
        changed = copy.provenance.sha256 != source.sha256
        state = (both if changed else EDITED) if copy.is_edited else (CHANGED if changed else SAME)
        if copy.body_hash == source.sha256:
            state = SAME  # somebody made the same change here
        reason = {
            CONFLICT: "the source and the copy have both changed; the copy stays (--keep-mine: for good)",
            KEPT: "the source has changed too; the copy stays for good",
            EDITED: "the copy was edited; it stays",
        }.get(state, "")
        kept = copy.body if state == KEPT else ""
        return Row(state, source.path, path, source.size, reason, source, whole, kept)
    if twin := held.texts.get(source.sha256):
        return Row(DUPLICATE, source.path, twin, source.size, f"its text is in {twin} already")
    for target in (source.target, other_target(source.target, source.path)):
        if same_name(target) not in planned and not os.path.lexists(workspace / target):
            named = "" if target == source.target else f"{source.target} is taken by another file"
            return Row(NEW, source.path, target, source.size, named, source)
    return Row(LEFT_OUT, row.source, "", row.size, f"{source.target} and the name beside it are taken")


def _gone(copies: Mapping[str, tuple[str, Copy, str]], kind: str, named: set[str]) -> Iterable[Row]:
    """Yield the copies of this kind whose source is no more."""
    for path, copy, _ in copies.values():
        source = copy.provenance.source
        if copy.provenance.kind == kind and source not in named and not os.path.lexists(source):
            yield Row(GONE, source, path, 0, "the source is no more; the copy stays")


def _key(kind: str, source: str) -> str:
    """Return what tells one source from all others."""
    return f"{kind}\0{source}"


def _text(found: Found) -> str | None:
    """Return a memory file's text; None where it can't be read, which is nothing an import could mend."""
    try:
        return read_file(found, LIMIT_BYTES).text
    except MemdError:
        return None


# --- writing -----------------------------------------------------------------------------------------------


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
