"""Changed files are taken in groups: all of them, in their order, and none so large that a search would wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.sync.disk.discover import Found
from memd.sync.disk.groups import GROUP_BYTES, GROUP_FILES, grouped


def found(number: int, size_bytes: int) -> Found:
    """Return a file of some size."""
    return Found(f"memory/{number}.md", f"memory/{number}.md", 1, size_bytes, number, 1)


@given(st.lists(st.integers(0, 2 * GROUP_BYTES), max_size=80))
def test_every_file_is_in_one_group_and_the_order_stays(sizes: list[int]) -> None:
    # given
    files = [found(number, size) for number, size in enumerate(sizes)]
    # when
    groups = list(grouped(files))
    # then
    assert [each for group in groups for each in group] == files
    assert all(group for group in groups)


@given(st.lists(st.integers(0, 2 * GROUP_BYTES), max_size=80))
def test_a_group_is_small_unless_one_file_is_large(sizes: list[int]) -> None:
    # when
    groups = list(grouped(found(number, size) for number, size in enumerate(sizes)))
    # then
    for group in groups:
        assert len(group) <= GROUP_FILES
        assert len(group) == 1 or sum(each.size for each in group) <= GROUP_BYTES


def test_small_files_share_a_group() -> None:
    assert len(list(grouped(found(number, 500) for number in range(GROUP_FILES)))) == 1
