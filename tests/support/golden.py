"""Golden hits: recorded results of the retrieval sets, in every mode and by every vector search path.

A file `tests/golden/<set>-<mode>.jsonl` has a header line, then one line per query:
`[id, mode, abstained, ["path:start-end score", ...]]`: ids, locations and numbers, but no text of the sets.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from memd.text.query.days.find import find_days
from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = TESTS / "golden"
SETS = TESTS / "retrieval"
EVAL = Path(os.environ.get("MEMD_EVAL") or TESTS.parents[1] / "shared" / "eval")
"""The folder named by MEMD_EVAL, else the one next to the repository."""

MODES = ("keyword", "hybrid", "vector")
VECTOR_PATHS = {"memory": 512, "sqlite-vec": 0, "scan": 0}
"""Each vector search path, with the RAM budget in MB that selects it."""

HITS = 6
"""Recorded hits per query: the default number of results."""

PROBE = "a sentence whose vector identifies the model and the processor"
OTHER_DAYS = (date(2026, 11, 25), date(2027, 3, 10))


@dataclass(frozen=True)
class GoldenQuery:
    """One query of a set."""

    id: str
    agent: str
    text: str


@dataclass(frozen=True)
class GoldenSet:
    """A set of queries, and the folders with its agents' notes."""

    name: str
    notes: dict[str, Path]
    queries: tuple[GoldenQuery, ...]


def repository_sets() -> list[GoldenSet]:
    """Return the sets in the repository."""
    return [
        GoldenSet(name, {name: SETS / name / "workspace"}, tuple(_queries(SETS / name, name)))
        for name in ("abstention", "multilingual", "technical")
    ]


def eval_set() -> GoldenSet | None:
    """Return the evaluation set, one agent per conversation; None if it is not on this machine."""
    folders = sorted(path.parent for path in EVAL.glob("*/queries.jsonl"))
    if not folders:
        return None
    queries = [query for folder in folders for query in _queries(folder, folder.name)]
    return GoldenSet("eval", {folder.name: folder for folder in folders}, tuple(queries))


def _queries(folder: Path, agent: str) -> Iterator[GoldenQuery]:
    """Yield the queries of a folder, except those whose meaning depends on today's date."""
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        first, second = (find_days(row["query"], today) for today in OTHER_DAYS)
        if first == second:
            yield GoldenQuery(row["id"], agent, row["query"])


@contextmanager
def golden_home(golden: GoldenSet) -> Iterator[StateHome]:
    """Copy the notes of a set into one workspace per agent."""
    with StateHome() as home:
        for agent, folder in golden.notes.items():
            shutil.copytree(folder, home.state / agent, ignore=shutil.ignore_patterns("*.jsonl"))
        yield home


ATTEMPTS = 4
"""Attempts per query with a different result: on a busy machine the line check may time out, which skips abstention.
The next attempt has the lines' vectors."""


def run_set(
    home: StateHome, golden: GoldenSet, mode: str, path: str, recorded: Sequence[str]
) -> tuple[str, list[str]]:
    """Search all queries of a set, those with a different result several times."""
    home.configure(_settings(home, golden, mode, path))
    (home.root / "memd.toml").write_text(f"vector_ram_mb = {VECTOR_PATHS[path]}\n")
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=900) as client:
        if mode != "keyword":
            client.model("minilm")
        client.index()
        probe = ""
        if mode != "keyword":
            probe = hashlib.sha256(client.embed([PROBE], agent=golden.queries[0].agent).vectors).hexdigest()
            for agent in client.status().agents:
                if agent.agent in golden.notes:
                    assert agent.vector_path == path, f"{agent.agent}: {agent.vector_path}, not {path}"
        known = set(recorded)
        return probe, [_settled_line(client, query, mode, known) for query in golden.queries]


def _settled_line(client: Client, query: GoldenQuery, mode: str, recorded: Collection[str]) -> str:
    """Return the result of a query; the recorded one if it occurs within `ATTEMPTS`."""
    line = ""
    for _ in range(ATTEMPTS):
        line = _line(client, query, mode)
        if line in recorded:
            break
    return line


def _settings(home: StateHome, golden: GoldenSet, mode: str, path: str) -> dict[str, Any]:
    search: dict[str, Any] = {"provider": "none"}
    if mode != "keyword":
        search = {"provider": "local", "local": {"modelPath": "minilm"}}
        search["query"] = {"hybrid": {"enabled": mode == "hybrid"}}
        search["store"] = {"vector": {"enabled": path != "scan"}}
    agents = [{"id": agent, "workspace": str(home.state / agent)} for agent in golden.notes]
    return {"agents": {"defaults": {"memorySearch": search}, "list": agents}}


def _line(client: Client, query: GoldenQuery, mode: str) -> str:
    reply = client.search(query.text, agent=query.agent, max_results=HITS)
    assert reply.mode == mode, f"{query.id}: {reply.mode}, {reply.degraded}"
    return as_line(query.id, reply)


def as_line(query_id: str, reply: SearchReply) -> str:
    """Return a reply as a line of a golden file."""
    hits = [f"{hit.path}:{hit.start_line}-{hit.end_line} {hit.score:.6f}" for hit in reply.hits]
    return json.dumps([query_id, reply.mode, reply.abstained, hits], ensure_ascii=False)


def golden_file(golden: GoldenSet, mode: str) -> Path:
    """Return the path of the recorded results of a set in a mode."""
    return GOLDEN / f"{golden.name}-{mode}.jsonl"


def read_golden(golden: GoldenSet, mode: str) -> tuple[str, list[str]]:
    """Return the recorded probe and lines of a set in a mode."""
    if not golden_file(golden, mode).exists():
        return "", []
    header, *lines = golden_file(golden, mode).read_text(encoding="utf-8").splitlines()
    return str(json.loads(header)["probe"]), lines


def write_golden(golden: GoldenSet, mode: str, probe: str, lines: Sequence[str]) -> None:
    """Record the results of a set in a mode."""
    header = json.dumps({"set": golden.name, "mode": mode, "queries": len(lines), "probe": probe})
    GOLDEN.mkdir(exist_ok=True)
    golden_file(golden, mode).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


def differences(recorded: Sequence[str], answered: Sequence[str]) -> list[str]:
    """Return the recorded and the current line of each query that differs."""
    old = {json.loads(line)[0]: line for line in recorded}
    new = {json.loads(line)[0]: line for line in answered}
    both = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [f"- {old.get(key)}\n+ {new.get(key)}" for key in both]
