"""Files that are missing on one machine stay on the others until the user decides: real daemons, real mounts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client.errors import BadParamsError
from tests.support.machines import BareRepository, MemoryMachine, connect, machines, settle, wait_until
from tests.support.system_faults import small_disk

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Pair = tuple[MemoryMachine, MemoryMachine, BareRepository]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two machines in sync. Tests use folders of their own, and leave no question."""
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "# Memory\n\n- the lease ends in May\n")
        laptop.note("memory/stays.md", "it stays\n")
        connect([laptop, server], hub.url)
        yield laptop, server, hub


def add_folder(pair: Pair, folder: str, count: int = 2) -> None:
    """Add notes to a folder on both machines."""
    laptop, server, _ = pair
    for number in range(count):
        laptop.note(f"memory/{folder}/{number}.md", f"{folder} {number}\n")
    settle([laptop, server])


def question_of(machine: MemoryMachine) -> str:
    """Return the question that the status of the agent has, "" if it has none."""
    with machine.daemon.client() as client:
        [agent] = client.status().agents
    return next((each.message for each in agent.problems if each.code == "memory_missing"), "")


def remove(workspace: Path) -> None:
    """Remove the workspace."""


def empty(workspace: Path) -> None:
    """Leave an empty folder."""
    workspace.mkdir()


def link_to_nothing(workspace: Path) -> None:
    """Put a link to a missing folder in place of the workspace."""
    workspace.symlink_to(workspace.with_name("nowhere"))


def link_to_empty(workspace: Path) -> None:
    """Put a link to an empty folder in place of the workspace."""
    workspace.with_name("elsewhere").mkdir()
    workspace.symlink_to(workspace.with_name("elsewhere"))


def test_lost_workspace_of_one_file_is_not_deleted_on_the_remote() -> None:
    losses: list[Callable[[Path], None]] = [remove, empty, link_to_nothing, link_to_empty]
    with machines(1) as ([laptop], hub):
        laptop.note("MEMORY.md", "- the lease ends in May\n")
        laptop.remote("add", url=hub.url)
        for lose in losses:
            away = laptop.workspace.with_name("away")
            laptop.workspace.rename(away)
            lose(laptop.workspace)

            laptop.remote("sync")
            laptop.remote("sync")

            assert hub.git("log", "--diff-filter=D", "--format=%s", "memd/main") == "", lose
            assert laptop.status().state == "held", lose
            assert f"1 of 1 in {laptop.workspace}" in question_of(laptop), lose
            assert [each.path for each in laptop.status().waiting] == ["MEMORY.md"]
            if laptop.workspace.is_symlink():
                laptop.workspace.unlink()
            elif laptop.workspace.exists():
                laptop.workspace.rmdir()
            away.rename(laptop.workspace)
            laptop.remote("sync")
            assert question_of(laptop) == ""


def test_emptied_folder_waits_while_other_notes_are_exchanged(pair: Pair) -> None:
    laptop, server, _ = pair
    add_folder(pair, "emptied")
    shutil.rmtree(laptop.workspace / "memory/emptied")

    laptop.append("MEMORY.md", "- written on the laptop\n")
    laptop.remote("sync")
    server.append("MEMORY.md", "- written on the server\n")
    server.append("memory/emptied/0.md", "edited\n")
    server.note("memory/emptied/new.md", "new\n")
    server.remote("sync")
    laptop.remote("sync")

    assert "written on the laptop" in server.text("MEMORY.md")
    assert "written on the server" in laptop.text("MEMORY.md")
    assert server.text("memory/emptied/1.md") == "emptied 1\n"
    assert not (laptop.workspace / "memory/emptied").exists()
    assert "2 of 2 in memory/emptied" in question_of(laptop)
    laptop.remote("resume", missing="restore")
    settle([laptop, server])
    assert question_of(laptop) == ""
    assert laptop.status().state == "ok"
    texts = [laptop.text(f"memory/emptied/{name}.md") for name in ("0", "1", "new")]
    assert texts == ["emptied 0\nedited\n", "emptied 1\n", "new\n"]


def test_restart_keeps_the_question_and_a_confirmed_deletion_raises_none_elsewhere(pair: Pair) -> None:
    laptop, server, _ = pair
    add_folder(pair, "old")
    for note in (laptop.workspace / "memory/old").iterdir():
        note.unlink()
    laptop.remote("sync")
    server.append("memory/old/0.md", "edited\n")
    server.remote("sync")
    laptop.remote("sync")
    laptop.daemon.kill()
    laptop.daemon.start()
    wait_until(lambda: question_of(laptop))

    laptop.remote("resume", missing="delete")

    settle([laptop, server])
    assert (server.workspace / "memory/old/0.md").read_text() == "old 0\nedited\n"
    assert not (server.workspace / "memory/old/1.md").exists()
    assert question_of(server) == question_of(laptop) == ""
    with pytest.raises(BadParamsError, match=r"no files .* are missing"):
        laptop.remote("resume", missing="delete")


def test_deletion_of_a_machine_that_does_not_ask_waits_until_it_is_confirmed(pair: Pair) -> None:
    laptop, server, hub = pair
    add_folder(pair, "foreign")
    delete_on_remote(hub, "foreign")
    for machine in (laptop, server):
        machine.remote("sync")
        assert "another machine deleted" in question_of(machine)
        assert "2 of 2 in memory/foreign" in question_of(machine)
    server.append("memory/foreign/0.md", "edited meanwhile\n")
    server.remote("sync")
    assert (server.workspace / "memory/foreign/1.md").exists()

    server.remote("resume", missing="delete")
    server.remote("sync")
    assert [path.name for path in (server.workspace / "memory/foreign").iterdir()] == ["0.md"]
    laptop.remote("resume", missing="restore")
    settle([laptop, server])

    assert server.text("memory/foreign/1.md") == "foreign 1\n"
    assert "edited meanwhile" in laptop.text("memory/foreign/0.md")
    assert question_of(laptop) == question_of(server) == ""


def delete_on_remote(hub: BareRepository, folder: str) -> None:
    """Commit a deletion of a folder in `memory`, as a program other than memd."""

    def without(tree: str, name: str) -> str:
        rows = [row for row in hub.git("ls-tree", tree).splitlines() if not row.endswith(f"\t{name}")]
        return "".join(f"{row}\n" for row in rows)

    memory = hub.git("mktree", stdin=without("memd/main:memory", folder).encode())
    root = without("memd/main", "memory") + f"040000 tree {memory}\tmemory\n"
    tree = hub.git("mktree", stdin=root.encode())
    who = ("-c", "user.name=a", "-c", "user.email=b")
    hub.git(
        "update-ref", "refs/heads/memd/main", hub.git(*who, "commit-tree", tree, "-p", "memd/main", "-m", "x")
    )


def test_renamed_folder_and_settled_conflicts_need_no_question(pair: Pair) -> None:
    laptop, server, _ = pair
    laptop.note("memory/plans/trip.md", "by train\n")
    laptop.note("memory/conflicts/2026-05-01-server-MEMORY.md", "a line\n")
    settle([laptop, server])

    (laptop.workspace / "memory/plans").rename(laptop.workspace / "memory/travel")
    laptop.remote("resolve")
    settle([laptop, server])

    assert question_of(laptop) == question_of(server) == ""
    assert server.text("memory/travel/trip.md") == "by train\n"
    assert not (server.workspace / "memory/plans").exists()
    assert not list((server.workspace / "memory/conflicts").glob("*.md"))


def test_unmounted_folder_receives_nothing_and_continues_once_it_is_mounted(pair: Pair) -> None:
    laptop, server, _ = pair
    disk = laptop.workspace / "memory/disk"
    with small_disk(disk, "8m"):
        add_folder(pair, "disk", 20)
    server.append("memory/disk/3.md", "more\n")
    server.note("memory/disk/new.md", "new\n")
    (server.workspace / "memory/disk/4.md").unlink()
    server.remote("sync")
    laptop.remote("sync")
    assert "20 of 20 in memory/disk" in question_of(laptop)
    assert not list(disk.iterdir())
    assert len(list((server.workspace / "memory/disk").iterdir())) == 20

    with small_disk(disk, "8m"):
        for number in range(20):
            laptop.note(f"memory/disk/{number}.md", f"disk {number}\n")
        wait_until(lambda: laptop.hits("disk") and not question_of(laptop))
        settle([laptop, server])

        assert laptop.text("memory/disk/3.md") == "disk 3\nmore\n"
        assert laptop.text("memory/disk/new.md") == "new\n"
        assert not (disk / "4.md").exists()
        assert len(list((server.workspace / "memory/disk").iterdir())) == 20
