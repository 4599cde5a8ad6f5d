"""Three-way merges of lists of files: every combination of edits, deletions and renames."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.replication.merge.trees import ContentMerge, exact_renames, merge_trees

Files = dict[str, str]

PATH = "memory/note.md"


def expected(base: str | None, ours: str | None, theirs: str | None) -> str | ContentMerge | None:
    """Return the content of one path by a rule for each case, independent of the program."""
    changed = [side for side in (ours, theirs) if side != base]
    if len(set(changed)) < 2:
        return changed[0] if changed else base
    edits = [side for side in changed if side is not None]
    return edits[0] if len(edits) == 1 else ContentMerge(base, edits[0], edits[1])


@pytest.mark.parametrize(("base", "ours", "theirs"), list(product((None, "a", "b", "c"), repeat=3)))
def test_path_has_the_content_of_the_side_that_changed_it(
    base: str | None, ours: str | None, theirs: str | None
) -> None:
    trees = [{} if content is None else {PATH: content} for content in (base, ours, theirs)]
    result = expected(base, ours, theirs)
    assert merge_trees(trees[0], trees[1], trees[2], {}, {}) == ({} if result is None else {PATH: result})


def merged(base: Files, ours: Files, theirs: Files) -> dict[str, str | ContentMerge]:
    """Merge with the renames of unchanged contents, and check that swapped sides have the same files."""
    result = merge_trees(base, ours, theirs, exact_renames(base, ours), exact_renames(base, theirs))
    swapped = merge_trees(base, theirs, ours, exact_renames(base, theirs), exact_renames(base, ours))
    assert {path: contents_of(each) for path, each in result.items()} == {
        path: contents_of(each) for path, each in swapped.items()
    }
    return result


def contents_of(each: str | ContentMerge) -> set[str]:
    """Return the contents of both sides that a merged file has."""
    return {each} if isinstance(each, str) else {each.ours, each.theirs}


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ({"a": "1"}, {"b": "1"}, {"a": "1"}, {"b": "1"}),
        ({"a": "1"}, {"b": "1"}, {"a": "2"}, {"b": ContentMerge("1", "1", "2")}),
        ({"a": "1"}, {"b": "1"}, {}, {"b": "1"}),
        ({"a": "1"}, {"b": "1"}, {"b": "1"}, {"b": "1"}),
        ({"a": "1"}, {"b": "1"}, {"c": "1"}, {"b": "1", "c": "1"}),
        ({"a": "1"}, {"b": "1"}, {"a": "1", "b": "9"}, {"b": ContentMerge(None, "1", "9")}),
        ({"a": "1"}, {"b": "1"}, {"a": "2", "b": "9"}, {"a": "2", "b": ContentMerge(None, "1", "9")}),
        ({"a": "1", "b": "2"}, {"b": "1", "c": "2"}, {"a": "1", "b": "2"}, {"b": "1", "c": "2"}),
        (
            {"a": "1", "b": "2"},
            {"b": "1", "c": "2"},
            {"a": "1", "b": "3"},
            {"b": ContentMerge("2", "1", "3"), "c": "2"},
        ),
        (
            {"a": "1", "b": "2"},
            {"a": "2", "b": "1"},
            {"a": "3", "b": "2"},
            {"a": ContentMerge("1", "2", "3"), "b": "1"},
        ),
        ({"a": "1", "b": "1"}, {"c": "1"}, {"a": "2", "b": "1"}, {"c": ContentMerge("1", "1", "2")}),
    ],
    ids=[
        "alone",
        "edit",
        "delete",
        "same",
        "two-names",
        "new-file-there",
        "edit-and-new-file-there",
        "chain",
        "chain-and-edit",
        "swap-and-edit",
        "two-equal-files",
    ],
)
def test_renamed_file_is_merged_with_the_other_side(
    base: Files, ours: Files, theirs: Files, result: dict[str, str | ContentMerge]
) -> None:
    assert merged(base, ours, theirs) == result


def test_rename_to_one_name_with_different_edits_is_merged() -> None:
    result = merge_trees({"a": "1"}, {"b": "2"}, {"b": "3"}, {"a": "b"}, {"a": "b"})
    assert result == {"b": ContentMerge("1", "2", "3")}


def test_rename_of_both_sides_with_edits_keeps_both_files() -> None:
    assert merge_trees({"a": "1"}, {"b": "2"}, {"c": "3"}, {"a": "b"}, {"a": "c"}) == {"b": "2", "c": "3"}


@pytest.mark.parametrize(
    ("ours", "theirs", "result"),
    [
        ({"x.md": "1"}, {"x.md/y.md": "2"}, {"x-2.md": "1", "x.md/y.md": "2"}),
        ({"x.md": "1", "x-2.md": "3"}, {"x.md/y.md": "2"}, {"x-2.md": "3", "x-3.md": "1", "x.md/y.md": "2"}),
        ({"x.md/y.md": "1"}, {"x.md/y.md/z.md": "2", "x.md": "3"}, None),
    ],
)
def test_file_with_the_name_of_a_folder_gets_another_name(
    ours: Files, theirs: Files, result: dict[str, str | ContentMerge] | None
) -> None:
    files = merged({}, ours, theirs)
    assert result is None or files == result
    assert not [path for path in files for other in files if other.startswith(f"{path}/")]
    assert set().union(*map(contents_of, files.values())) == {*ours.values(), *theirs.values()}


CONTENTS = st.sampled_from(["1", "2", "3", "4"])
TREES = st.dictionaries(st.sampled_from(["a", "b", "c", "d/e", "d"]), CONTENTS, max_size=4).filter(
    lambda files: not {"d", "d/e"} <= files.keys()
)


def lost(base: Files, ours: Files, theirs: Files, result: dict[str, str | ContentMerge]) -> Iterator[str]:
    """Yield the contents that one side has changed or added and that the result lacks."""
    kept = set().union(set(), *map(contents_of, result.values()))
    for side in (ours, theirs):
        yield from (
            content for path, content in side.items() if base.get(path) != content and content not in kept
        )


@given(TREES, TREES, TREES)
def test_merge_of_any_files_keeps_every_changed_content(base: Files, ours: Files, theirs: Files) -> None:
    assert not list(lost(base, ours, theirs, merged(base, ours, theirs)))


@given(TREES, TREES)
def test_merge_with_an_unchanged_side_is_the_other(base: Files, side: Files) -> None:
    assert merged(base, base, side) == side
    assert merged(base, side, side) == side


@given(TREES, TREES)
def test_exact_renames_are_files_with_equal_contents(before: Files, after: Files) -> None:
    renames = exact_renames(before, after)
    assert all(before[old] == after[new] for old, new in renames.items())
    assert not renames.keys() & after.keys()
    assert not set(renames.values()) & before.keys()
    assert len(set(renames.values())) == len(renames)
