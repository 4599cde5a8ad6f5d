"""Recorded frames that every memd client is tested with: `tests/conformance/frames.json`.

Each exchange has the client's frame and all of the daemon's, as hex and as values, in order: hello, every request,
errors, progress, an event, cancel, and a connection error. `scripts/generate` records them again from a
real daemon, which is necessary when the protocol is extended.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from memd_client.framing import FrameDecoder, encode_frame
from memd_client.messages import REQUESTS
from memd_client.schema import to_wire
from memd_client.session import CLIENT_VERSION, ClientSession
from tests.support.daemon import DaemonProcess
from tests.support.provider_server import serve_provider
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter
from tests.support.tree import ROOT

FRAMES: Final = ROOT / "tests" / "conformance" / "frames.json"

SESSION: Final = "agent:main:main"

MEMORY: Final = """# Gateway

The staging gateway listens on port 4711.

- It restarts on Mondays. <!-- trigger: restart --> <!-- importance: 8 -->
"""

PARAMS: Final[dict[str, dict[str, Any]]] = {
    "status": {"deep": True},
    "metrics": {},
    "search": {
        "query": "which port does the staging gateway use — 端口?",
        "min_score": 0.05,
        "explain": True,
    },
    "search_agents": {"query": "staging gateway", "agents": ["main"], "max_results": 2},
    "get": {"path": "MEMORY.md", "from_line": 1, "lines": 3},
    "index": {"agent": "main", "force": True},
    "reset": {"agent": "main"},
    "vacuum": {"agent": "main"},
    "embed": {"texts": ["a port", "a birthday 🎂"], "kind": "query"},
    "model": {"action": "list"},
    "tools": {"shape": "openai", "include": ["memory_search", "memory_store"]},
    "call_tool": {"name": "memory_get", "arguments": {"path": "MEMORY.md", "from": 1, "lines": 2}},
    "prompt_section": {"session_key": SESSION},
    "session_started": {"session_key": SESSION},
    "session_ended": {"session_key": SESSION, "channel": "telegram"},
    "flush_check": {"session_key": SESSION, "total_tokens": 177_000, "context_window": 200_000},
    "flush_done": {"session_key": SESSION},
    "compaction_done": {"session_key": SESSION, "compaction_count": 1},
    "hook": {
        "program": "claude-code",
        "event": "prompt",
        "session_id": "5f2c",
        "cwd": "/home/eva/shop",
        "prompt": "Which port does the staging gateway use?",
    },
    "hook_log": {"limit": 2},
    "usage": {"since": "30d", "limit": 2},
    "forget": {"action": "receipts", "everywhere": False},
    "trust": {"limit": 2},
    "append_note": {"text": "The staging gateway listens on 8443.", "key": "run:17", "date": "2026-01-16"},
    "memory_store": {
        "text": "I prefer dark mode",
        "importance": 0.8,
        "id": "theme",
        "created_ms": 1_795_342_800_000,
        "vector": bytes(range(1, 33)),
        "vector_model": "another",
    },
    "memory_recall": {"query": "dark mode"},
    "facts_for_prompt": {"prompt": "I prefer dark mode in my editor", "force": True},
    "facts": {},
    "files": {},
    "sources": {},
    "remote": {},
    "conversations": {"title": "backup", "limit": 2},
    "conversation_search": {"query": "nightly backup"},
    "conversation_read": {"session": "ses_1"},
    "session_handoff": {"session": "ses_1"},
    "memory_edit": {"id": "theme", "text": "I prefer light mode", "expected_text": "I prefer dark mode"},
    "memory_forget": {"id": "theme"},
    "capture_facts": {"messages": [{"role": "user", "content": "I prefer tabs over spaces"}], "force": True},
    "how": {"command": "pytest"},
    "fix": {"error": "ModuleNotFoundError: No module named 'stripe'"},
    "blame": {"file": "/home/eva/shop/src/queue.py"},
    "work_files": {"topic": "nightly backup"},
    "open_page": {},
}
"""Parameters of each request, except `hello`, `subscribe` and `cancel`."""

WRONG: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "agent_unknown": ("search", {"query": "x", "agent": "nobody"}),
    "bad_params": ("search", {"query": 3}),
    "method_unknown": ("no_such_request", {}),
    "path_refused": ("get", {"path": "../openclaw.json"}),
    "query_empty": ("search", {"query": " "}),
}
"""Requests that end with these errors."""


def params_of(name: str) -> dict[str, Any]:
    """Return a request's parameters in wire format, with every field."""
    wire: dict[str, Any] = to_wire(REQUESTS[name][0](**PARAMS[name]))
    return wire


class FrameRecorder:
    """A client that records every frame."""

    def __init__(self, path: Path) -> None:
        self.exchanges: list[dict[str, Any]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(60)
        self._socket.connect(str(path))
        self._session = ClientSession("recorder")
        self._bytes = b""

    def hello(self) -> None:
        """Send hello."""
        number, data = self._session.hello()
        self.exchange("hello", data, lambda value: value[:2] == [1, number])

    def request(self, name: str, method: str, params: dict[str, Any]) -> None:
        """Send a request and record all frames until its response."""
        number, data = self._session.request(method, params)
        self.exchange(name, data, lambda value: value[:2] == [1, number])

    def subscribe_and_cancel(self, cause: tuple[str, dict[str, Any]]) -> None:
        """Record an event caused by a request, and the end of the subscription."""
        number, data = self._session.request("subscribe", {"agent": "main", "kinds": ["sync"]})
        self.exchange("subscribe", data, None)
        cause_id, data = self._session.request(*cause)
        wanted = {"event", cause_id}
        self.exchange("event", data, lambda value: not _discard(wanted, value[1]))
        cancel_id, data = self._session.request("cancel", {"id": number})
        ended = {number, cancel_id}
        self.exchange("cancel", data, lambda value: not _discard(ended, value[1]))

    def exchange(self, name: str, data: bytes, is_last: Callable[[Any], bool] | None) -> None:
        """Send a frame and record the frames up to the last; None waits for nothing."""
        self._socket.sendall(data)
        told: list[dict[str, Any]] = []
        while is_last is not None:
            frame = self._frame()
            value = value_of(frame)
            told.append(shown(frame))
            self._session.receive(frame)
            if is_last(value):
                break
        self.exchanges.append({"name": name, "sent": shown(data), "told": told})

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _frame(self) -> bytes:
        while len(self._bytes) < 4 or len(self._bytes) < 4 + int.from_bytes(self._bytes[:4], "big"):
            data = self._socket.recv(65536)
            assert data, "the daemon hung up"
            self._bytes += data
        end = 4 + int.from_bytes(self._bytes[:4], "big")
        frame, self._bytes = self._bytes[:end], self._bytes[end:]
        return frame


def _discard(wanted: set[Any], each: Any) -> set[Any]:
    wanted.discard(each)
    return wanted


def value_of(frame: bytes) -> Any:
    """Return the value of a whole frame."""
    (value,) = FrameDecoder().feed(frame)
    return value


def shown(frame: bytes) -> dict[str, Any]:
    """Return a frame in the format of the file."""
    return {"hex": frame.hex(), "value": as_json(value_of(frame))}


def as_json(value: Any) -> Any:
    """Return a value with its bytes as `{"$bytes": base64}`."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return value


@contextmanager
def recorded_daemon() -> Iterator[DaemonProcess]:
    """Run a daemon with a small memory and a provider, in a home directory of its own."""
    with serve_provider("openai", dims=8) as server, tempfile.TemporaryDirectory(dir="/tmp") as home:
        remote = {"baseUrl": server.url, "apiKey": server.key}
        memory = {"provider": "openai", "model": server.facts.model, "remote": remote}
        with StateHome({"agents": {"defaults": {"memorySearch": memory}}}) as state:
            state.note("MEMORY.md", MEMORY)
            state.note("memory/2026-01-15.md", "# 2026-01-15\n\nAnna's birthday is in May.\n")
            places = {
                name: f"{home}/{name}" for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
            }
            with OpencodeWriter(Path(places["XDG_DATA_HOME"], "opencode", "opencode.db"), V1) as program:
                program.session("ses_1", title="Backups", directory="/home/eva/shop")
                program.v1("ses_1", "user", "When does the nightly backup run?")
                program.v1("ses_1", "assistant", "At three.")
            (state.root / "memd.toml").write_text("[sources.opencode]\n")
            with DaemonProcess(state, {"HOME": home, **places}) as daemon:
                yield daemon


def record_exchanges(daemon: DaemonProcess) -> list[dict[str, Any]]:
    """Record all exchanges."""
    recorder = FrameRecorder(daemon.home.socket)
    try:
        recorder.hello()
        for name in PARAMS:
            recorder.request(name, name, params_of(name))
        for code, (method, params) in WRONG.items():
            recorder.request(f"error {code}", method, params)
        recorder.subscribe_and_cancel(("index", params_of("index")))
        recorder.exchange("error of the connection", _no_frame(), lambda value: value[1] == 0)
    finally:
        recorder.close()
    return recorder.exchanges


def _no_frame() -> bytes:
    """Return a frame that is valid MessagePack but not a request."""
    return encode_frame(["not", "a", "request"])


def load() -> dict[str, Any]:
    """Return the recorded exchanges."""
    recorded: dict[str, Any] = json.loads(FRAMES.read_text())
    return recorded


def differences(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return how an exchange differs from the recorded one, except in times, numbers and texts."""
    found = [] if now["sent"]["hex"] == then["sent"]["hex"] else ["the client's bytes changed"]
    ends_now, ends_then = _ends(now), _ends(then)
    if [value[:2] for value in ends_now] != [value[:2] for value in ends_then]:
        return [*found, "other requests are answered"]
    for answered, recorded in zip(ends_now, ends_then, strict=True):
        found += _missing(recorded[2:], answered[2:])
        if recorded[2] is not None and (answered[2] or {}).get("code") != recorded[2]["code"]:
            found.append(f"the code is not {recorded[2]['code']}")
    return found


def _ends(exchange: dict[str, Any]) -> list[Any]:
    """Return the responses of an exchange by id; the number of progress messages may differ."""
    return sorted(
        (told["value"] for told in exchange["told"] if told["value"][0] == 1), key=lambda each: each[1]
    )


def _missing(then: Any, now: Any, where: str = "") -> list[str]:
    """Return differences of a recorded and a current response in fields and types; nil matches any type."""
    if then is None or now is None:
        return []
    if isinstance(then, bool) or isinstance(now, bool) or not isinstance(then, int | float):
        if type(then) is not type(now):
            return [f"{where} is {type(now).__name__}"]
    elif not isinstance(now, int | float):
        return [f"{where} is {type(now).__name__}"]
    if isinstance(then, dict):
        gone = [f"{where}.{key} is gone" for key in then.keys() - now.keys()]
        both = sorted(then.keys() & now.keys())
        return gone + [each for key in both for each in _missing(then[key], now[key], f"{where}.{key}")]
    if isinstance(then, list) and len(then) == len(now):
        return [each for old, new in zip(then, now, strict=True) for each in _missing(old, new, f"{where}[]")]
    return []


if __name__ == "__main__":
    os.environ.pop("OPENCLAW_STATE_DIR", None)
    with recorded_daemon() as running:
        exchanges = record_exchanges(running)
    recorded = {each["name"]: each for each in load()["exchanges"]}
    if recorded.keys() == {each["name"] for each in exchanges} and not any(
        differences(recorded[each["name"]], each) or differences(each, recorded[each["name"]])
        for each in exchanges
    ):
        sys.exit()
    about = "A recorded conversation: `scripts/generate` makes it."
    recorded_with = {"about": about, "client": "recorder", "version": CLIENT_VERSION, "exchanges": exchanges}
    FRAMES.write_text(json.dumps(recorded_with, indent=1, ensure_ascii=False) + "\n")
