"""Texts that were forgotten on all machines: their tombstones travel in the branch, and its history has no such text.

Each machine has a file of tombstones there: those that its user asked for, and those of other machines as soon as
nothing here has the texts any more, so that the file is its answer. Merges don't touch it, since no other machine does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import DecodeError, json

from memd.replication.check import text_of
from memd.replication.git.program import failed
from memd.replication.git.purge import find_objects, rewrite_without
from memd.replication.git.repository import Repository, Signature, TreeEntry
from memd.text.forgotten import Forgotten, Tombstone

FOLDER: Final = ".memd/forgotten/"
MAX_BYTES: Final = 4 * 1024 * 1024

Tombstones = frozenset[Tombstone]


class SharedForgotten:
    """The tombstones in a commit, by machine; `known` are those of all."""

    def __init__(self, by_machine: Mapping[str, Tombstones]) -> None:
        self.by_machine = by_machine
        self.known: Tombstones = frozenset().union(*by_machine.values())
        self.texts = Forgotten(b"", self.known)

    def is_open(self, machine: str) -> bool:
        """Return whether a machine has not answered all tombstones yet."""
        return self.by_machine.get(machine, frozenset()) != self.known


async def read_forgotten(repository: Repository, tree: Mapping[str, TreeEntry]) -> SharedForgotten:
    """Return the tombstones among the files of a commit."""
    oids = {
        path: file.oid for path, file in tree.items() if path.startswith(FOLDER) and file.size <= MAX_BYTES
    }
    contents = await repository.load(oids.values())
    return SharedForgotten(
        {path.removeprefix(FOLDER): parse_tombstones(contents[oid]) for path, oid in oids.items()}
    )


def parse_tombstones(data: bytes) -> Tombstones:
    """Return the tombstones in a file; none if it is invalid."""
    try:
        return frozenset(stone for stone in json.decode(data, type=Tombstones) if stone.salt)
    except (DecodeError, RecursionError):
        return frozenset()


async def clean_commit(
    repository: Repository, texts: Forgotten, tip: str, since: str, signature: Signature, *, rewrite: bool
) -> str:
    """Return a commit like another one, without forgotten texts in its files and, if `rewrite`, in its history.

    The history of `since` has none; it is "" if that is unknown.
    """
    found, _ = await find_objects(repository.git, texts.has, tip, *([f"^{since}"] if since else []))
    if not found:
        return tip
    tree = await repository.tree(tip)
    unclean = {path: file.oid for path, file in tree.items() if file.oid in found or texts.has(path)}
    contents = await repository.load(unclean.values())
    changes: dict[str, bytes | str | None] = dict.fromkeys(unclean)
    for path, oid in unclean.items():
        if text := texts.without(text_of(contents[oid]) or ""):
            changes[f"memory/{oid[:12]}.md" if texts.has(path) else path] = text.encode()
    if changes:
        tip = await repository.commit([tip], changes, "Remove forgotten texts\n", signature)
    if not rewrite:
        return tip

    def is_purged(path: str, oid: str) -> bool:
        return oid in found or texts.has(path)

    rewritten = await rewrite_without(repository, tip, is_purged, texts.without)
    if await repository.tree(rewritten) != await repository.tree(tip):
        raise failed("fast-import", "the rewritten history ends with other files")
    return rewritten
