"""What `memctl` prints in the samples of docs/cli.md: each command runs with fixed replies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from msgspec.structs import replace

from memd.embedding.local.estimate import KNOWN_MODELS, estimate_model
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL
from memd.embedding.prefixes import prefixes_of
from memd_client.errors import AgentUnknownError
from memd_client.messages import (
    AppendNoteReply,
    Degradation,
    EmptyResult,
    ForgetPlace,
    ForgetReply,
    ForgetStatement,
    GetReply,
    IndexReply,
    MemoryStoreReply,
    Metric,
    MetricsReply,
    ModelFile,
    ModelInfo,
    ModelReply,
    PendingChanges,
    Sample,
    SearchAgentsReply,
    SearchedAgent,
)
from tests.unit.cli.memctl_runner import KEYS, LEASE, MAIN, NOW_MS, found, indexed, memctl, status_of

HOME = "/home/ann"

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
UNKNOWN = AgentUnknownError("there is no agent 'x'", hint="known agents: main, work")
NOTHING = EmptyResult("no_match", "No relevant results.", "Search with min_score 0 to see the nearest ones.")
BOTH = SearchAgentsReply(
    hits=[replace(LEASE, agent="work"), replace(KEYS, agent="home")],
    agents=[
        SearchedAgent(each, "hybrid", pending=PendingChanges(), provider="local", model="minilm")
        for each in ("work", "home")
    ],
    took_ms=4.23,
)
READ = GetReply(
    "main", "memory/2026-05-08.md", "The lease ends in June;\n  ask about leasing again.\n", 13, 2, 40
)
NOTED = AppendNoteReply("main", "memory/2026-11-24.md", 7, 7, True)
STORED = MemoryStoreReply("main", "01M8763CXM5GEG02RRWVBE8F9G", True, "fact", "memory/facts.md", 3, "vectors")
GEMMA, SMALL = KNOWN_MODELS[DEFAULT_LOCAL_MODEL], KNOWN_MODELS["minilm"]
GEMMA_NEEDS, SMALL_NEEDS = (
    estimate_model(
        each.file_bytes,
        each.header,
        chunk_tokens=400,
        prompt=prefixes_of(each.header.name).document,
    )
    for each in (GEMMA, SMALL)
)
MODELS = [
    ModelFile(DEFAULT_LOCAL_MODEL, "", GEMMA.file_bytes, [], False, GEMMA_NEEDS.ram_bytes),
    ModelFile("minilm", "", SMALL.file_bytes, ["main", "work"], True, SMALL_NEEDS.ram_bytes),
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
        engine="xllamacpp",
        has_gpu=False,
    ),
)
COUNTED = Metric(
    "memd_requests_total",
    "counter",
    "Requests answered, by outcome.",
    [Sample({"method": "search", "code": "ok"}, 812)],
)

FORGETTABLE = ForgetReply(
    "fact",
    [ForgetStatement("Anna lives in Lisbon", "memory/facts.md#L3")],
    [
        ForgetPlace("facts", "main", f"{HOME}/.openclaw/workspace/memory/facts.md", 1),
        ForgetPlace("index", "main", f"{HOME}/.openclaw/memory/main.memd.sqlite", 2),
    ],
    "5c1f0a7be2d94c63",
)

NOTE = ("note", "--key", "backup-7", "the backup was verified")

SAMPLES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "error": (("get", "--agent", "x", "MEMORY.md"), {"get": UNKNOWN}),
    "usage": (("serch",), {}),
    "status": (("status",), {"status": status_of(MAIN, WORK)}),
    "status verbose": (("status", "--verbose"), {"status": status_of(MAIN)}),
    "search": (("search", "when does the lease end"), {"search": found(LEASE)}),
    "search nothing": (("search", "zebras"), {"search": found(abstained=True, empty=NOTHING)}),
    "search all": (
        ("search", "--agent", "all", "lease"),
        {"search": AgentUnknownError("there is no agent 'all'"), "search_agents": BOTH},
    ),
    "get": (("get", "memory/2026-05-08.md:13-14"), {"get": READ}),
    "note": (NOTE, {"append_note": NOTED}),
    "forget": (("forget", "--dry-run", "Anna lives in Lisbon"), {"forget": FORGETTABLE}),
    "note again": (NOTE, {"append_note": replace(NOTED, appended=False)}),
    "facts": (("facts", "add", "Anna lives in Lisbon"), {"memory_store": STORED}),
    "agents": (("agents",), {"status": status_of(MAIN, WORK)}),
    "index": (("index",), {"index": IndexReply([indexed()])}),
    "model": (
        ("model", "list"),
        {"model": ModelReply("", f"{HOME}/.cache/memd/models", GEMMA.file_bytes + SMALL.file_bytes, MODELS)},
    ),
    "model info": (("model", "info"), {"model": MODEL_INFO}),
    "metrics": (("metrics",), {"metrics": MetricsReply("0.1.0", 4242, 11_520_000, [], [COUNTED])}),
}
"""By name the arguments of each command, and the replies or errors of its requests."""


def samples() -> dict[str, str]:
    """Return for each sample the command and what it prints, as in a terminal."""
    shown: dict[str, str] = {}
    for name, (arguments, replies) in SAMPLES.items():
        result = memctl(*arguments, **replies)
        shown[name] = f"$ memctl {' '.join(arguments)}\n{result.out}{result.err}"
    return shown


if __name__ == "__main__":
    for text in samples().values():
        print(text)
