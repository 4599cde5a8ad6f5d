"""Synthetic transcripts of three programs: time and RAM of indexing them by keywords, freshness, and idle cost.

As in real ones, most bytes are results of tools, which are not indexed. Words are those of `benchmarks.corpus`.
"""

from __future__ import annotations

import itertools
import json
import random
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.corpus import make_vocabulary
from benchmarks.part import Options, Part, at_most, measured
from benchmarks.processes import idle_percent
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter

MB: Final = 1_000_000
FULL_MB, QUICK_MB = 1_000, 50

SESSION_BYTES: Final = 2 * MB
TOOL_RESULT_CHARS: Final = 24_000
"""Of one tool's result: with an answer of about 700 characters, 24 of 25 bytes are not indexed."""

MOST_S, MOST_MB = 60.0, 300.0
APPENDED: Final = 20
IDLE_S: Final = 30.0
SOURCES: Final = ("claude-code", "codex", "opencode")

Record = dict[str, Any]


class Words:
    """Random sentences, and tool results cut from one long text."""

    def __init__(self, rng: random.Random) -> None:
        words, weights = make_vocabulary()
        self._rng = rng
        self._words, self._cumulative = words, list(itertools.accumulate(weights))
        self._long = self.sentence(60_000)

    def sentence(self, count: int) -> str:
        """Return so many words."""
        return " ".join(self._rng.choices(self._words, cum_weights=self._cumulative, k=count))

    def result(self) -> str:
        """Return a tool's result."""
        start = self._rng.randrange(len(self._long) - TOOL_RESULT_CHARS)
        return self._long[start : start + TOOL_RESULT_CHARS]


def stamp(second: int) -> str:
    """Return a time as programs write it."""
    return time.strftime("2026-11-02T%H:%M:%S.000Z", time.gmtime(second % 86_400))


def claude_code(session: str, words: Words) -> Iterator[Record]:
    """Yield the records of a session of Claude Code."""
    head = {"sessionId": session, "cwd": "/home/eva/shop", "gitBranch": "main", "isSidechain": False}
    parent = None
    for number in itertools.count():
        for kind, content in (
            ("user", words.sentence(30)),
            ("user", [{"type": "tool_result", "tool_use_id": "t", "content": words.result()}]),
            ("assistant", [{"type": "text", "text": words.sentence(90)}]),
        ):
            key = f"{session}-{number}-{kind}-{type(content).__name__}"
            message = {"id": key, "role": kind, "content": content}
            yield {
                "type": kind,
                "uuid": key,
                "parentUuid": parent,
                **head,
                "timestamp": stamp(number),
                "message": message,
            }
            parent = key


def codex(session: str, words: Words) -> Iterator[Record]:
    """Yield the records of a session of Codex."""
    meta = {"id": session, "session_id": session, "cwd": "/home/eva/shop", "source": "cli"}
    yield {"timestamp": stamp(0), "type": "session_meta", "payload": meta}
    for number in itertools.count():
        at = stamp(number)
        yield {
            "timestamp": at,
            "type": "event_msg",
            "payload": {"type": "user_message", "message": words.sentence(30)},
        }
        output = {"type": "function_call_output", "call_id": "c", "output": words.result()}
        yield {"timestamp": at, "type": "response_item", "payload": output}
        yield {
            "timestamp": at,
            "type": "event_msg",
            "payload": {"type": "agent_message", "message": words.sentence(90)},
        }


FILES: Final[dict[str, tuple[Callable[[str, Words], Iterator[Record]], str]]] = {
    "claude-code": (claude_code, ".claude/projects/-home-eva-shop/{session}.jsonl"),
    "codex": (codex, ".codex/sessions/2026/11/02/rollout-2026-11-02T08-00-00-{session}.jsonl"),
}
"""By program: its records, and the path of a session below the home folder."""


def write_files(home: Path, program: str, total: int, words: Words, rng: random.Random) -> Path:
    """Write sessions of a program of so many bytes together; return the last one's file."""
    records, place = FILES[program]
    path = home
    while total > 0:
        session = str(uuid.UUID(int=rng.getrandbits(128)))
        path = home / place.format(session=session)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w") as file:
            size = 0
            for record in records(session, words):
                size += file.write(json.dumps(record) + "\n")
                if size >= min(SESSION_BYTES, total):
                    break
        total -= size
    return path


def write_opencode(home: Path, total: int, words: Words) -> None:
    """Write opencode's database of so many bytes."""
    with OpencodeWriter(home / ".local/share/opencode/opencode.db", V1) as program:
        program.db.pragma("synchronous", "off")
        for number in itertools.count():
            with program.db:
                session = program.session(f"ses_{number}")
                size = 0
                while size < min(SESSION_BYTES, total):
                    program.v1(session, "user", words.sentence(30))
                    tool = {"type": "tool", "tool": "read", "state": {"output": words.result()}}
                    program.v1(session, "assistant", words.sentence(90), tool)
                    size += TOOL_RESULT_CHARS + 1_000
            total -= size
            if total <= 0:
                return


def peak_mb(pid: int) -> float:
    """Return the largest resident memory of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / MB


def measure(options: Options) -> Part:
    """Index transcripts, append to one, and idle."""
    rng = random.Random(5)
    words, megabytes = Words(rng), QUICK_MB if options.quick else FULL_MB
    share = megabytes * MB // len(SOURCES)
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        user.mkdir()
        last = user
        for program in FILES:
            options.show_progress(f"writing {megabytes} MB of transcripts: {program}")
            last = write_files(user, program, share, words, rng)
        write_opencode(user, share, words)
        (home.root / "memd.toml").write_text("".join(f"[sources.{name}]\n" for name in SOURCES))
        environ = {"HOME": str(user)}
        options.show_progress("indexing")
        with DaemonProcess(home, environ) as daemon, daemon.client(timeout_s=600) as client:
            began = time.monotonic()
            client.index()
            took_s = time.monotonic() - began
            (agent,) = client.status().agents
            sessions = sum(source.sessions for source in agent.added)
            messages = sum(source.messages for source in agent.added)
            ram_mb = peak_mb(daemon.pid)
            found, search_ms = append_and_search(client, last)
            client.index()
            options.show_progress("idling")
            idle = idle_percent(daemon.pid, IDLE_S)
    return Part(
        f"{megabytes:,} MB of transcripts of three programs",
        [
            at_most("index_s", "indexed by keywords", [took_s], "s", MOST_S),
            at_most("peak_mb", "largest RAM of the daemon meanwhile", [ram_mb], "MB", MOST_MB),
            at_most("missed", f"of {APPENDED} appended lines, not found by the next search", [found], "", 0),
            measured("appended_ms", "search after an appended line: p50", search_ms, "ms"),
            measured("idle_percent", "idle cost, of one core", [idle], "%"),
        ],
        notes=[
            f"{sessions:,} sessions with {messages:,} messages in {agent.chunks:,} chunks; "
            f"sessions of {SESSION_BYTES // MB} MB, 24 of 25 bytes are results of tools."
        ],
    )


def append_and_search(client: Client, path: Path) -> tuple[float, list[float]]:
    """Append lines to a session, each followed by a search for it; return the misses, and milliseconds."""
    missed, times = 0, []
    for number in range(APPENDED):
        word = f"zebra{number:03}quill"
        message = {"type": "user_message", "message": f"the {word}"}
        record = {"timestamp": stamp(number), "type": "event_msg", "payload": message}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        began = time.perf_counter()
        missed += not any(word in hit.snippet for hit in client.search(word).hits)
        times.append((time.perf_counter() - began) * 1000)
    return float(missed), times
