"""Retrieval sets: notes, and queries with the locations of their answers.

A set is a folder with `workspace/` (an agent's notes) and `queries.jsonl`, one query per line:
`{"id", "query", "group", "relevant": [{"path", "line"}]}`; `relevant` is empty for queries without an answer.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

SETS = Path(__file__).resolve().parents[1] / "retrieval"


@dataclass(frozen=True)
class RetrievalQuery:
    """One query of a set; `relevant` are (path, line), lines counted from 1."""

    id: str
    query: str
    group: str
    relevant: tuple[tuple[str, int], ...]


def load_queries(name: str) -> list[RetrievalQuery]:
    """Return the queries of a set, after checking that their answers exist."""
    folder = SETS / name
    asked = []
    for text in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        relevant = tuple((each["path"], each["line"]) for each in row["relevant"])
        for path, line in relevant:
            lines = (folder / "workspace" / path).read_text(encoding="utf-8").split("\n")
            assert lines[line - 1].strip(), f"{row['id']}: {path}:{line} is blank"
        asked.append(RetrievalQuery(row["id"], row["query"], row["group"], relevant))
    assert len({each.id for each in asked}) == len(asked)
    return asked


@contextmanager
def serve_set(name: str, search: Mapping[str, Any], others: Sequence[str] = ()) -> Iterator[Client]:
    """Run a daemon over a set's notes, indexed, and yield a client; the notes of other sets come in folders."""
    with StateHome() as home:
        shutil.copytree(SETS / name / "workspace", home.workspace())
        for other in others:
            shutil.copytree(SETS / other / "workspace", home.workspace() / "memory" / other)
        home.configure({"agents": {"defaults": {"memorySearch": dict(search)}}})
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=300) as client:
            client.index()
            yield client


def recall(asked: RetrievalQuery, reply: SearchReply) -> float:
    """Return the share of a query's answers within the lines of hits."""
    seen = [
        any(hit.path == path and hit.start_line <= line <= hit.end_line for hit in reply.hits)
        for path, line in asked.relevant
    ]
    return sum(seen) / len(seen)


def is_first(asked: RetrievalQuery, reply: SearchReply) -> bool:
    """Return whether the first hit contains an answer."""
    return any(
        hit.path == path and hit.start_line <= line <= hit.end_line
        for hit in reply.hits[:1]
        for path, line in asked.relevant
    )
