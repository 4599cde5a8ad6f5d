"""Rewrites a history without the contents of some files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, NamedTuple

import trio

from memd.replication.git.program import Git, failed
from memd.replication.git.repository import EMPTY_ID, WORK, Repository, in_batches, parse_objects

TIMEOUT_S: Final = 600.0

NO_FILE: Final = "0" * 40


class FileHistory(NamedTuple):
    """The names that files have had, the ids of their contents, and other files that have had one of these."""

    names: set[str]
    oids: set[str]
    copies: set[str]


async def find_history(repository: Repository, tip: str, is_selected: Callable[[str], bool]) -> FileHistory:
    """Return the history of the files that `is_selected` names, also under earlier and later names."""
    commits = await repository.git.run("rev-list", tip, timeout_s=TIMEOUT_S)
    options = ("--stdin", "-r", "-m", "--root", "-M50%", "-z", "--no-abbrev", "--no-commit-id")
    output = await repository.git.run("diff-tree", *options, stdin=commits, timeout_s=TIMEOUT_S)
    return await trio.to_thread.run_sync(_history, output, is_selected)


def _history(output: bytes, is_selected: Callable[[str], bool]) -> FileHistory:
    """Return the history of files from the output of `diff-tree`."""
    states: set[tuple[str, str]] = set()  # names with ids of contents
    renames: set[tuple[str, str]] = set()
    parts = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for head in filter(None, parts):
        _, _, old_oid, new_oid, status = head.split(" ")
        old = next(parts)
        new = next(parts) if status.startswith("R") else old
        states |= {(old, old_oid), (new, new_oid)}
        renames |= {(old, new)}
    selected = {name for name, _ in states if is_selected(name)}
    names = _reached(selected, renames) | _reached(selected, {(new, old) for old, new in renames})
    oids = {oid for name, oid in states if name in names} - {NO_FILE, EMPTY_ID}
    return FileHistory(names, oids, {name for name, oid in states if oid in oids} - names)


def _reached(names: set[str], steps: set[tuple[str, str]]) -> set[str]:
    """Return the names that steps lead to, and those they begin with."""
    reached, size = set(names), -1
    while len(reached) != size:
        size = len(reached)
        reached |= {end for start, end in steps if start in reached}
    return reached


async def find_objects(git: Git, has: Callable[[str], bool], *commits: str) -> tuple[set[str], str]:
    """Return the ids of contents, folders and commits that `has` finds a text in, and a hash of what was read.

    Read is what `rev-list` names for commits; without commits, all objects, also those that nothing leads to.
    """
    every = () if commits else ("--batch-all-objects",)
    options = ("--objects", "--no-object-names")
    ids = await git.run("rev-list", *options, *commits, timeout_s=TIMEOUT_S) if commits else b""
    listing = await git.run("cat-file", "--batch-check", *every, stdin=ids, timeout_s=TIMEOUT_S)
    rows, found = listing.splitlines(), set[str]()
    for batch in in_batches(rows, lambda row: int(row.split()[2])):
        ids = b"".join(row.split()[0] + b"\n" for row in batch)
        output = await git.run("cat-file", "--batch", stdin=ids, timeout_s=TIMEOUT_S)
        found |= await trio.to_thread.run_sync(_objects_with, output, has)
    return found, hashlib.sha256(listing).hexdigest()


def _objects_with(output: bytes, has: Callable[[str], bool]) -> set[str]:
    """Return the objects in the output of `cat-file --batch` that `has` finds a text in: not in names of authors."""
    texts = (
        (oid, data.partition(b"\n\n")[2] if kind == b"commit" else data)
        for oid, kind, data in parse_objects(output)
    )
    return {oid for oid, data in texts if has(data.decode("utf-8", "replace"))}


async def rewrite_without(
    repository: Repository,
    tip: str,
    is_purged: Callable[[str, str], bool],
    mask: Callable[[str], str] = str,
) -> str:
    """Return a new commit whose history is that of another one, without some files.

    Args:
        repository: Has the history.
        tip: Its last commit.
        is_purged: Returns whether a content is left out, from its path and its id ("" for a deletion).
        mask: Returns the new text of a message.

    Raises:
        GitFailedError: The history can't be read or written.
    """
    await repository.set_refs({WORK: tip})
    exported = await repository.git.run(
        "fast-export", "--no-data", "--signed-tags=strip", "--reencode=no", WORK, timeout_s=TIMEOUT_S
    )
    stream, mark = await trio.to_thread.run_sync(_without, exported, is_purged, mask)
    if not mark:
        raise failed("fast-export", "the history has no commits")
    stream += b"get-mark " + mark + b"\ndone\n"
    command = ("fast-import", "--quiet", "--done", "--force", "--date-format=raw-permissive")  # foreign zones
    output = await repository.git.run(*command, stdin=stream, timeout_s=TIMEOUT_S)
    return output.decode("ascii").strip()


def _without(
    exported: bytes, is_purged: Callable[[str, str], bool], mask: Callable[[str], str]
) -> tuple[bytes, bytes]:
    """Return a stream for fast-import without some files, and the mark of its last commit."""
    result = bytearray()
    mark = b""
    at = 0
    while at < len(exported):
        end = exported.find(b"\n", at)
        end = len(exported) if end < 0 else end
        line = exported[at:end]
        at = end + 1
        if line.startswith(b"data "):
            size = int(line[5:])
            text = mask(exported[at : at + size].decode("utf-8", "surrogateescape"))
            data = text.encode("utf-8", "surrogateescape")
            result += b"data %d\n" % len(data) + data
            at += size
        elif line.startswith(b"mark "):
            mark = line[5:]
            result += line + b"\n"
        elif not (line[:2] in (b"M ", b"D ") and is_purged(_path_in(line), _oid_in(line))):
            result += line + b"\n"
    return bytes(result), mark


def _oid_in(line: bytes) -> str:
    """Return the id of the content in a line that changes a file."""
    return line.split(b" ", 3)[2].decode("ascii") if line.startswith(b"M ") else ""


def _path_in(line: bytes) -> str:
    """Return the path of a line that changes or removes a file."""
    raw = line.split(b" ", 3)[3] if line.startswith(b"M ") else line[2:]
    if not raw.startswith(b'"'):
        return raw.decode("utf-8", "replace")
    # Git escapes as C does, and Python reads that for Latin-1.
    return raw[1:-1].decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
