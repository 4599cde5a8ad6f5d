"""The same memory on two machines through a bare repository behind sshd on loopback: delay, clone, and cost."""

from __future__ import annotations

import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from benchmarks.part import Options, Part, at_most
from benchmarks.processes import processor_s
from tests.support.machines import BareRepository, MemoryMachine, wait_until
from tests.support.sshd import SshServer

NOTES, QUICK_NOTES = 1_000, 100
ROUNDS, QUICK_ROUNDS = 7, 2
SYNCS: Final = 20
IDLE_S, QUICK_IDLE_S = 330.0, 15.0
"""Longer than the interval of syncs."""

SEARCH_INTERVAL_S: Final = 0.25

MOST_FOUND_S: Final = 5.0
MOST_CLONE_S: Final = 20.0
MOST_SYNC_MS: Final = 150.0
MOST_IDLE_PERCENT: Final = 0.1

TITLE: Final = "Memory on several machines"


@contextmanager
def pair(server: SshServer, notes: int) -> Iterator[tuple[MemoryMachine, MemoryMachine, str]]:
    """Yield two machines, the first with notes and connected, and the address of the repository."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memd-hub-", dir="/tmp")))
        environ = {"GIT_SSH_COMMAND": shlex.join(server.ssh_command)}
        made = [MemoryMachine(environ) for _ in range(2)]
        for machine in made:
            stack.callback(machine.close)
            machine.workspace.mkdir()
            machine.daemon.start()
        for number in range(notes):
            made[0].note(
                f"memory/{number % 20}/{number:04}.md", f"# Note {number}\n\nAbout topic{number}.\n" * 10
            )
        url = f"ssh://{server.host}{BareRepository(folder).path}"
        made[0].remote("add", url=url)
        yield made[0], made[1], url


def found_s(writer: MemoryMachine, reader: MemoryMachine, word: str) -> float:
    """Return how long a note that was just written takes to be found on the other machine, both in use."""
    began = time.perf_counter()
    with writer.daemon.client() as here, reader.daemon.client() as there:
        while not there.search(word).hits:
            here.search(word)
            time.sleep(SEARCH_INTERVAL_S)
    return time.perf_counter() - began


def measure(options: Options) -> Part:
    """Measure delays, a clone, and what syncs cost."""
    if shutil.which("git") is None:
        return Part(TITLE, skipped="git is not installed")
    try:
        server = SshServer()
    except pytest.skip.Exception as error:
        return Part(TITLE, skipped=str(error))
    notes, rounds = (QUICK_NOTES, QUICK_ROUNDS) if options.quick else (NOTES, ROUNDS)
    with server, pair(server, notes) as (laptop, desktop, url):
        options.show_progress("clone")
        began = time.perf_counter()
        desktop.remote("clone", url=url)
        wait_until(lambda: desktop.hits(f"topic{notes - 1}"))
        clone_s = time.perf_counter() - began
        up, back = [], []
        for number in range(rounds):
            options.show_progress(f"round {number + 1} of {rounds}")
            laptop.note(f"memory/up-{number}.md", f"upword{number}\n")
            up.append(found_s(laptop, desktop, f"upword{number}"))
            server.stop()
            laptop.note(f"memory/back-{number}.md", f"backword{number}\n")
            laptop.hits("anything")
            time.sleep(2 * MOST_FOUND_S)  # attempts of both fail meanwhile
            server.start()
            back.append(found_s(laptop, desktop, f"backword{number}"))
        laptop.remote("sync")
        before = processor_s([laptop.daemon.pid])
        for _ in range(SYNCS):
            laptop.remote("sync")
        sync_ms = (processor_s([laptop.daemon.pid]) - before) * 1000 / SYNCS
        idle_percent = _idle_percent(laptop, options)
    return Part(
        TITLE,
        [
            at_most("remotes.found", "a note is found on the other machine", up, "s", MOST_FOUND_S),
            at_most("remotes.found_back", "the same, after the link is back", back, "s", MOST_FOUND_S),
            at_most(
                "remotes.clone", f"{notes:,} notes cloned and found by keyword", [clone_s], "s", MOST_CLONE_S
            ),
            at_most("remotes.sync", "CPU of a sync without changes", [sync_ms], "ms", MOST_SYNC_MS),
            at_most("remotes.idle", "CPU of an idle remote", [idle_percent], "%", MOST_IDLE_PERCENT),
        ],
        notes=[
            "Both machines search four times a second. git runs over sshd on loopback, whose own CPU is not counted."
        ],
    )


def _idle_percent(machine: MemoryMachine, options: Options) -> float:
    """Return the processor time of an idle daemon with a remote, less that of one without, in percent of a core."""
    idle_s = QUICK_IDLE_S if options.quick else IDLE_S
    options.show_progress(f"idle for {idle_s:.0f} s")
    plain = MemoryMachine()
    try:
        plain.workspace.mkdir()
        for path, data in machine.files().items():
            plain.note(path, data.decode())
        plain.daemon.start()
        wait_until(lambda: plain.hits("anything") is not None)
        time.sleep(MOST_FOUND_S)
        pids = machine.daemon.pid, plain.daemon.pid
        before = [processor_s([pid]) for pid in pids]
        time.sleep(idle_s)
        used = [processor_s([pid]) - start for pid, start in zip(pids, before, strict=True)]
        return max(0.0, 100 * (used[0] - used[1]) / idle_s)
    finally:
        plain.close()
