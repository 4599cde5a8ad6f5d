"""Remotes with what memd must not accept: refused with a clear message, and nothing changes here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memd_client.errors import BadParamsError, MemdError, RemoteRefusedError, RemoteUnreachableError
from tests.support.hostile_remotes import BRANCH, HARMLESS, KINDS, RawRepository, hostile_config, ran_in_memd
from tests.support.machines import BareRepository, MemoryMachine, connect, machines, settle
from tests.support.sampling import one_in

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LIMITS = "max_file_mb = 1\nmax_agent_mb = 16\nmax_agent_files = 200\n"


@dataclass(frozen=True)
class HostileScene:
    """A machine with hostile settings of git, the repository it is in sync with, and the mark of programs that ran."""

    machine: MemoryMachine
    raw: RawRepository
    mark: Path


@pytest.fixture(scope="module")
def at() -> Iterator[HostileScene]:
    """A machine in sync. Tests make the repository good again."""
    with tempfile.TemporaryDirectory(prefix="memd-hostile-", dir="/tmp") as name:
        environ, mark = hostile_config(Path(name))
        with machines(1, environ) as ([machine], repository):
            (machine.home.root / "memd.toml").write_text(LIMITS)
            machine.daemon.stop()
            machine.daemon.start()
            machine.note("MEMORY.md", "the lease ends in May\n")
            machine.remote("add", url=repository.url)
            machine.note("memory/2026-01-01.md", "- begins\n")
            machine.remote("sync")
            yield HostileScene(machine, RawRepository(repository), mark)


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, apart from git's and SQLite's."""
    kept = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(("state/memory/", "daemon.log", "run/")):
            kept[name] = path.read_bytes()
    return kept


@pytest.mark.parametrize("name", one_in(4, KINDS))
def test_hostile_commit_is_refused_and_changes_nothing(at: HostileScene, name: str) -> None:
    kind, machine = KINDS[name], at.machine
    before = everything(machine.home.root)
    kind.change(at.raw)
    try:
        with pytest.raises(MemdError) as raised:
            machine.remote("sync")

        error = raised.value
        assert error.wire_code.startswith(kind.code), error.message
        for word in kind.words:
            assert word in error.message
        assert error.hint
        assert everything(machine.home.root) == before
        assert machine.hits("lease") == ["MEMORY.md"]
        status = machine.status()
        assert status.state in ("refused", "failed", "offline")
        assert status.problem is not None
    finally:
        at.raw.restore()
        machine.remote("sync", accept_rewrite=True)  # for the next kind, if this one was taken
    assert machine.status().problem is None
    assert ran_in_memd(at.mark) == []


def test_at_least_fifty_kinds_are_refused() -> None:
    assert len(KINDS) >= 50


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[MemoryMachine, MemoryMachine, RawRepository, Path]]:
    """Two machines in sync, one of them with hostile settings of git."""
    with tempfile.TemporaryDirectory(prefix="memd-hostile-", dir="/tmp") as name:
        environ, mark = hostile_config(Path(name))
        with machines(2, environ) as ((laptop, server), repository):
            laptop.note("MEMORY.md", "the lease ends in May\n")
            laptop.note("memory/a.md", "a\n")
            connect([laptop, server], repository.url)
            yield laptop, server, RawRepository(repository), mark


@pytest.mark.parametrize("name", one_in(3, HARMLESS))
def test_unusual_commit_is_taken_without_harm(
    pair: tuple[MemoryMachine, MemoryMachine, RawRepository, Path], name: str
) -> None:
    laptop, server, raw, mark = pair
    raw.good = raw.git("rev-parse", BRANCH)
    HARMLESS[name].change(raw)
    laptop.append("memory/a.md", f"{name}\n")

    settle([laptop, server])

    for path, data in server.files().items():
        assert raw.git("show", f"{BRANCH}:{path}").encode() == data.rstrip(b"\n")
    assert f"{name}\n" in server.text("memory/a.md")
    assert not (server.workspace / "README.md").exists()
    assert ran_in_memd(mark) == []


def test_push_that_the_server_rejects_is_reported_and_changes_still_arrive() -> None:
    with machines(2) as ((laptop, server), repository):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], repository.url)
        server.note("memory/other.md", "from the other machine\n")
        server.remote("sync")
        repository.git("config", "receive.hideRefs", "refs/heads")
        laptop.note("memory/mine.md", "from this machine\n")

        with pytest.raises(RemoteRefusedError, match="hidden ref"):
            laptop.remote("sync")

        assert laptop.text("memory/other.md") == "from the other machine\n"
        repository.git("config", "--unset", "receive.hideRefs")
        settle([laptop, server])
        assert server.text("memory/mine.md") == "from this machine\n"


def test_purge_on_a_server_without_force_pushes_is_refused() -> None:
    with machines(1) as ([laptop], repository):
        laptop.note("memory/secret.md", "hunter2\n")
        laptop.remote("add", url=repository.url)
        repository.git("config", "receive.denyNonFastForwards", "true")

        with pytest.raises(RemoteRefusedError, match="does not accept a rewritten history"):
            laptop.remote("purge", path="memory/secret.md")

        refs = repository.git("for-each-ref", "--format=%(refname)")
        assert "/purges/" not in refs
        assert "/machines/" in refs


def test_branch_that_is_locked_on_the_server_is_named(at: HostileScene) -> None:
    lock = at.raw.path / f"{BRANCH}.lock"
    lock.write_text("")
    at.machine.note("memory/waits.md", "waits\n")
    try:
        with pytest.raises(RemoteUnreachableError, match="can't change refs/heads/memd/main") as raised:
            at.machine.remote("sync")
    finally:
        lock.unlink()
    assert raised.value.data["reason"] == "locked"
    at.machine.remote("sync")
    at.raw.good = at.raw.git("rev-parse", BRANCH)


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch /tmp/evil'",
        "-oProxyCommand=evil",
        "--upload-pack=evil",
        "",
        "  ",
        "hub.git",
        "x\ny",
        "a" * 3_000,
    ],
)
def test_address_that_is_none_is_refused(at: HostileScene, url: str) -> None:
    with machines(1) as ([machine], _), pytest.raises(BadParamsError):
        machine.remote("add", url=url)


def test_password_in_an_address_is_shown_nowhere() -> None:
    with machines(1) as ([machine], _):
        with pytest.raises(MemdError) as raised:
            machine.remote("add", url="https://eva:hunter2@127.0.0.1:9/memory.git")

        assert "hunter2" not in f"{raised.value.message} {raised.value.data}"
        assert "hunter2" not in machine.daemon.log_tail(1_000)


def test_repository_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sha256.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--object-format=sha256", str(path)], check=True)
    with machines(1) as ([machine], _):
        machine.note("MEMORY.md", "text\n")
        with pytest.raises(MemdError, match=r"algorithm|format|sha"):
            machine.remote("add", url=str(path))


def test_replaced_repository_is_refused_until_it_is_taken_over(tmp_path: Path) -> None:
    with machines(1) as ([machine], repository):
        machine.note("MEMORY.md", "first\n")
        machine.remote("add", url=repository.url)
        shutil.rmtree(repository.path)
        BareRepository(repository.path.parent)

        with pytest.raises(MemdError, match="none any more"):
            machine.remote("sync")
        machine.remote("sync", accept_rewrite=True)

        assert repository.git("show", "memd/main:MEMORY.md") == "first"


def test_workspace_inside_the_users_repository_leaves_it_as_it_is(tmp_path: Path) -> None:
    with machines(1) as ([machine], repository):
        own = machine.home.state / ".git"
        subprocess.run(["git", "init", "--quiet", str(machine.home.state)], check=True)
        before = {path: os.stat(path).st_mtime_ns for path in own.rglob("*")}
        machine.note("MEMORY.md", "first\n")
        machine.remote("add", url=repository.url)

        assert {path: os.stat(path).st_mtime_ns for path in own.rglob("*")} == before
