"""Merges of commits: which contents are loaded and merged, and the changes that result."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import cast

import pytest
import trio

from memd.replication.check import LEDGER
from memd.replication.git.repository import FILE, Repository, TreeEntry, blob_id
from memd.replication.merge.files import Sides
from memd.replication.merger import Changes, plan_merge
from memd_client.errors import RemoteRefusedError

Files = dict[str, bytes]

NEVER_S = 3_600.0

SIDES = Sides("laptop", "desktop", "2026-11-26")

FACTS = "memory/facts.md"


class StoredCommits:
    """A stand-in for a repository that has the files of a few commits."""

    def __init__(self, commits: dict[str, Files]) -> None:
        self._commits = {"": Files()} | commits
        self.found = dict[tuple[str, str], dict[str, str]]()

    async def tree(self, commit: str) -> dict[str, TreeEntry]:
        """Return the files of a commit."""
        return {
            path: TreeEntry(FILE, blob_id(data), len(data)) for path, data in self._commits[commit].items()
        }

    async def load(self, oids: Iterable[str]) -> Files:
        """Return contents by id."""
        known = {blob_id(data): data for files in self._commits.values() for data in files.values()}
        return {oid: known[oid] for oid in oids}

    async def renames(self, before: str, after: str) -> dict[str, str]:
        """Return the renames that a test has set."""
        return self.found.get((before, after), {})


async def merge(base: Files, ours: Files, theirs: Files, *, has_base: bool = True) -> Files:
    """Return the merged files."""
    stored = StoredCommits({"base": base, "ours": ours, "theirs": theirs})
    start = "base" if has_base else ""
    changes = await plan_merge(cast(Repository, stored), start, "ours", "theirs", SIDES)
    result = dict(ours)
    for path, content in changes.items():
        if content is None:
            del result[path]
        else:
            is_id = isinstance(content, str)
            result[path] = (await stored.load([content]))[content] if is_id else content  # type: ignore[index,list-item,assignment]
    return result


async def test_changes_of_different_files_are_both_used() -> None:
    base = {"MEMORY.md": b"a\n", "USER.md": b"b\n", "memory/old.md": b"c\n"}
    ours = {"MEMORY.md": b"A\n", "USER.md": b"b\n", "memory/old.md": b"c\n", "memory/new.md": b"d\n"}
    theirs = {"MEMORY.md": b"a\n", "USER.md": b"B\n"}
    result = await merge(base, ours, theirs)
    assert result == {"MEMORY.md": b"A\n", "USER.md": b"B\n", "memory/new.md": b"d\n"}


async def test_overlapping_changes_of_a_note_leave_a_file_of_conflicts() -> None:
    result = await merge({"MEMORY.md": b"a\n"}, {"MEMORY.md": b"ours\n"}, {"MEMORY.md": b"theirs\n"})
    assert result["MEMORY.md"] == b"ours\n"
    assert b"\n## MEMORY.md line 1\n\ntheirs\n" in result["memory/conflicts/2026-11-26-desktop-MEMORY.md"]


async def test_conflicts_are_added_to_a_file_that_exists() -> None:
    path = "memory/conflicts/2026-11-26-desktop-MEMORY.md"
    base = {"MEMORY.md": b"a\n", path: b"# earlier\n"}
    result = await merge(base, base | {"MEMORY.md": b"ours\n"}, base | {"MEMORY.md": b"theirs\n"})
    assert result[path] == b"# earlier\n\n## MEMORY.md line 1\n\ntheirs\n"


async def test_facts_and_the_ledger_are_merged() -> None:
    base = {FACTS: b"- a\n", LEDGER: b""}
    ours = {FACTS: b"- a\n- b\n", LEDGER: b"B1\t10\tset\n"}
    theirs = {FACTS: b"- a\n- c\n", LEDGER: b"C1\t20\tset\n"}
    result = await merge(base, ours, theirs)
    assert result == {FACTS: b"- a\n- b\n- c\n", LEDGER: b"B1\t10\tset\nC1\t20\tset\n"}


async def test_facts_that_this_machine_deleted_with_their_file_stay_deleted_without_a_common_base() -> None:
    kept, gone = b"- b <!-- fact id=B1 -->\n", b"- a <!-- fact id=A1 -->\n"
    ours = {"MEMORY.md": b"m\n", LEDGER: b"A1\t10\tdeleted\n"}
    result = await merge({}, ours, {FACTS: gone + kept, "MEMORY.md": b"m\n"}, has_base=False)
    assert result[FACTS] == kept


async def test_files_that_are_no_memory_follow_the_side_that_changed_them() -> None:
    base = {"README.txt": b"a", "LICENSE": b"l"}
    result = await merge(
        base, {"README.txt": b"a", "LICENSE": b"ours"}, {"README.txt": b"b", "new.txt": b"n"}
    )
    assert result == {"README.txt": b"b", "LICENSE": b"ours", "new.txt": b"n"}


async def test_edit_follows_a_rename_with_other_changes() -> None:
    stored = StoredCommits(
        {
            "base": {"memory/a.md": b"1\n2\n3\n"},
            "ours": {"memory/b.md": b"1\n2\nours\n"},
            "theirs": {"memory/a.md": b"theirs\n2\n3\n"},
        }
    )
    stored.found = {("base", "ours"): {"memory/a.md": "memory/b.md"}}
    changes = await plan_merge(cast(Repository, stored), "base", "ours", "theirs", SIDES)
    assert changes == {"memory/b.md": b"theirs\n2\nours\n"}


async def test_file_that_is_no_text_refuses_the_merge() -> None:
    base, ours = {"MEMORY.md": b"a\n"}, {"MEMORY.md": b"ours\n"}
    with pytest.raises(RemoteRefusedError, match="is not text in UTF-8"):
        await merge(base, ours, {"MEMORY.md": b"\xff\n"})


def test_merge_in_a_thread_does_not_delay_the_end_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    is_ended, is_started = threading.Event(), threading.Event()

    def merge_forever(*_: object) -> Changes:
        is_started.set()
        is_ended.wait(NEVER_S)
        return {}

    async def cancel_merge() -> bool:
        commits = StoredCommits({"ours": {"MEMORY.md": b"a\n"}, "theirs": {"MEMORY.md": b"b\n"}})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(plan_merge, cast(Repository, commits), "", "ours", "theirs", SIDES)
            assert await trio.to_thread.run_sync(is_started.wait, 30)
            nursery.cancel_scope.cancel()
        return is_ended.is_set()

    monkeypatch.setattr("memd.replication.merger._merge", merge_forever)
    try:
        assert not trio.run(cancel_merge)
    finally:
        is_ended.set()
