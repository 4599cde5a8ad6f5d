"""Differences between disk and rows by stat alone, their age, and their groups for reading."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memd.index.files import FileRow
from memd.sources.source import Listing, SourceFile
from memd.sync.text.changes import (
    CLOCK_GRAIN_NS,
    GROUP_BYTES,
    GROUP_FILES,
    compare,
    count_behind,
    group_files,
    oldest_change_ms,
)

WRITTEN_NS = 1_700_000_000_000_000_000
INDEXED_MS = WRITTEN_NS // 1_000_000 + 5_000
PATH = "memory/a.md"


def found(
    path: str = PATH, mtime_ns: int = WRITTEN_NS, ctime_ns: int = WRITTEN_NS, size: int = 10
) -> SourceFile:
    """Return a discovered file."""
    return SourceFile(path, f"/w/{path}", mtime_ns, size, 7, ctime_ns)


def row(path: str = PATH, ctime_ns: int = WRITTEN_NS, indexed_at: int = INDEXED_MS) -> FileRow:
    """Return a file as it was indexed."""
    return FileRow(path, "memory", "hash", WRITTEN_NS, 10, 7, ctime_ns, indexed_at)


def disk(*files: SourceFile) -> Listing:
    """Return a scan with those files."""
    return Listing({file.path: file for file in files})


def test_file_with_unchanged_stat_needs_no_read() -> None:
    assert not compare(disk(found()), {PATH: row()}, {})


def test_rewrite_with_restored_mtime_is_detected_by_its_ctime() -> None:
    changes = compare(disk(found(ctime_ns=WRITTEN_NS + 9_000_000_000)), {PATH: row()}, {})
    assert [file.path for file in changes.read] == [PATH]


def test_file_indexed_within_the_clock_grain_is_hashed_but_not_counted() -> None:
    racy = row(indexed_at=WRITTEN_NS // 1_000_000 + CLOCK_GRAIN_NS // 2_000_000)
    changes = compare(disk(found()), {PATH: racy}, {})
    assert [file.path for file in changes.read] == [PATH]
    assert count_behind(changes, {PATH: racy}) == 0
    assert oldest_change_ms(changes, {PATH: racy}, None) is None


def test_changes_list_the_newest_files_first_and_deleted_rows() -> None:
    files = [found("memory/b.md", WRITTEN_NS + 5), found("memory/c.md", WRITTEN_NS + 9)]
    changes = compare(disk(*files), {PATH: row()}, {})
    assert [file.path for file in changes.read] == ["memory/c.md", "memory/b.md"]
    assert [gone.path for gone in changes.gone] == [PATH]
    assert count_behind(changes, {PATH: row()}) == 3


def test_files_of_an_unseen_source_are_not_deleted() -> None:
    transcript = replace(row("sessions/s.jsonl"), source="sessions")
    rows = {"sessions/s.jsonl": transcript, PATH: row()}
    assert [gone.path for gone in compare(disk(), rows, {}).gone] == [PATH, "sessions/s.jsonl"]
    unseen = Listing(unseen=frozenset({"sessions"}))
    assert [gone.path for gone in compare(unseen, rows, {}).gone] == [PATH]


def test_refused_file_is_retried_only_after_a_change() -> None:
    assert not compare(disk(found()), {}, {PATH: found()})
    assert compare(disk(found(size=11)), {}, {PATH: found()})


def test_change_is_dated_by_its_write_but_not_before_the_last_sync() -> None:
    late_copy = found("memory/copy.md", mtime_ns=1, ctime_ns=1)  # a copy that kept its old time
    changes = compare(disk(found(), late_copy), {"memory/gone.md": row("memory/gone.md")}, {})
    last_sync_ms = WRITTEN_NS // 1_000_000 - 60_000
    assert oldest_change_ms(changes, {}, last_sync_ms) == last_sync_ms
    only_new = compare(disk(found()), {}, {})
    assert oldest_change_ms(only_new, {}, last_sync_ms) == WRITTEN_NS // 1_000_000
    assert oldest_change_ms(only_new, {}, None) == WRITTEN_NS // 1_000_000


@given(st.lists(st.integers(0, 2 * GROUP_BYTES), max_size=80))
def test_groups_have_all_files_in_order_and_stay_within_their_limits(sizes: list[int]) -> None:
    files = [found(f"memory/{number}.md", size=size) for number, size in enumerate(sizes)]
    groups = list(group_files(files))
    assert [each for group in groups for each in group] == files
    for group in groups:
        assert 1 <= len(group) <= GROUP_FILES
        assert len(group) == 1 or sum(each.size for each in group) <= GROUP_BYTES


def test_small_files_share_a_group() -> None:
    assert len(list(group_files(found(str(number), size=500) for number in range(GROUP_FILES)))) == 1
