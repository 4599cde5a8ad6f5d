"""Texts that are forgotten on all machines: real repositories and workspaces, without daemons."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import trio
from msgspec import json
from msgspec.structs import replace

from memd.agents.agent import Agent
from memd.replication.exchange import RemoteExchange
from memd.replication.forgotten import SharedForgotten, Tombstones, parse_tombstones
from memd.replication.git.program import find_git
from memd.replication.git.remote import GitRemote, PushOutcome
from memd.replication.git.repository import TIP, Repository
from memd.replication.replica import Replica
from memd.settings.agents import AgentConfig
from memd.settings.schema import MemorySearch
from memd.sources.capacity import SourceLimits
from memd.sources.notes import WorkspaceNotes
from memd.text.forgotten import Forgotten
from memd_client.errors import RemoteRefusedError
from tests.support.machines import BareRepository, git_in

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SECRET = "the vault code is 4711 blue heron"
SALT = b"a salt of sixteen"
LIMITS = SourceLimits(1_000_000, 1_000, 10_000_000)


def tombstones_of(*texts: str) -> Tombstones:
    """Return the tombstones of some texts."""
    return frozenset(replace(Forgotten(SALT).tombstone(text), salt=SALT.hex()) for text in texts)


@dataclass
class BareMachine:
    """A machine: its workspace and its replica, and the tombstones that its own memory obeys."""

    name: str
    workspace: Path
    repository: Repository
    replica: Replica = field(init=False)
    obeyed: list[Tombstones] = field(default_factory=list)
    is_deaf: bool = False

    def note(self, path: str, text: str) -> None:
        """Write a note."""
        location = self.workspace / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_text(text)

    def text(self, path: str) -> str:
        """Return the text of a note."""
        return (self.workspace / path).read_text()

    async def obey(self, tombstones: Tombstones) -> None:
        """Forget in the notes of this machine, as the service does."""
        self.obeyed.append(tombstones)
        for path in self.workspace.rglob("*.md"):
            text = path.read_text()
            path.write_text(SharedForgotten({"": tombstones}).texts.without(text))
        await trio.lowlevel.checkpoint()

    async def forget(self, *texts: str) -> None:
        """Forget here and on all machines."""
        await self.obey(tombstones_of(*texts))
        await self.replica.forget(tombstones_of(*texts))


@asynccontextmanager
async def bare_machines(folder: Path, *names: str) -> AsyncIterator[tuple[list[BareMachine], BareRepository]]:
    """Yield machines that share a repository."""
    hub = BareRepository(folder)
    made = []
    for name in names:
        made.append(await bare_machine(folder, name, hub))
    try:
        yield made, hub
    finally:
        for machine in made:
            machine.replica.close()


async def bare_machine(folder: Path, name: str, hub: BareRepository) -> BareMachine:
    """Return a machine; its folder may have the state of an earlier run."""
    workspace = folder / name / "workspace"
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    repository = Repository(folder / name / "main.git", find_git())
    await repository.open(workspace)
    machine = BareMachine(name, workspace, repository)
    config = AgentConfig("main", workspace, MemorySearch(), workspace / "index", is_default=True)
    agent = SimpleNamespace(config=config, limits=LIMITS, find_memory=WorkspaceNotes(workspace, ()).find)
    remote = GitRemote(repository, hub.url, "main")
    exchange = RemoteExchange(repository, remote, LIMITS, name)
    clock = SimpleNamespace(now_ms=1_795_000_000_000)
    machine.replica = Replica(
        repository, exchange, lambda: cast(Agent, agent), name, lambda: clock.now_ms, machine.obey
    )
    await machine.replica.load()
    return machine


def objects_with(directory: Path, text: str) -> int:
    """Return how often a text is in the objects of a repository, used or not."""
    return git_in(directory, "cat-file", "--batch-all-objects", "--batch", "--buffer").count(text)


def push_again(hub: BareRepository, clone: Path) -> None:
    """Push a note with the text, as a machine whose release ignores tombstones."""
    subprocess.run(["git", "clone", "-q", "-b", "memd/main", hub.url, str(clone)], check=True)
    (clone / "memory").mkdir()
    (clone / "memory" / "old.md").write_text(f"{SECRET}\nand a line of the old release\n")
    own = ("-c", "user.name=main on old", "-c", "user.email=old@memd")
    for command in (["add", "-A"], ["commit", "-qm", f"Add {SECRET}"], ["push", "-q"]):
        subprocess.run(["git", "-C", str(clone), *own, *command], check=True)


def fsck(*directories: Path) -> None:
    """Fail if a repository is damaged."""
    for directory in directories:
        git_in(directory, "fsck", "--full", "--strict")


async def test_forgotten_text_leaves_the_history_of_all_files_here_and_on_the_remote(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop") as ([laptop], hub):
        laptop.note("MEMORY.md", f"# Memory\n\n- {SECRET}\n- stays\n")
        await laptop.replica.sync(settle=True)
        laptop.note(
            "memory/2026-03-05.md", "- 10:00 we said The vault-code is **4711** Blue Heron!\n- other\n"
        )
        await laptop.replica.sync(settle=True)
        laptop.note("MEMORY.md", "# Memory\n\n- stays\n- later\n")
        await laptop.replica.sync(settle=True)
        assert objects_with(hub.path, "4711") == objects_with(laptop.repository.directory, "4711") == 2

        await laptop.forget(SECRET)

        assert objects_with(laptop.repository.directory, "4711") == 0
        assert objects_with(hub.path, "4711") == 0
        assert "- later\n" in laptop.text("MEMORY.md")
        assert "- other\n" in laptop.text("memory/2026-03-05.md")
        assert hub.git("show", "memd/main:MEMORY.md") == laptop.text("MEMORY.md").strip()
        checked = laptop.replica.exchange.checked
        places = [str(laptop.repository.directory), hub.url]
        assert {name: left for name, (left, _) in checked.items()} == dict.fromkeys(places, 0)
        fsck(laptop.repository.directory, hub.path)


async def test_other_machine_forgets_at_its_next_sync_and_answers(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop", "server") as ((laptop, server), hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n")
        await laptop.replica.sync(settle=True)
        await server.replica.sync(settle=True)
        server.note("memory/unsent.md", f"- again: {SECRET}\n- written on the server\n")

        await laptop.forget(SECRET)
        assert await laptop.replica.find_answers(tombstones_of(SECRET)) == {"server": None}
        await server.replica.sync(settle=True)

        answers = await laptop.replica.find_answers(tombstones_of(SECRET))
        assert answers["server"] == 1_795_000_000_000
        await laptop.replica.sync()
        for machine in (laptop, server):
            assert objects_with(machine.repository.directory, "4711") == 0
            assert machine.text("MEMORY.md") == "- stays\n"
            assert "- written on the server\n" in machine.text("memory/unsent.md")
        assert objects_with(hub.path, "4711") == 0
        assert server.obeyed == [tombstones_of(SECRET)]
        fsck(laptop.repository.directory, server.repository.directory, hub.path)


@pytest.mark.long
async def test_machine_that_was_offline_does_not_bring_a_forgotten_text_back(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop", "server", "desk") as ((laptop, server, desk), hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n")
        for machine in (laptop, server, desk):
            await machine.replica.sync(settle=True)
        desk.note("MEMORY.md", f"- {SECRET}, and the door is green\n- stays\n- from the desk\n")
        await desk.replica.sync(settle=True, is_local=True)
        await laptop.forget(SECRET)
        await server.replica.sync()
        laptop.note("memory/new.md", "written later\n")
        await laptop.replica.sync(settle=True)

        desk.note("memory/old.md", f"{SECRET}\nand another line\n")
        await desk.replica.sync(settle=True)
        for machine in (laptop, server):
            await machine.replica.sync()

        for machine in (laptop, server, desk):
            assert objects_with(machine.repository.directory, "4711") == 0
            assert "- from the desk\n" in machine.text("MEMORY.md")
            assert "and another line\n" in machine.text("memory/old.md")
            assert machine.text("memory/new.md") == "written later\n"
        assert objects_with(hub.path, "4711") == 0
        fsck(hub.path)


@pytest.mark.long
async def test_text_that_an_earlier_release_pushes_again_is_removed_by_the_next_machine(
    tmp_path: Path,
) -> None:
    async with bare_machines(tmp_path, "laptop") as ([laptop], hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n")
        await laptop.replica.sync(settle=True)
        await laptop.forget(SECRET)
        await trio.to_thread.run_sync(push_again, hub, tmp_path / "clone")

        await laptop.replica.sync()

        assert "a line of the old release" in laptop.text("memory/old.md")
        assert objects_with(hub.path, "4711") == objects_with(laptop.repository.directory, "4711") == 0


@pytest.mark.long
async def test_two_machines_that_forget_at_once_learn_both_texts(tmp_path: Path) -> None:
    other = "the alarm is off on sundays only"
    async with bare_machines(tmp_path, "laptop", "server") as ((laptop, server), hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n- {other}\n")
        await laptop.replica.sync(settle=True)
        await server.replica.sync(settle=True)
        both = tombstones_of(SECRET, other)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(laptop.forget, SECRET)
            nursery.start_soon(server.forget, other)
        for machine in (laptop, server, laptop, server):
            await machine.replica.sync()

        for machine, name in ((laptop, "server"), (server, "laptop")):
            assert machine.replica.exchange.forgotten.known == both
            answers = await machine.replica.find_answers(both)
            assert list(answers) == [name]
            assert answers[name] is not None
            assert machine.text("MEMORY.md") == "- stays\n"
        for directory in (laptop.repository.directory, server.repository.directory, hub.path):
            assert objects_with(directory, "4711") == objects_with(directory, "sundays") == 0


@pytest.mark.long
async def test_names_and_messages_with_a_forgotten_text_leave_the_history(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop") as ([laptop], hub):
        laptop.note("memory/vault-code-4711-blue-heron.md", "what it opens\n")
        laptop.note("MEMORY.md", "stays\n")
        await laptop.replica.sync(settle=True)
        assert "blue-heron" in hub.git("log", "--format=%B", "memd/main")

        await laptop.replica.forget(tombstones_of("vault code 4711 blue heron"))

        for directory in (laptop.repository.directory, hub.path):
            assert objects_with(directory, "heron") == 0
        [renamed] = (laptop.workspace / "memory").glob("*.md")
        assert renamed.read_text() == "what it opens\n"
        assert laptop.text("MEMORY.md") == "stays\n"


@pytest.mark.long
async def test_remote_that_refuses_a_rewritten_history_still_receives_notes(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop") as ([laptop], hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n")
        await laptop.replica.sync(settle=True)
        hub.git("config", "receive.denyNonFastForwards", "true")

        with pytest.raises(RemoteRefusedError, match="does not accept a rewritten history"):
            await laptop.forget(SECRET)
        laptop.note("memory/new.md", "written later\n")
        await laptop.replica.sync(settle=True, is_local=True)
        await laptop.replica.sync()

        assert hub.git("show", "memd/main:MEMORY.md") == "- stays"
        assert hub.git("show", "memd/main:memory/new.md") == "written later"
        hub.git("config", "receive.denyNonFastForwards", "false")
        await laptop.replica.sync(settle=True)
        assert objects_with(hub.path, "4711") == 0


@pytest.mark.long
async def test_machine_that_a_purge_overtakes_does_not_bring_the_history_back(tmp_path: Path) -> None:
    async with bare_machines(tmp_path, "laptop", "server") as ((laptop, server), hub):
        laptop.note("MEMORY.md", f"- {SECRET}\n- stays\n")
        for machine in (laptop, server, laptop):
            await machine.replica.sync(settle=True)
        server.note("memory/server.md", "from the server\n")
        await server.replica.sync(settle=True, is_local=True)
        await laptop.forget(SECRET)

        # The server pushes without a look at the remote.
        remote, tip = server.replica.exchange.remote, (await server.repository.refs())[TIP]
        assert await remote.push({remote.branch: tip}) is PushOutcome.STALE

        refs = hub.git("for-each-ref", "--format=%(refname)").splitlines()
        assert "refs/memd/main/machines/server" not in refs
        assert objects_with(hub.path, "4711") == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[" * 100_000,
        b'[[5, 1, "a", "zz"]]',
        b'[[5, 1, "a", "abc"]]',
        b'[[5, 1, "a"]]',
        b'[[0, 1, "a", "ab"]]',
        b'[["5", 1, "a", "ab"]]',
        b"\xff\xfe",
    ],
)
def test_tombstones_of_a_remote_that_are_invalid_or_too_short_are_ignored(data: bytes) -> None:
    assert parse_tombstones(data) == frozenset()


def test_tombstones_are_read_as_they_were_written() -> None:
    stones = tombstones_of(SECRET)
    assert parse_tombstones(json.encode(stones)) == stones
