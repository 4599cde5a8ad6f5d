"""What differs between disk and rows, by stat alone, since when, and in which groups it is read."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memd.index.files import FileRow
from memd.sync.disk.changes import (
    CLOCK_GRAIN_NS,
    GROUP_BYTES,
    GROUP_FILES,
    compare,
    count_behind,
    grouped,
    oldest_change_ms,
)
from memd.sync.disk.discover import Discovery, Found

WRITTEN_NS = 1_700_000_000_000_000_000
INDEXED_MS = WRITTEN_NS // 1_000_000 + 5_000
PATH = "memory/a.md"


def found(path: str = PATH, mtime_ns: int = WRITTEN_NS, ctime_ns: int = WRITTEN_NS, size: int = 10) -> Found:
    """Return a file as a stat tells it."""
    return Found(path, f"/w/{path}", mtime_ns, size, 7, ctime_ns)


def row(path: str = PATH, ctime_ns: int = WRITTEN_NS, indexed_at: int = INDEXED_MS) -> FileRow:
    """Return a file as it was indexed."""
    return FileRow(path, "memory", "hash", WRITTEN_NS, 10, 7, ctime_ns, indexed_at)


def disk(*files: Found) -> Discovery:
    """Return a disk with those files."""
    return Discovery({file.path: file for file in files})


def test_a_file_that_looks_as_it_was_indexed_needs_nothing() -> None:
    assert not compare(disk(found()), {PATH: row()}, {})


def test_a_rewrite_that_restores_its_time_is_seen_by_its_ctime() -> None:
    changes = compare(disk(found(ctime_ns=WRITTEN_NS + 9_000_000_000)), {PATH: row()}, {})
    assert [file.path for file in changes.read] == [PATH]


def test_a_file_indexed_within_the_clocks_grain_is_hashed_but_not_called_behind() -> None:
    racy = row(indexed_at=WRITTEN_NS // 1_000_000 + CLOCK_GRAIN_NS // 2_000_000)
    changes = compare(disk(found()), {PATH: racy}, {})
    assert [file.path for file in changes.read] == [PATH]
    assert count_behind(changes, {PATH: racy}) == 0
    assert oldest_change_ms(changes, {PATH: racy}, None) is None


def test_the_newest_comes_first_and_what_is_gone_is_named() -> None:
    files = [found("memory/b.md", WRITTEN_NS + 5), found("memory/c.md", WRITTEN_NS + 9)]
    changes = compare(disk(*files), {PATH: row()}, {})
    assert [file.path for file in changes.read] == ["memory/c.md", "memory/b.md"]
    assert [gone.path for gone in changes.gone] == [PATH]
    assert count_behind(changes, {PATH: row()}) == 3


def test_what_can_not_be_looked_at_just_now_is_not_gone() -> None:
    transcript = replace(row("sessions/s.jsonl"), source="sessions")
    rows = {"sessions/s.jsonl": transcript, PATH: row()}
    assert [gone.path for gone in compare(disk(), rows, {}).gone] == [PATH, "sessions/s.jsonl"]
    unseen = Discovery(unseen=frozenset({"sessions"}))
    assert [gone.path for gone in compare(unseen, rows, {}).gone] == [PATH]


def test_a_refused_file_is_tried_again_only_once_it_changed() -> None:
    assert not compare(disk(found()), {}, {PATH: found()})
    assert compare(disk(found(size=11)), {}, {PATH: found()})


def test_a_change_is_as_old_as_its_write_but_no_older_than_the_last_sync() -> None:
    late_copy = found("memory/copy.md", mtime_ns=1, ctime_ns=1)  # a copy that kept its old time
    changes = compare(disk(found(), late_copy), {"memory/gone.md": row("memory/gone.md")}, {})
    last_sync_ms = WRITTEN_NS // 1_000_000 - 60_000
    assert oldest_change_ms(changes, {}, last_sync_ms) == last_sync_ms
    only_new = compare(disk(found()), {}, {})
    assert oldest_change_ms(only_new, {}, last_sync_ms) == WRITTEN_NS // 1_000_000
    assert oldest_change_ms(only_new, {}, None) == WRITTEN_NS // 1_000_000


@given(st.lists(st.integers(0, 2 * GROUP_BYTES), max_size=80))
def test_groups_hold_every_file_in_order_and_are_small_unless_one_file_is_large(sizes: list[int]) -> None:
    files = [found(f"memory/{number}.md", size=size) for number, size in enumerate(sizes)]
    groups = list(grouped(files))
    assert [each for group in groups for each in group] == files
    for group in groups:
        assert 1 <= len(group) <= GROUP_FILES
        assert len(group) == 1 or sum(each.size for each in group) <= GROUP_BYTES


def test_small_files_share_a_group() -> None:
    assert len(list(grouped(found(str(number), size=500) for number in range(GROUP_FILES)))) == 1
