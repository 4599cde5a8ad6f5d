"""Random edits on three machines, with partitions, kills, skewed clocks, a full disk and lost workspaces.

Nothing written is lost.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from memd_client.errors import MemdError
from tests.support.machines import BareRepository, MemoryMachine, git_in, wait_until
from tests.support.replication_storm import ReplicationStorm, leftovers
from tests.support.sshd import SshServer
from tests.support.system_faults import WallClock, fill_up, small_disk

BURST = 40
"""Edits between two faults."""

SKEWS_S = (0, 3 * 3600, -5 * 3600)
"""How far the clock of each machine is ahead."""


@dataclass
class StormScene:
    """Three machines, the repository between them, and the server that has it."""

    made: list[MemoryMachine]
    repository: BareRepository
    server: SshServer
    disk: Path


@contextmanager
def scene() -> Iterator[StormScene]:
    """Yield three connected machines with different clocks; the last one's state is on a small disk."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memd-storm-", dir="/tmp")))
        server = stack.enter_context(SshServer())
        ssh = {"GIT_SSH_COMMAND": shlex.join(server.ssh_command)}
        made: list[MemoryMachine] = []
        for number, skew_s in enumerate(SKEWS_S):
            clock_folder = folder / f"clock-{number}"
            clock_folder.mkdir()
            clock = WallClock(clock_folder)
            clock.set(skew_s)
            machine = MemoryMachine({**ssh, **clock.environ})
            stack.callback(machine.close)
            made.append(machine)
        disk = made[-1].home.state
        config = (disk / "openclaw.json").read_text()
        stack.enter_context(small_disk(disk, "128m"))
        (disk / "openclaw.json").write_text(config)
        repository = BareRepository(folder)
        for machine in made:
            machine.workspace.mkdir(exist_ok=True)
            machine.daemon.start()
        made[0].note("MEMORY.md", "# Memory\n\n- begins\n")
        url = f"ssh://{server.host}{repository.path}"
        made[0].remote("add", url=url)
        for machine in made[1:]:
            machine.remote("clone", url=url)
        yield StormScene(made, repository, server, disk)


class StormFaults:
    """Faults of a scene; each is over when it returns, or after `heal`."""

    def __init__(self, scene: StormScene, storm: ReplicationStorm, seed: int) -> None:
        self._scene = scene
        self._storm = storm
        self._random = random.Random(seed)
        self._ballast: Path | None = None
        self._is_apart = False
        self.count = 0

    def strike(self) -> None:
        """Let something fail."""
        every: list[Callable[[], None]] = [
            self._part,
            self._meet,
            self._kill_daemon,
            self._kill_git,
            self._kill_git,
            self._kill_connections,
            self._fill_disk,
            self._free_disk,
            self._lose_files,
            self._lose_files,
            self._return_files,
        ]
        self._random.choice(every)()
        self.count += 1

    def heal(self) -> None:
        """End all faults."""
        self._meet()
        self._free_disk()
        self._return_files()

    def _part(self) -> None:
        """Take the server away."""
        self._scene.server.stop()
        self._is_apart = True

    def _meet(self) -> None:
        if self._is_apart:
            self._scene.server.start()
            self._is_apart = False

    def _kill_daemon(self) -> None:
        machine = self._random.choice(self._scene.made)
        machine.daemon.kill()
        machine.daemon.start()

    def _kill_git(self) -> None:
        """Kill the git commands of all daemons."""
        for machine in self._scene.made:
            for pid in descendants(machine.daemon.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_connections(self) -> None:
        """Kill sshd with its connections, and start it again."""
        if not self._is_apart:
            self._scene.server.stop()
            self._scene.server.start()

    def _fill_disk(self) -> None:
        if self._ballast is None:
            self._ballast = fill_up(self._scene.disk)

    def _free_disk(self) -> None:
        if self._ballast is not None:
            self._ballast.unlink(missing_ok=True)
            self._ballast = None

    def _lose_files(self) -> None:
        """Take a workspace or its `memory` away, as a disk that is unmounted; an empty folder may stay in its place."""
        machine = self._random.choice(self._scene.made)
        if not self._storm.away and machine.home.state != self._scene.disk:
            lost = machine.workspace / self._random.choice(["", "memory"])
            lost.rename(machine.home.state / "away")
            if self._random.random() < 0.7:
                lost.mkdir()
            self._storm.away[machine] = lost

    def _return_files(self) -> None:
        for machine, lost in self._storm.away.items():
            shutil.rmtree(lost, ignore_errors=True)
            (machine.home.state / "away").rename(lost)
        self._storm.away.clear()


def descendants(pid: int) -> list[int]:
    """Return the processes below a process."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    below: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        child, parent = map(int, line.split())
        below.setdefault(parent, []).append(child)
    found, pending = list[int](), [pid]
    while pending:
        children = below.get(pending.pop(), [])
        found += children
        pending += children
    return found


def run_storm(edits: int, seed: int) -> None:
    """Run a storm, let the machines meet, and check what must be true."""
    with scene() as at:
        storm = ReplicationStorm(at.made, seed)
        faults = StormFaults(at, storm, seed)
        while storm.log.edits < edits:
            storm.edit(BURST)
            faults.strike()
            storm.pause(1.5)
            storm.answer()
        faults.heal()
        try_until_equal(at.made, storm)

        log = storm.log
        print(
            f"{log.edits} edits, {faults.count} faults, {log.answers} answers, {len(log.written)} lines",
            flush=True,
        )
        for machine in at.made:
            assert storm.missing(machine) == set()
            assert machine.status().problem is None
            machine.daemon.stop()
            assert leftovers(machine.repository()) == []
            git_in(machine.repository(), "fsck", "--full", "--no-dangling")
        assert [each for each in leftovers(at.repository.path) if each.endswith(".lock")] == []
        at.repository.git("fsck", "--full", "--no-dangling")


def try_until_equal(made: list[MemoryMachine], storm: ReplicationStorm) -> None:
    """Sync until all machines have the same files and no question is open."""

    def is_equal() -> bool:
        for machine in made:
            with suppress(MemdError):
                machine.remote("sync")
        if storm.answer():
            return False
        states = [machine.files() for machine in made]
        return all(state == states[0] for state in states)

    wait_until(is_equal, timeout_s=120)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_storm_of_edits_and_faults_loses_no_line() -> None:
    run_storm(80, seed=7)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1])
def test_long_storm_of_edits_and_faults_loses_no_line(seed: int) -> None:
    run_storm(10_000, seed=seed)
