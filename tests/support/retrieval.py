"""Sets of questions with known answers: a folder of notes, what is asked of them, and where the answer stands.

A set is a folder with `workspace/` (Markdown as an agent keeps it) and `queries.jsonl`, one question a line:
`{"id", "query", "group", "relevant": [{"path", "line"}]}`; `relevant` is empty where memory holds no answer.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

SETS = Path(__file__).resolve().parents[1] / "retrieval"


@dataclass(frozen=True)
class Asked:
    """One question of a set; `relevant` are (path, line), lines counted from 1."""

    id: str
    query: str
    group: str
    relevant: tuple[tuple[str, int], ...]


def load_set(name: str) -> list[Asked]:
    """Return the questions of a set, having made sure that their answers exist."""
    folder = SETS / name
    asked = []
    for text in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        relevant = tuple((each["path"], each["line"]) for each in row["relevant"])
        for path, line in relevant:
            lines = (folder / "workspace" / path).read_text(encoding="utf-8").split("\n")
            assert lines[line - 1].strip(), f"{row['id']}: {path}:{line} is blank"
        asked.append(Asked(row["id"], row["query"], row["group"], relevant))
    assert len({each.id for each in asked}) == len(asked)
    return asked


@contextmanager
def serving(name: str, search: Mapping[str, Any]) -> Iterator[Client]:
    """Run a daemon over a set's notes, indexed, and yield a client."""
    with StateHome() as home:
        shutil.copytree(SETS / name / "workspace", home.workspace())
        home.configure({"agents": {"defaults": {"memorySearch": dict(search)}}})
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=300) as client:
            client.index()
            yield client


def recall(asked: Asked, reply: SearchReply) -> float:
    """Return the share of a question's answers that lie in a hit's lines."""
    seen = [
        any(hit.path == path and hit.start_line <= line <= hit.end_line for hit in reply.hits)
        for path, line in asked.relevant
    ]
    return sum(seen) / len(seen)


def is_first(asked: Asked, reply: SearchReply) -> bool:
    """Return whether the first hit holds an answer."""
    return any(
        hit.path == path and hit.start_line <= line <= hit.end_line
        for hit in reply.hits[:1]
        for path, line in asked.relevant
    )
