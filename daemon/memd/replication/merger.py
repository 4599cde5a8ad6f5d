"""Merges two commits of a repository to the changes that make a third."""

from __future__ import annotations

from collections.abc import Mapping

import trio
from msgspec import Struct

from memd.replication.check import LEDGER, check_text, is_tracked
from memd.replication.git.repository import Repository, TreeEntry
from memd.replication.merge.facts import (
    FactChange,
    is_facts_path,
    merge_facts,
    merge_ledgers,
    read_ledger,
    write_ledger,
)
from memd.replication.merge.files import Sides, conflict_entry, conflict_folder_prefix, merge_note
from memd.replication.merge.texts import MergedText
from memd.replication.merge.trees import ContentMerge, exact_renames, merge_trees

Tree = dict[str, str]


Changes = dict[str, bytes | str | None]
"""Changes to our files by path: a new content, the id of one, or None to remove the file."""


class _Side(Struct, frozen=True):
    """The files of one commit: memory, facts among it, the rest, and the id of the ledger."""

    memory: Tree
    facts: Tree
    others: Tree
    ledger: str | None


async def plan_merge(repository: Repository, base: str, ours: str, theirs: str, sides: Sides) -> Changes:
    """Return the changes that make our commit the merge of both.

    Args:
        repository: Has all commits.
        base: The commit both come from, "" if there is none.
        ours: Our commit.
        theirs: The other commit, whose files were checked.
        sides: The machines.

    Raises:
        RemoteRefusedError: A file of theirs is no text.
        GitFailedError: A commit can't be read.
    """
    before, mine, others = [_side(await repository.tree(commit)) for commit in (base, ours, theirs)]
    merged = merge_trees(
        before.memory,
        mine.memory,
        others.memory,
        await _renames(repository, base, ours, before.memory, mine.memory),
        await _renames(repository, base, theirs, before.memory, others.memory),
    )
    needed = {oid for side in (before, mine, others) for oid in (*side.facts.values(), side.ledger)}
    for path, each in merged.items():
        if isinstance(each, ContentMerge):
            needed |= {each.base, each.ours, each.theirs}
        elif path.startswith(conflict_folder_prefix(sides)):
            needed.add(each)
    contents = await repository.load(oid for oid in needed if oid is not None)
    versions = before, mine, others
    return await trio.to_thread.run_sync(_merge, versions, merged, contents, sides, abandon_on_cancel=True)


def _merge(
    versions: tuple[_Side, _Side, _Side],
    merged: Mapping[str, str | ContentMerge],
    contents: Mapping[str, bytes],
    sides: Sides,
) -> Changes:
    """Merge contents and return the changes to our files."""
    before, mine, others = versions

    def text(path: str, oid: str | None) -> str:
        return "" if oid is None else check_text(path, contents[oid])

    notes = {
        path: merge_note(path, text(path, each.base), text(path, each.ours), text(path, each.theirs), sides)
        for path, each in merged.items()
        if isinstance(each, ContentMerge) and not is_facts_path(path)
    }
    result: dict[str, bytes | str] = {path: each for path, each in merged.items() if isinstance(each, str)}
    result |= {path: note.text.encode() for path, note in notes.items()}
    ledgers = [_ledger(contents, side) for side in (mine, others)]
    # Without a common base a machine that lacks facts may have deleted them: its ledger knows.
    is_changed = not before.facts or before.facts not in (mine.facts, others.facts)
    if is_changed and mine.facts != others.facts:
        parts = [{path: text(path, oid) for path, oid in side.facts.items()} for side in versions]
        files = merge_facts(parts[0], parts[1], parts[2], ledgers[0], ledgers[1])
        result |= {path: files[path].encode() for path in files}
    _add_conflicts(result, notes, contents, sides)
    changes: Changes = {}
    for path in {*mine.memory, *result}:
        if result.get(path) != mine.memory.get(path):
            changes[path] = result.get(path)
    if mine.ledger != others.ledger:
        changes[LEDGER] = write_ledger(merge_ledgers(*ledgers)).encode()
    for path in {*mine.others, *others.others}:  # files that are no memory: carried along
        if mine.others.get(path) == before.others.get(path) != others.others.get(path):
            changes[path] = others.others.get(path)
    return changes


def _ledger(contents: Mapping[str, bytes], side: _Side) -> dict[str, FactChange]:
    """Return the ledger of one commit; what is not text in it is ignored, as invalid lines are."""
    data = b"" if side.ledger is None else contents[side.ledger]
    return read_ledger(data.decode("utf-8", "replace"))


def _add_conflicts(
    result: dict[str, bytes | str],
    notes: Mapping[str, MergedText],
    contents: Mapping[str, bytes],
    sides: Sides,
) -> None:
    """Add the other machine's lines that conflicted to files of their own."""
    for path, note in notes.items():
        if note.conflicts:
            where = conflict_entry(path, note.conflicts, sides, "")[0]
            kept = result.get(where, b"")
            text = check_text(where, contents[kept] if isinstance(kept, str) else kept)
            result[where] = conflict_entry(path, note.conflicts, sides, text)[1].encode()


def _side(tree: Mapping[str, TreeEntry]) -> _Side:
    """Return the files of a commit by their kind."""
    memory = {path: entry.oid for path, entry in tree.items() if is_tracked(path)}
    facts = {path: oid for path, oid in memory.items() if is_facts_path(path)}
    others = {path: entry.oid for path, entry in tree.items() if path not in memory and path != LEDGER}
    return _Side(memory, facts, others, tree[LEDGER].oid if LEDGER in tree else None)


async def _renames(repository: Repository, base: str, side: str, before: Tree, after: Tree) -> dict[str, str]:
    """Return the memory files that one side renamed."""
    if not base or before.keys() <= after.keys() or after.keys() <= before.keys():
        return {}
    found = await repository.renames(base, side)
    return {
        old: new for old, new in found.items() if old in before and new in after and old not in after
    } or (exact_renames(before, after))
