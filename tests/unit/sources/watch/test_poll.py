"""Polling: changes of an agent's files between two listings."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memd.sources.watch.poll import FolderListing, find_changes, list_folders
from memd.sources.watch.queue import Hint, WatchPlan
from memd_client.errors import FileUnreadableError


class PolledAgent:
    """An agent with a workspace and sessions that is polled repeatedly."""

    def __init__(self, root: Path) -> None:
        self.memory = root / "ws" / "memory"
        self.sessions = root / "sessions"
        self.memory.mkdir(parents=True)
        self.sessions.mkdir()
        self.plan = WatchPlan("ann", root / "ws", (), (self.sessions,))
        self.before: FolderListing | None = None
        self.changes()

    def changes(self) -> frozenset[Hint]:
        """Return the changes since the last listing."""
        before, self.before = self.before, list_folders(self.plan, self.before)
        return find_changes(self.plan, before, self.before)


@pytest.fixture
def scene(tmp_path: Path) -> PolledAgent:
    scene = PolledAgent(tmp_path)
    (scene.memory / "a.md").write_text("one")
    (scene.sessions / "s.jsonl").write_text("one\n")
    (scene.sessions / "openclaw-agent.sqlite").write_text("pages")
    scene.changes()
    return scene


def _restore_time(scene: PolledAgent) -> None:
    facts = (scene.memory / "a.md").stat()
    (scene.memory / "a.md").write_text("two")
    os.utime(scene.memory / "a.md", ns=(facts.st_atime_ns, facts.st_mtime_ns))


NOTES: list[tuple[str, Callable[[PolledAgent], object]]] = [
    ("create", lambda scene: (scene.memory / "b.md").write_text("x")),
    ("change", lambda scene: (scene.memory / "a.md").write_text("two, longer")),
    ("change with its old time", _restore_time),
    ("delete", lambda scene: (scene.memory / "a.md").unlink()),
    ("rename", lambda scene: (scene.memory / "a.md").rename(scene.memory / "z.md")),
    ("link", lambda scene: (scene.memory / "sub").symlink_to(scene.sessions)),
    ("root file", lambda scene: (scene.memory.parent / "MEMORY.md").write_text("x")),
    ("root renamed", lambda scene: scene.memory.parent.rename(scene.memory.parent.parent / "away")),
]


@pytest.mark.parametrize(("what", "change"), NOTES, ids=[name for name, _ in NOTES])
def test_a_change_of_notes_is_found(
    scene: PolledAgent, what: str, change: Callable[[PolledAgent], object]
) -> None:
    change(scene)
    assert scene.changes() == {("ann", "memory")}
    assert scene.changes() == set()


def test_change_of_transcripts_is_found(scene: PolledAgent) -> None:
    with (scene.sessions / "s.jsonl").open("a") as file:
        file.write("two\n")
    assert scene.changes() == {("ann", "sessions")}
    (scene.sessions / "openclaw-agent.sqlite-wal").write_text("frames")
    assert scene.changes() == {("ann", "sessions")}


def test_irrelevant_files_are_not_found(scene: PolledAgent) -> None:
    (scene.memory / "main.sqlite").write_text("x")
    (scene.memory / "a.md.tmp").write_text("x")
    (scene.memory.parent / "tool.py").write_text("x")
    (scene.memory.parent / "src").mkdir()
    (scene.sessions / "sessions.json").write_text("{}")
    # A reader of a database creates these and removes them.
    (scene.sessions / "openclaw-agent.sqlite-wal").touch()
    (scene.sessions / "openclaw-agent.sqlite-shm").write_text("x")
    assert scene.changes() == set()


def test_listing_without_a_descriptor_fails(scene: PolledAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> object:
        raise OSError(errno.EMFILE, "Too many open files", path)

    (scene.memory / "b.md").write_text("x")
    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(FileUnreadableError, match="Too many open files"):
            scene.changes()
    assert scene.changes() == {("ann", "memory")}
