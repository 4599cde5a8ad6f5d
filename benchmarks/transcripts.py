"""Synthetic transcripts of three programs: time, size and RAM of indexing them by keywords, without and with work.

As in real ones, most bytes are results of tools. Words are those of `benchmarks.corpus`. Also freshness, and idle cost.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.part import Options, Part, at_most, measured
from benchmarks.processes import idle_percent
from benchmarks.transcript_work import CALLS_PER_TURN, EDIT, READ, RUN, SyntheticCall, Words
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter

MB: Final = 1_000_000
FULL_MB, QUICK_MB = 1_000, 50
ROUNDS: Final = 3

SESSION_BYTES: Final = 2 * MB
MOST_S, MOST_MB = 60.0, 300.0
MOST_TIME_RATIO, MOST_SIZE_RATIO = 2.0, 1.5
APPENDED: Final = 20
IDLE_S: Final = 30.0
SOURCES: Final = ("claude-code", "codex", "opencode")

Record = dict[str, Any]


def stamp(second: int) -> str:
    """Return a time as programs write it."""
    return time.strftime("2026-11-02T%H:%M:%S.000Z", time.gmtime(second % 86_400))


def claude_code(session: str, words: Words) -> Iterator[Record]:
    """Yield the records of a session of Claude Code, which stores each result twice."""
    head = {"sessionId": session, "cwd": "/home/eva/shop", "gitBranch": "main", "isSidechain": False}
    parent: str | None = None
    calls, ids = words.calls(words.session_files()), itertools.count()

    def record(second: int, kind: str, content: object, **more: object) -> Record:
        nonlocal parent
        key, before = f"{session}-{next(ids)}", parent
        parent = key
        message = {"id": key, "role": kind, "content": content}
        times = {"timestamp": stamp(second), "message": message}
        return {"type": kind, "uuid": key, "parentUuid": before, **head, **times, **more}

    for number in itertools.count():
        yield record(number, "user", words.sentence(30))
        for at, call in enumerate(itertools.islice(calls, CALLS_PER_TURN)):
            said = [{"type": "text", "text": words.sentence(14)}] if at % 2 == 0 else []
            tool, arguments, text, facts = _claude_code_call(call)
            key = f"toolu_{number}_{at}"
            yield record(
                number,
                "assistant",
                [*said, {"type": "tool_use", "id": key, "name": tool, "input": arguments}],
            )
            result: Record = {"type": "tool_result", "tool_use_id": key, "content": text}
            if call.exit_code:
                result["is_error"] = True
            yield record(number, "user", [result], toolUseResult=facts)
        yield record(number, "assistant", [{"type": "text", "text": words.sentence(90)}])


def _claude_code_call(call: SyntheticCall) -> tuple[str, Record, str, object]:
    """Return a call's tool and arguments, the result for the model, and the structured one."""
    match call.kind:
        case "run":
            if call.exit_code:
                text = f"Exit code {call.exit_code}\n{call.result}"
                return "Bash", {"command": call.subject}, text, f"Error: {text}"
            facts: Record = {"stdout": call.result, "stderr": "", "interrupted": False, "isImage": False}
            return "Bash", {"command": call.subject}, call.result, facts
        case "read":
            facts = {"type": "text", "file": {"filePath": call.subject, "content": call.result}}
            return "Read", {"file_path": call.subject}, call.result, facts
        case _:
            spans = {"old_string": call.old, "new_string": call.new}
            facts = {"filePath": call.subject, "oldString": call.old, "newString": call.new}
            facts |= {"originalFile": call.result, "userModified": False}
            text = f"The file {call.subject} has been updated."
            return "Edit", {"file_path": call.subject, **spans}, text, facts


def codex(session: str, words: Words) -> Iterator[Record]:
    """Yield the records of a session of Codex, whose models read files by commands."""
    meta = {"id": session, "session_id": session, "cwd": "/home/eva/shop", "source": "cli"}
    yield {"timestamp": stamp(0), "type": "session_meta", "payload": meta}
    calls = words.calls(words.session_files())
    for number in itertools.count():
        at = stamp(number)

        def record(kind: str, payload: Record, at: str = at) -> Record:
            return {"timestamp": at, "type": kind, "payload": payload}

        yield record("event_msg", {"type": "user_message", "message": words.sentence(30)})
        for step, call in enumerate(itertools.islice(calls, CALLS_PER_TURN)):
            if step % 2 == 0:
                yield record("event_msg", {"type": "agent_message", "message": words.sentence(14)})
            key = f"call_{number}_{step}"
            if call.kind == EDIT:
                patch = {"type": "custom_tool_call", "name": "apply_patch", "input": patch_of(call)}
                yield record("response_item", {**patch, "call_id": key, "status": "completed"})
                done = {"type": "custom_tool_call_output", "call_id": key}
                text = f"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated {call.subject}"
                yield record("response_item", {**done, "output": text})
                continue
            line = f"sed -n '1,400p' {call.subject}" if call.kind == READ else call.subject
            called = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": line})}
            yield record("response_item", {**called, "call_id": key})
            frame = f"Wall time: 0.2 seconds\nProcess exited with code {call.exit_code}\nOutput:\n"
            output = {"type": "function_call_output", "call_id": key, "output": frame + call.result}
            yield record("response_item", output)
        yield record("event_msg", {"type": "agent_message", "message": words.sentence(90)})


def patch_of(call: SyntheticCall) -> str:
    """Return an edit as a patch."""
    removed = "".join(f"-{line}\n" for line in call.old.splitlines())
    added = "".join(f"+{line}\n" for line in call.new.splitlines())
    return f"*** Begin Patch\n*** Update File: {call.subject}\n@@\n{removed}{added}*** End Patch\n"


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
                session, calls = program.session(f"ses_{number}"), words.calls(words.session_files())
                size = 0
                while size < min(SESSION_BYTES, total):
                    program.v1(session, "user", words.sentence(30))
                    tools = [opencode_part(call) for call in itertools.islice(calls, CALLS_PER_TURN)]
                    said = [words.sentence(14) for _ in tools[::2]]
                    program.v1(session, "assistant", *said, *tools, words.sentence(90))
                    size += sum(len(json.dumps(tool)) for tool in tools) + 1_200
            total -= size
            if total <= 0:
                return


def opencode_part(call: SyntheticCall) -> Record:
    """Return a call as a part of a message."""
    state: Record
    match call.kind:
        case "run":
            state = {"input": {"command": call.subject}, "metadata": {"exit": call.exit_code}}
        case "read":
            state = {"input": {"filePath": call.subject}}
        case _:
            spans = {"oldString": call.old, "newString": call.new}
            files = {"file": call.subject, "before": call.result, "after": call.result}
            state = {"input": {"filePath": call.subject, **spans}, "metadata": {"filediff": files}}
    tool = {RUN: "bash", READ: "read", EDIT: "edit"}[call.kind]
    output = "Edited." if call.kind == EDIT else call.result
    return {
        "type": "tool",
        "tool": tool,
        "callID": f"c{id(call)}",
        "state": {"status": "completed", **state, "output": output},
    }


def peak_mb(pid: int) -> float:
    """Return the largest resident memory of a process so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / MB


class Indexed(NamedTuple):
    """What indexing the transcripts once cost."""

    took_s: float
    index_mb: float
    ram_mb: float
    chunks: int
    sessions: int
    messages: int
    commands: int
    file_steps: int
    missed: float
    search_ms: list[float]
    idle: float


def measure(options: Options) -> Part:
    """Index transcripts without work and with it, append to one each time, and idle."""
    megabytes = QUICK_MB if options.quick else FULL_MB
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        last = write_transcripts(user, megabytes, options)
        size = last.stat().st_size
        without: list[Indexed] = []
        with_work: list[Indexed] = []
        for _ in range(ROUNDS):
            for results, work in ((without, False), (with_work, True)):
                options.show_progress(f"indexing {'with' if work else 'without'} work")
                results.append(index(user, last, work=work, idle_s=IDLE_S if work else 0.0))
                os.truncate(last, size)
    return report(megabytes, without, with_work)


def write_transcripts(user: Path, megabytes: int, options: Options) -> Path:
    """Write transcripts of three programs below a home folder; return one of Codex."""
    rng = random.Random(5)
    words, share = Words(rng), megabytes * MB // len(SOURCES)
    user.mkdir()
    last = user
    for program in FILES:
        options.show_progress(f"writing {megabytes} MB of transcripts: {program}")
        last = write_files(user, program, share, words, rng)
    write_opencode(user, share, words)
    return last


def index(user: Path, last: Path, *, work: bool, idle_s: float) -> Indexed:
    """Index the transcripts with a new daemon."""
    with StateHome(KEYWORD_ONLY) as home:
        switch = "" if work else "work = false\n"
        (home.root / "memd.toml").write_text("".join(f"[sources.{name}]\n{switch}" for name in SOURCES))
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client(timeout_s=600) as client:
            began = time.monotonic()
            client.index()
            took_s = time.monotonic() - began
            (agent,) = client.status().agents
            ram_mb, index_mb = peak_mb(daemon.pid), agent.index_bytes / MB
            missed, search_ms = append_and_search(client, last, work=work)
            client.index()
            idle = idle_percent(daemon.pid, idle_s) if idle_s else 0.0
    added = agent.added
    return Indexed(
        took_s,
        index_mb,
        ram_mb,
        agent.chunks,
        sum(source.sessions for source in added),
        sum(source.messages for source in added),
        sum(source.commands for source in added),
        sum(source.file_steps for source in added),
        missed,
        search_ms,
        idle,
    )


def report(megabytes: int, without: Sequence[Indexed], with_work: Sequence[Indexed]) -> Part:
    """Return the figures of rounds without work and with it, which took turns."""
    pairs = list(zip(without, with_work, strict=True))
    last = with_work[-1]
    missed = [result.missed for result in (*without, *with_work)]
    times = [ms for result in with_work for ms in result.search_ms]
    return Part(
        f"{megabytes:,} MB of transcripts of three programs",
        [
            at_most("index_s", "indexed by keywords", [row.took_s for row in without], "s", MOST_S),
            measured("work_index_s", "… with work", [row.took_s for row in with_work], "s"),
            at_most(
                "work_time_ratio",
                "… with work / without, turn by turn",
                [two.took_s / one.took_s for one, two in pairs],
                "times",
                MOST_TIME_RATIO,
            ),
            measured("index_mb", "index", [row.index_mb for row in without], "MB"),
            measured("work_index_mb", "… with work", [row.index_mb for row in with_work], "MB"),
            at_most(
                "work_size_ratio",
                "… with work / without",
                [two.index_mb / one.index_mb for one, two in pairs],
                "times",
                MOST_SIZE_RATIO,
            ),
            at_most(
                "peak_mb",
                "largest RAM of the daemon meanwhile, with work",
                [row.ram_mb for row in with_work],
                "MB",
                MOST_MB,
            ),
            at_most("missed", f"of {APPENDED} appended lines, not found by the next search", missed, "", 0),
            measured("appended_ms", "search after an appended line, with work: p50", times, "ms"),
            measured("idle_percent", "idle cost, of one core", [row.idle for row in with_work], "%"),
        ],
        notes=[
            f"{last.sessions:,} sessions of up to {SESSION_BYTES // MB} MB with {last.messages:,} messages in "
            f"{last.chunks:,} chunks; {last.commands:,} commands and {last.file_steps:,} steps with files, "
            f"{CALLS_PER_TURN} calls per request."
        ],
    )


def append_and_search(client: Client, path: Path, *, work: bool) -> tuple[float, list[float]]:
    """Append lines, each followed by a search for it; return the misses, and milliseconds.

    The lines are messages of a session of Codex, and with work every second one is a command that failed.
    """
    missed, times = 0, []
    for number in range(APPENDED):
        word = f"zebra{number:03}quill"
        is_command = work and number % 2 == 1
        with path.open("a") as file:
            for record in command_records(number, word) if is_command else [message_record(number, word)]:
                file.write(json.dumps(record) + "\n")
        began = time.perf_counter()
        hits = client.search(word, kinds=["work" if is_command else "conversations"]).hits
        missed += not any(word in hit.snippet for hit in hits)
        times.append((time.perf_counter() - began) * 1000)
    return float(missed), times


def message_record(number: int, word: str) -> Record:
    """Return a message with a word."""
    message = {"type": "user_message", "message": f"the {word}"}
    return {"timestamp": stamp(number), "type": "event_msg", "payload": message}


def command_records(number: int, word: str) -> list[Record]:
    """Return a command whose error has a word."""
    call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": "make check"})}
    output = f"Wall time: 0.2 seconds\nProcess exited with code 2\nOutput:\nerror: {word} is undeclared"
    result = {"type": "function_call_output", "output": output}
    return [
        {"timestamp": stamp(number), "type": "response_item", "payload": {**payload, "call_id": f"a{number}"}}
        for payload in (call, result)
    ]
