"""Finds deletions that need a question, because a folder lost most of its files.

A disk that isn't mounted looks like a folder whose files were deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set
from typing import Final

import trio
from msgspec import Struct, field

from memd.replication.workspace import WorkspaceScan, is_below
from memd.settings.agents import AgentConfig
from memd_client.messages import Problem

CODE: Final = "memory_missing"

MAX_NAMED: Final = 3
"""Folders that a question names."""

MISSING: Final = "its folder has lost most of its files on this machine"
DELETED: Final = "another machine deleted it with most files of its folder"
"""Why a change waits for an answer."""

HINT: Final = (
    "run `memctl remote resume --agent {0} --restore` to get the files back, "
    "or `memctl remote resume --agent {0} --delete-missing` to delete them on all machines"
)


class Loss(Struct, frozen=True):
    """Deletions that need a question: their paths, and the folders with the number of files lost and before.

    A folder inside another one of `folders` is not named. "" is the workspace.
    """

    paths: frozenset[str] = frozenset()
    folders: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def has(self, path: str) -> bool:
        """Return whether a path is in one of the folders."""
        return bool(self.folders) and any(folder in self.folders for folder in _folders_of(path))


class DeletionGuard:
    """The deletions of one workspace that wait for an answer.

    Attributes:
        lost: Files that are missing on this machine.
        deleted: Files that another machine deleted.
        confirmed: Paths whose deletion the user requested.
    """

    def __init__(self) -> None:
        self.lost, self.deleted = Loss(), Loss()
        self.confirmed: set[str] = set()

    async def find_gone(self, before: Mapping[str, str], scan: WorkspaceScan) -> set[str]:
        """Return the files that a workspace should have and lacks, and record which of them are `lost`."""
        gone = {
            path
            for path in before.keys() - scan.files.keys() - scan.busy
            if not is_below(path, scan.excluded)
        }
        added = {oid for path, oid in scan.files.items() if path not in before}
        self.lost = await self.find(before, gone, added)
        return gone

    async def find(self, before: Mapping[str, str], gone: Set[str], added: Collection[str]) -> Loss:
        """Return the deletions that need a question, as `find_loss`; those that were confirmed need none."""
        if gone <= self.confirmed:
            return Loss()
        before = {path: oid for path, oid in before.items() if path not in self.confirmed}
        return await trio.to_thread.run_sync(find_loss, before, gone - self.confirmed, added)

    def question(self, config: AgentConfig) -> Problem | None:
        """Return the question for the user, if there is one."""
        what, loss = "files are missing on this machine and stay on the remote", self.lost
        if not loss.paths:
            what, loss = "another machine deleted files that stay on this machine", self.deleted
        if not loss.paths:
            return None
        rows = sorted(loss.folders.items())
        named = [
            f"{lost} of {files} in {each or config.workspace}" for each, (lost, files) in rows[:MAX_NAMED]
        ]
        more = [f"and in {len(rows) - MAX_NAMED} more folders"] if len(rows) > MAX_NAMED else []
        return Problem(CODE, f"{what}: {', '.join(named + more)}", HINT.format(config.id))


def find_loss(before: Mapping[str, str], gone: Collection[str], added: Collection[str]) -> Loss:
    """Return the deletions that need a question.

    Args:
        before: Ids of contents by path, before the deletions.
        gone: The deleted paths.
        added: Ids of contents that appeared elsewhere: their files were renamed.
    """
    gone = {path for path in gone if before[path] not in added}
    if not gone:
        return Loss()
    # By folder: all files and lost files, and the same without folders inside that are lost.
    tallies: dict[str, list[int]] = {}
    for path in before:
        for depth, folder in enumerate(_folders_of(path)):
            tally, lost = tallies.setdefault(folder, [0, 0, 0, 0]), int(path in gone)
            tally[0], tally[1] = tally[0] + 1, tally[1] + lost
            if depth == 0:
                tally[2], tally[3] = tally[2] + 1, tally[3] + lost
    found: dict[str, tuple[int, int]] = {}
    for folder in sorted(tallies, key=len, reverse=True):
        files, lost, rest, rest_lost = tallies[folder]
        if lost == files or 2 * rest_lost > rest:
            found[folder] = lost, files
        elif folder:
            above = tallies[folder.rpartition("/")[0]]
            above[2], above[3] = above[2] + rest, above[3] + rest_lost
    outer = {each: tally for each, tally in found.items() if not any(up in found for up in _folders_of(each))}
    return Loss(frozenset(filter(Loss(folders=outer).has, gone)), outer)


def _folders_of(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, from the innermost to "", the workspace."""
    while path:
        path = path.rpartition("/")[0]
        yield path
