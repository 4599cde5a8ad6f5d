"""Queries on the sample memory, each with the path of its best hit."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """A query on the sample whose best hit is known."""

    agent: str
    query: str
    path: str


def load_sample_queries() -> list[SampleQuery]:
    """Return queries on the sample, each with the path of its best hit."""
    text = Path(__file__).with_suffix(".json").read_text("utf-8")
    return [SampleQuery(**item) for item in json.loads(text)]
