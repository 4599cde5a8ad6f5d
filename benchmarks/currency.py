"""Verdicts on hits: what they add to a search, with a repository of many files and commits.

Two daemons have the same notes, one of them without verdicts. They take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.part import Options, Part, at_most, measured
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

FILES, COMMITS, SEARCHES = 5_000, 4_000, 400
QUICK_FILES, QUICK_COMMITS, QUICK_SEARCHES = 500, 400, 100
FIRST_S: Final = 1_780_000_000
"""When the first commit was made, shortly before the notes; commits are an hour apart."""

MAX_ADDED_MS = 5.0


def measure(options: Options) -> Part:
    """Measure searches with and without verdicts, and the first verdict."""
    files, commits, searches = (
        (QUICK_FILES, QUICK_COMMITS, QUICK_SEARCHES) if options.quick else (FILES, COMMITS, SEARCHES)
    )
    repository = options.work / "currency"
    make_repository(repository, files, commits)
    times: dict[bool, list[float]] = {True: [], False: []}
    with StateHome(settings(is_on=True)) as judged, StateHome(settings(is_on=False)) as plain:
        for home in (judged, plain):
            for number in range(20):
                names = ", ".join(
                    f"{repository}/src/part{file}/file{file}.py" for file in range(number, number + 5)
                )
                home.note(f"memory/2026-06-{number + 1:02}.md", f"# Queue\n\nThe queue is in {names}.\n")
        with (
            DaemonProcess(judged) as first,
            DaemonProcess(plain) as second,
            first.client() as with_verdicts,
            second.client() as without,
        ):
            started = time.perf_counter()
            while not any(hit.currency for hit in with_verdicts.search("where is the queue").hits):
                assert time.perf_counter() < started + 60, "no verdict"
            first_ms = (time.perf_counter() - started) * 1000
            for _ in range(searches):
                times[True].append(search_ms(with_verdicts))
                times[False].append(search_ms(without))
    added = p95(times[True]) - p95(times[False])
    return Part(
        "Verdicts on hits",
        [
            measured("plain_p95", "search without verdicts: p95", [p95(times[False])], "ms"),
            measured("judged_p95", "search with verdicts: p95", [p95(times[True])], "ms"),
            at_most("added_p95", "added by verdicts: p95", [added], "ms", MAX_ADDED_MS),
            measured("first", "first verdict", [first_ms], "ms"),
        ],
        notes=[f"{files:,} files, {commits:,} commits; 6 hits with 5 names each; {searches} searches."],
    )


def settings(*, is_on: bool) -> dict[str, object]:
    """Return the settings of keyword search with or without verdicts."""
    search = {"provider": "none", "query": {"currency": is_on}}
    return {"agents": {"defaults": {"memorySearch": search}}}


def search_ms(client: Client) -> float:
    """Return the milliseconds of one search."""
    started = time.perf_counter()
    client.search("where is the queue")
    return (time.perf_counter() - started) * 1000


def p95(values: list[float]) -> float:
    """Return the value that 95 % don't exceed."""
    return statistics.quantiles(values, n=20)[-1]


def make_repository(folder: Path, files: int, commits: int) -> None:
    """Make a repository by `git fast-import`, and check it out."""
    folder.mkdir(parents=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*arguments: str, stdin: bytes = b"") -> None:
        subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, input=stdin, check=True, capture_output=True
        )

    run("init", "-b", "main")
    run("fast-import", stdin=b"".join(stream(files, commits)))
    run("reset", "--hard")


def stream(files: int, commits: int) -> Iterator[bytes]:
    """Yield the input of fast-import: all files in the first commit, then one change a commit."""
    for number in range(commits):
        at_s = FIRST_S + number * 3_600
        yield f"commit refs/heads/main\ncommitter Eva <eva@example.org> {at_s} +0000\ndata 6\nchange\n".encode()
        for file in range(files) if number == 0 else [number * 7 % files]:
            text = f"# part {file}\n" * 30 + f"VERSION = {number}\n"
            path = f"src/part{file}/file{file}.py"
            yield f"M 100644 inline {path}\ndata {len(text)}\n{text}\n".encode()
        yield b"\n"
