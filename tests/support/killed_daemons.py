"""A daemon that is killed again and again, started by the clients that want something of it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import apsw

from memd_client import Client
from memd_client.errors import MemdError
from memd_client.messages import AgentStatus
from tests.support.edits import Edit, EditedMemory
from tests.support.models import is_running
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome

AT_ONCE: Final = 10
"""Clients that start a daemon at the same moment."""

SPARE_BYTES: Final = 10 * 1_048_576
"""Allowed size of an index folder beyond its live files."""

CLIENT: Final = """
import sys, time
from memd_client import Client
with Client(autostart=True, agent=sys.argv[1], timeout_s=30) as client:
    hits = client.search("lantern", deadline_ms=10_000).hits
    print(client.hello().pid, time.time(), len(hits), flush=True)
    sys.stdin.read()
"""
"""A client that searches, reports the daemon's pid and the time, and stays until its input ends."""


class ConcurrentStart:
    """Clients started together: the daemons that served them, and the first and last response times."""

    def __init__(self, answers: list[tuple[int, float, int]], began: float) -> None:
        self.pids = {pid for pid, _, _ in answers}
        times = sorted(at - began for _, at, _ in answers)
        self.first_s, self.last_s = times[0], times[-1]
        self.found = {bool(hits) for _, _, hits in answers}


def start_at_once(home: StateHome, agent: str, count: int = AT_ONCE) -> ConcurrentStart:
    """Start clients at the same moment, each in a process, and return how they were served."""
    environ = {**os.environ, **home.environ()}
    began = time.time()
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, agent],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(count)
    ]
    try:
        answers = []
        for client in clients:
            assert client.stdout
            line = client.stdout.readline()
            assert line, client.communicate()[1]
            pid, at, hits = line.split()
            answers.append((int(pid), float(at), int(hits)))
    finally:
        for client in clients:
            client.communicate()
    return ConcurrentStart(answers, began)


def daemons_of(home: StateHome) -> list[int]:
    """Return the processes that are daemons of a state directory."""
    mark = f"OPENCLAW_STATE_DIR={home.state}".encode()
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # the process ended meanwhile
            command = (process / "cmdline").read_bytes().split(b"\0")
            if b"memd" in command and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def kill(pid: int) -> None:
    """Kill a daemon with SIGKILL and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_running(pid))


class ConstantSearches:
    """Clients that search continuously until the daemon is gone."""

    def __init__(self, home: StateHome, threads: int) -> None:
        self._home = home
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._search, args=(number,)) for number in range(threads)]

    def __enter__(self) -> ConstantSearches:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _search(self, number: int) -> None:
        with contextlib.suppress(MemdError), Client(self._home.socket, timeout_s=10) as client:
            while not self._ended.is_set():
                client.search(f"lantern at door {number}", deadline_ms=5_000)
                number += 1


def damage(index: Path) -> list[str]:
    """Return SQLite's findings in a copy of an index, including its full-text tables.

    A copy, because only the daemon may write to its index.
    """
    copy = index.with_name("copy.sqlite")
    try:
        source = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        target = apsw.Connection(str(copy))
        with target.backup("main", source, "main") as backup:
            backup.step()
        source.close()
        found = [str(row[0]) for row in target.execute("PRAGMA integrity_check")]
        with contextlib.suppress(apsw.SQLError):
            target.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES('integrity-check', 1)")
        target.close()
        return [] if found == ["ok"] else found
    except apsw.CorruptError as error:
        return [str(error)]
    finally:
        copy.unlink(missing_ok=True)


def folder_problems(folder: Path, known: set[str]) -> list[str]:
    """Return unknown files and excess size of an index folder."""
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    strangers = [name for name in files if name.removesuffix("-wal").removesuffix("-shm") not in known]
    live = 0
    for name in known & files.keys():
        if name.endswith(".sqlite"):
            with contextlib.closing(
                apsw.Connection(str(folder / name), flags=apsw.SQLITE_OPEN_READONLY)
            ) as db:
                pages, free, size = (
                    db.pragma(fact) for fact in ("page_count", "freelist_count", "page_size")
                )
                live += (pages - free) * size
        else:
            live += files[name]
    total = sum(files.values())
    found = [f"{name} is left over" for name in strangers]
    if total > live + SPARE_BYTES:
        found.append(f"{total:,} bytes for {live:,} that live: {files}")
    return found


def edit_some(memory: EditedMemory, rng: random.Random, count: int) -> None:
    """Write, change, move and delete some of a memory's files."""
    for _ in range(count):
        place = f"memory/{rng.randrange(40):02}.md"
        name = rng.choice(["write", "write_long", "append", "swap_words", "delete", "rename", "replace"])
        memory.do(Edit(name, place, f"memory/{rng.randrange(40):02}.md" if name == "rename" else ""))
    memory.do(Edit("write", "memory/kept.md"))


def is_settled(agent: AgentStatus) -> bool:
    """Return whether an agent's index matches its files and every text has its vector."""
    return not (agent.files_pending or agent.chunks_pending or agent.syncing or agent.problems)


def twin_of(model: Path, twin: Path) -> Path:
    """Write a model with the same vectors as another one but a different identity."""
    data = model.read_bytes()
    assert b"all-MiniLM-L6-v2" in data[:1000]
    twin.write_bytes(data.replace(b"all-MiniLM-L6-v2", b"twin-MiniLM-L6v2", 1))
    return twin


def find_stale_hits(client: Client, word: str, files: Mapping[str, str]) -> list[str]:
    """Return differences between the hits of a word and the disk; vector search may find other files too."""
    reply = client.search(word, max_results=20, deadline_ms=10_000)
    holders = {path for path, text in files.items() if word in text}
    found = []
    if holders and not (reply.hits and reply.hits[0].path in holders and word in reply.hits[0].snippet):
        found.append(f"{word} is in {sorted(holders)}, found first in {[hit.path for hit in reply.hits[:1]]}")
    for hit in reply.hits:
        lines = files.get(hit.path, "").split("\n")[hit.start_line - 1 : hit.end_line]
        if hit.snippet not in "\n".join(lines):
            found.append(f"{hit.citation} shows what isn't there")
    return found
