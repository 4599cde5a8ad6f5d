"""Three-way merge of lists of files: renames, deletions and edits. Pure.

An edit survives a deletion, and follows a file that the other side renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from msgspec import Struct

Tree = Mapping[str, str]
"""Ids of files' contents by path."""


class ContentMerge(Struct, frozen=True):
    """A file that both sides changed: the ids of its three versions, the base's None if there is none."""

    base: str | None
    ours: str
    theirs: str


def merge_trees(
    base: Tree, ours: Tree, theirs: Tree, our_renames: Mapping[str, str], their_renames: Mapping[str, str]
) -> dict[str, str | ContentMerge]:
    """Return the merged files: the id of each, or the versions to merge.

    A file that has the name of a folder of the other side gets a name of its own, as a numbered part does.

    Args:
        base: The files both sides come from.
        ours: The local files.
        theirs: The other files.
        our_renames: New paths by old paths, for files that we renamed.
        their_renames: The same of the other side.
    """
    merged: dict[str, str | ContentMerge] = {}
    followed = _follow(base, ours, theirs, our_renames, their_renames)
    done = {path for pair in followed for path in pair}
    for (_, new), content in followed.items():
        merged[new] = content
    for path in sorted({*base, *ours, *theirs} - done):
        kept = _merge_path(base.get(path), ours.get(path), theirs.get(path))
        if kept is not None:
            merged[path] = kept
    return _without_collisions(merged)


def exact_renames(before: Tree, after: Tree) -> dict[str, str]:
    """Return new paths by old paths of files that moved with unchanged contents."""
    added: dict[str, list[str]] = {}
    for path in sorted(set(after) - set(before)):
        added.setdefault(after[path], []).append(path)
    renames: dict[str, str] = {}
    for path in sorted(set(before) - set(after)):
        if added.get(before[path]):
            renames[path] = added[before[path]].pop(0)
    return renames


def _follow(
    base: Tree, ours: Tree, theirs: Tree, our_renames: Mapping[str, str], their_renames: Mapping[str, str]
) -> dict[tuple[str, str], str | ContentMerge]:
    """Return, by (old path, new path), the files that one side renamed and the other edited."""
    followed: dict[tuple[str, str], str | ContentMerge] = {}
    for old, new in our_renames.items():
        if theirs.get(old, base[old]) != base[old] and new not in theirs:
            followed[old, new] = ContentMerge(base[old], ours[new], theirs[old])
        elif their_renames.get(old) == new and ours[new] != theirs[new]:
            followed[old, new] = ContentMerge(base[old], ours[new], theirs[new])
    for old, new in their_renames.items():
        if ours.get(old, base[old]) != base[old] and new not in ours:
            followed[old, new] = ContentMerge(base[old], ours[old], theirs[new])
    return followed


def _merge_path(base: str | None, ours: str | None, theirs: str | None) -> str | ContentMerge | None:
    """Return the merged content of one path; None if it is deleted."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if ours is None or theirs is None:
        return ours or theirs  # the edit survives
    return ContentMerge(base, ours, theirs)


def _without_collisions(
    merged: Mapping[str, str | ContentMerge],
) -> dict[str, str | ContentMerge]:
    """Return merged files with other names for those that are folders as well."""
    folders = {path[:end] for path in merged for end, char in enumerate(path) if char == "/"}
    result = dict(merged)
    for path in sorted(folders & merged.keys()):
        stem, dot, suffix = path.rpartition(".")
        names = (f"{stem}-{number}{dot}{suffix}" for number in count(2))
        result[next(name for name in names if name not in result and name not in folders)] = result.pop(path)
    return result
