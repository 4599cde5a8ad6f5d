"""What `memctl` prints in the samples of docs/cli.md: each command is run against a server with fixed replies."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memd.embedding.local.estimate import KNOWN_MODELS, estimate_model
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL
from memd.embedding.prefixes import prefixes_of
from memd_client.errors import AgentUnknownError, MemdError
from memd_client.framing import FrameDecoder, encode_frame
from memd_client.messages import (
    AgentStatus,
    AppendNoteReply,
    Degradation,
    EmptyResult,
    GetReply,
    HelloReply,
    Hit,
    IndexedAgent,
    IndexReply,
    MemoryStoreReply,
    Metric,
    MetricsReply,
    ModelFile,
    ModelInfo,
    ModelReply,
    ModelStatus,
    PendingChanges,
    Sample,
    SearchAgentsReply,
    SearchedAgent,
    SearchReply,
    StatusReply,
)
from memd_client.schema import to_wire

NOW_MS = 1_780_000_000_000
"""The time of the replies; `_serve` moves their times to the real one, since `memctl` prints how long ago they were."""
HOME = "/home/ann"

MODEL = ModelStatus(
    "minilm", f"{HOME}/.cache/memd/models/all-MiniLM-L6-v2.gguf", "ready", 4300, 91_700_000, 0, 0
)
MAIN = AgentStatus(
    agent="main",
    workspace=f"{HOME}/.openclaw/workspace",
    index_path=f"{HOME}/.openclaw/memory/main.memd.sqlite",
    sources=["memory"],
    files=54,
    chunks=1300,
    vectors=1300,
    provider="local",
    model="minilm",
    dims=384,
    vector_path="memory",
    vector_path_reason="2.0 MB of a budget of 512 MB",
    last_sync_ms=NOW_MS - 125_000,
    watch="events",
    generation=41,
    index_bytes=5_300_000,
)
FAILED = Degradation(
    "provider_auth",
    "openai answered 401",
    NOW_MS - 3 * 3_600_000,
    "Correct the key (endpoint.apiKey, models.providers, or the environment of the daemon).",
)
WORK = replace(
    MAIN,
    agent="work",
    workspace=f"{HOME}/work",
    index_path=f"{HOME}/.openclaw/memory/work.memd.sqlite",
    vectors=1,
    files_pending=2,
    chunks_pending=1299,
    provider="none",
    model="",
    degraded=FAILED,
)
STATUS = StatusReply(
    version="0.1.0",
    pid=4242,
    uptime_ms=11_520_000,
    socket="/run/user/1000/memd/memd.sock",
    state_dir=f"{HOME}/.openclaw",
    config_path=f"{HOME}/.openclaw/openclaw.json",
    rss_bytes=48_200_000,
    connections=3,
    sqlite_vec="0.1.9",
    models=[MODEL],
    agents=[MAIN],
    problems=[],
)
LEASE = Hit(
    path="memory/2026-05-08.md",
    start_line=12,
    end_line=14,
    score=0.8249,
    vector_score=0.61,
    text_score=0.42,
    snippet="## Flat\nThe lease ends in June;\n  ask about leasing again.",
    source="memory",
    citation="memory/2026-05-08.md#L12-L14",
)
KEYS = replace(
    LEASE,
    path="MEMORY.md",
    start_line=3,
    end_line=3,
    score=0.5,
    snippet="Keys: with the neighbour.",
    citation="MEMORY.md#L3-L3",
)
FOUND = SearchReply(
    agent="main",
    hits=[LEASE],
    mode="hybrid",
    degraded=None,
    abstained=False,
    took_ms=4.23,
    provider="local",
    model="minilm",
    generation=41,
    pending=PendingChanges(),
)
NOTHING = EmptyResult("no_match", "No relevant results.", "Search with min_score 0 to see the nearest ones.")
BOTH = SearchAgentsReply(
    hits=[replace(LEASE, agent="work"), replace(KEYS, agent="home")],
    agents=[
        SearchedAgent(each, "hybrid", pending=PendingChanges(), provider="local", model="minilm")
        for each in ("work", "home")
    ],
    took_ms=4.23,
)
STORED = MemoryStoreReply("main", "01M8763CXM5GEG02RRWVBE8F9G", True, "fact", "memory/facts.md", 3, "vectors")
GEMMA, MINILM = KNOWN_MODELS[DEFAULT_LOCAL_MODEL], KNOWN_MODELS["minilm"]
GEMMA_NEEDS, MINILM_NEEDS = (
    estimate_model(
        each.file_bytes,
        each.header,
        chunk_tokens=400,
        prompt=prefixes_of(each.header.name).document,
    )
    for each in (GEMMA, MINILM)
)
MODELS = [
    ModelFile(DEFAULT_LOCAL_MODEL, "", GEMMA.file_bytes, [], False, GEMMA_NEEDS.ram_bytes),
    ModelFile("minilm", "", MINILM.file_bytes, ["main", "work"], True, MINILM_NEEDS.ram_bytes),
]
MODEL_INFO = ModelReply(
    DEFAULT_LOCAL_MODEL,
    f"{HOME}/.cache/memd/models/hf_ggml-org_embeddinggemma-300M-GGUF_embeddinggemma-300M-Q8_0.gguf",
    GEMMA.file_bytes,
    info=ModelInfo(
        downloaded=False,
        architecture=GEMMA.header.architecture,
        layers=GEMMA.header.layers,
        dims=GEMMA.header.width,
        vocabulary=GEMMA.header.vocabulary,
        trained_tokens=GEMMA.header.trained_tokens or 0,
        context_tokens=GEMMA_NEEDS.context,
        chunk_tokens=GEMMA_NEEDS.chunk,
        windows=GEMMA_NEEDS.windows,
        ram_bytes=GEMMA_NEEDS.ram_bytes,
        peak_bytes=GEMMA_NEEDS.peak_bytes,
    ),
)
COUNTED = Metric(
    "memd_requests_total",
    "counter",
    "Requests answered, by outcome.",
    [Sample({"method": "search", "code": "ok"}, 812)],
)

SAMPLES: dict[str, tuple[tuple[str, ...], Any]] = {
    "error": (
        ("get", "--agent", "x", "MEMORY.md"),
        AgentUnknownError("there is no agent 'x'", hint="known agents: main, work"),
    ),
    "usage": (("serch",), None),
    "status": (("status",), replace(STATUS, agents=[MAIN, WORK])),
    "status verbose": (("status", "--verbose"), STATUS),
    "search": (("search", "when does the lease end"), FOUND),
    "search nothing": (("search", "zebras"), replace(FOUND, hits=[], abstained=True, empty=NOTHING)),
    "search all": (
        ("search", "--agent", "all", "lease"),
        {"search": AgentUnknownError("there is no agent 'all'"), "search_agents": BOTH},
    ),
    "get": (
        ("get", "memory/2026-05-08.md:13-14"),
        GetReply(
            "main",
            "memory/2026-05-08.md",
            "The lease ends in June;\n  ask about leasing again.\n",
            13,
            2,
            40,
        ),
    ),
    "note": (
        ("note", "--key", "backup-7", "the backup was verified"),
        AppendNoteReply("main", "memory/2026-11-24.md", 7, 7, True),
    ),
    "note again": (
        ("note", "--key", "backup-7", "the backup was verified"),
        AppendNoteReply("main", "memory/2026-11-24.md", 7, 7, False),
    ),
    "facts": (("facts", "add", "Anna lives in Lisbon"), STORED),
    "agents": (("agents",), replace(STATUS, agents=[MAIN, WORK])),
    "index": (("index",), IndexReply([IndexedAgent("main", 54, 1300, 2, 0, 31, 1269, 812.4)])),
    "model": (
        ("model", "list"),
        ModelReply("", f"{HOME}/.cache/memd/models", GEMMA.file_bytes + MINILM.file_bytes, MODELS),
    ),
    "model info": (("model", "info"), MODEL_INFO),
    "metrics": (("metrics",), MetricsReply("0.1.0", 4242, 11_520_000, [], [COUNTED])),
}
"""By name the arguments of each command, and the reply or error of its request, or those of several by request."""


def samples() -> dict[str, str]:
    """Return for each sample the command and what it prints, as in a terminal."""
    found: dict[str, str] = {}
    folder = Path(tempfile.mkdtemp(prefix="memd-", dir="/tmp"))
    try:
        (folder / "state" / "agents" / "main").mkdir(parents=True)
        for name, (arguments, reply) in SAMPLES.items():
            path = folder / f"{len(found)}.sock"
            with _server(path, reply):
                found[name] = f"$ memctl {' '.join(arguments)}\n{_run(arguments, path, folder)}"
    finally:
        shutil.rmtree(folder)
    return found


def _run(arguments: tuple[str, ...], path: Path, folder: Path) -> str:
    """Return what a command prints on both streams."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MEMD_", "OPENCLAW_"))},
        "HOME": str(folder),
        "MEMD_SOCKET": str(path),
        "MEMD_AUTOSTART": "0",
        "OPENCLAW_STATE_DIR": str(folder / "state"),
    }
    command = [sys.executable, "-c", "from memd.cli.main import main; main()", *arguments]
    return subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    ).stdout


@contextmanager
def _server(path: Path, reply: Any) -> Iterator[None]:
    """Serve a socket inside the block: answer `hello`, and every other request with one reply."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        os.chmod(path.parent, 0o700)
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=_serve, args=(listener, reply), daemon=True).start()
        yield
        listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, reply: Any) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            decoder = FrameDecoder()
            with connection:
                while data := connection.recv(65536):
                    for _, number, method, _params in decoder.feed(data):
                        connection.sendall(encode_frame(_answer(number, method, reply)))


def _answer(number: int, method: str, reply: Any) -> list[Any]:
    if method == "hello":
        return [1, number, None, to_wire(HelloReply(1, "0.1.0", 4242, [], {}))]
    reply = reply[method] if isinstance(reply, dict) else reply
    if isinstance(reply, MemdError):
        return [1, number, reply.to_wire(), None]
    return [1, number, None, _moved(to_wire(reply), int(time.time() * 1000) - NOW_MS)]


def _moved(value: Any, by_ms: int) -> Any:
    """Return a value of a reply with its points in time moved."""
    if isinstance(value, list):
        return [_moved(each, by_ms) for each in value]
    if isinstance(value, dict):
        return {
            key: each + by_ms
            if key in ("last_sync_ms", "since_ms") and isinstance(each, int) and each
            else _moved(each, by_ms)
            for key, each in value.items()
        }
    return value


if __name__ == "__main__":
    for text in samples().values():
        print(text)
