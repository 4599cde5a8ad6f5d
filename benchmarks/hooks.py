"""Hooks: the time from starting the hook's process to its end, with a daemon that is idle, busy or away.

A program waits for that time at every prompt, and at every command and edit of its agent. The busy daemon serves
searches of other processes without a pause.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import memd_client.hook
from benchmarks.corpus import make_vocabulary
from benchmarks.part import Options, Part, at_most, measured
from memd_client import Client, MemdError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.agent_homes import write_sessions
from tests.support.transcript_programs.agent_steps import AgentSession, Edited, Event, Ran, Said

NOTES, QUICK_NOTES = 2_000, 200
RUNS, QUICK_RUNS = 300, 60
SEARCHERS: Final = 3
"""Processes that search without a pause: more than the machine has cores for."""

MEDIAN_MS, P99_MS = 60.0, 120.0
ACTION_P99_MS = 60.0

SESSIONS, QUICK_SESSIONS = 400, 40
STEPS: Final = 60
"""Sessions with work, and the commands and edits in each."""

SHOP: Final = "/home/eva/shop"
OUTPUT: Final = "> shop@1.0.0 build\n> tsc --build\n" * 20

INTERPRETER: Final = (sys.executable, "-I", "-S")


class HookRun:
    """Runs hooks and measures them.

    Args:
        words: The words of prompts.
        environ: The environment of a hook.
    """

    def __init__(self, words: Sequence[str], environ: Mapping[str, str]) -> None:
        self._rng = random.Random(8)
        self._words = words
        self._environ = dict(environ)

    def hook_ms(self, number: int) -> float:
        """Return the milliseconds of a hook at a prompt."""
        prompt = " ".join(self._rng.choices(self._words, k=12))
        given = {"session_id": f"s{number}", "cwd": "/home/eva/shop", "prompt": f"Where is {prompt}?"}
        return self.process_ms([memd_client.hook.__file__, "claude-code", "prompt"], json.dumps(given))

    def action_ms(self, number: int) -> float:
        """Return the milliseconds of a hook at a command, an edit or a failure, in turn."""
        name = self._words[number % len(self._words)]
        given: dict[str, object] = {"session_id": f"a{number}", "cwd": SHOP, "tool_name": "Bash"}
        given["tool_input"] = {"command": f"npm run {name}"}
        if number % 3 == 1:
            given |= {"tool_name": "Edit", "tool_input": {"file_path": f"{SHOP}/src/{name}.ts"}}
        event = "after_failure" if number % 3 == 2 else "before_tool"
        given["error"] = f"Exit code 1\n{OUTPUT}Error: cannot load {name} twice"
        return self.process_ms([memd_client.hook.__file__, "claude-code", event], json.dumps(given))

    def process_ms(self, arguments: Sequence[str], given: str = "") -> float:
        """Return the milliseconds of a process of Python."""
        began = time.perf_counter()
        subprocess.run(
            [*INTERPRETER, *arguments],
            input=given.encode(),
            stdout=subprocess.PIPE,
            env=self._environ,
            check=True,
        )
        return (time.perf_counter() - began) * 1000


def sessions_with_work(count: int, words: Sequence[str]) -> Iterator[AgentSession]:
    """Yield sessions in which commands failed, files were edited, and the commands succeeded."""
    for number in range(count):
        events: list[Event] = [Said("user", f"work on {words[number]}")]
        for name in (words[(number * 7 + step) % len(words)] for step in range(STEPS // 3)):
            error = f"{OUTPUT}Error: cannot load {name} twice"
            edit = Edited(f"{SHOP}/src/{name}.ts", f"import {name}", f"import './{name}'")
            events += [Ran(f"npm run {name}", 1, error), edit, Ran(f"npm run {name}")]
        name = words[number]
        events += [Said("user", f"move {name}"), Edited(f"{SHOP}/src/{name}.ts", name, f"my{name}")]
        events.append(Said("assistant", f"Moved, because the build needs {name} there."))
        yield AgentSession(f"work {number}", "claude-code", SHOP, events)


def write_memory(home: StateHome, words: Sequence[str], notes: int, sessions: int) -> None:
    """Write notes, and sessions of Claude Code with work."""
    rng = random.Random(7)
    for number in range(notes):
        text = "\n\n".join(" ".join(rng.choices(words, k=60)) for _ in range(3))
        home.note(f"memory/{number % 20}/{number:04}.md", f"# Note {number}\n\n{text}\n")
    write_sessions(home.root, home.state, sessions_with_work(sessions, words))
    (home.root / "memd.toml").write_text("[sources.claude-code]\n")


def search_on(socket: str, words: Sequence[str], seed: int) -> None:
    """Search without a pause, until the daemon or this process ends."""
    rng = random.Random(seed)
    with Client(socket, autostart=False) as client:
        while True:
            try:
                client.search(" ".join(rng.choices(words, k=4)))
            except MemdError:
                return


@contextmanager
def searchers(socket: str, words: Sequence[str]) -> Iterator[None]:
    """Run processes that search without a pause inside the block."""
    context = multiprocessing.get_context("spawn")
    running = [
        context.Process(target=search_on, args=(socket, words, seed), daemon=True)
        for seed in range(SEARCHERS)
    ]
    for each in running:
        each.start()
    try:
        time.sleep(1.0)
        yield
    finally:
        for each in running:
            each.terminate()
            each.join()


def measure(options: Options) -> Part:
    """Run hooks with a daemon that is idle, busy and away."""
    words = make_vocabulary()[0][:3_000]
    notes, runs = (QUICK_NOTES, QUICK_RUNS) if options.quick else (NOTES, RUNS)
    with StateHome(KEYWORD_ONLY) as home:
        write_memory(home, words, notes, QUICK_SESSIONS if options.quick else SESSIONS)
        environ = {"HOME": str(home.root), **home.environ()}
        hook = HookRun(words, environ)
        with DaemonProcess(home, {"HOME": str(home.root)}) as daemon, daemon.client(timeout_s=600) as client:
            client.index()
            options.show_progress("hooks with an idle daemon")
            idle = [hook.hook_ms(number) for number in range(runs)]
            options.show_progress("hooks at commands and edits")
            actions = [hook.action_ms(number) for number in range(runs)]
            injected = sum(entry.decision == "injected" for entry in client.hook_log(limit=runs).entries)
            options.show_progress("hooks with a busy daemon")
            with searchers(str(home.socket), words):
                busy = [hook.hook_ms(number) for number in range(runs)]
        options.show_progress("hooks without a daemon")
        away = [hook.hook_ms(number) for number in range(runs)]
        bare = [hook.process_ms(["-c", "pass"]) for _ in range(runs)]
    return Part(
        "Hooks, from the start of the process to its end",
        [
            at_most("idle_p50", "daemon idle: p50", [statistics.median(idle)], "ms", MEDIAN_MS),
            at_most("idle_p99", "daemon idle: p99", [statistics.quantiles(idle, n=100)[98]], "ms", P99_MS),
            at_most("busy_p50", "daemon busy: p50", [statistics.median(busy)], "ms", MEDIAN_MS),
            at_most("busy_p99", "daemon busy: p99", [statistics.quantiles(busy, n=100)[98]], "ms", P99_MS),
            at_most("away_p50", "no daemon: p50", [statistics.median(away)], "ms", MEDIAN_MS),
            at_most(
                "action_p50",
                "command or edit, daemon idle: p50",
                [statistics.median(actions)],
                "ms",
                MEDIAN_MS,
            ),
            at_most(
                "action_p99",
                "command or edit, daemon idle: p99",
                [statistics.quantiles(actions, n=100)[98]],
                "ms",
                ACTION_P99_MS,
            ),
            measured("python_p50", "start of Python alone: p50", [statistics.median(bare)], "ms"),
        ],
        notes=[
            f"{runs} prompts each; {notes:,} notes; busy: {SEARCHERS} processes search without a pause.",
            f"{runs} commands, edits and failures; {STEPS} of them in each earlier session; {injected} got a text.",
        ],
    )
