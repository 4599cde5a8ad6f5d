"""Whether an answer likely used a recalled text: 200 labelled recalls of ten projects, half of them held out.

A recall is a line of `usage/recalls.jsonl`: the texts that were `shown` (the first one is about the prompt), the
`prompt` and the `answer`. `kind` is `used` if the answer uses the first text. Else it `ignores` it, answers from the
`prompt` or the `code`, repeats only `common` words, or states an `other` fact.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from memd.lifecycle.usage.likely_used import find_used
from tests.support.retrieval import SETS

MIN_PRECISION = 0.9
"""Share of the hits called likely used that the answer did use: a wrong count would praise notes that nobody needs."""

MIN_RECALL = {"dev": 0.85, "held-out": 0.75}
"""Share of the used hits that are called likely used; answers in other words are missed."""


def load_recalls(half: str) -> list[dict[str, Any]]:
    """Return the recalls of one half."""
    lines = (SETS / "usage" / "recalls.jsonl").read_text(encoding="utf-8").splitlines()
    return [recall for recall in map(json.loads, lines) if recall["half"] == half]


def judged(recall: dict[str, Any]) -> tuple[int, ...]:
    """Return which texts of a recall are called likely used."""
    return find_used(recall["shown"], recall["prompt"], recall["answer"])


def rates(half: str) -> tuple[float, float]:
    """Return precision and recall over all shown texts of one half."""
    recalls = load_recalls(half)
    marked = [(recall["kind"] == "used" and at == 0) for recall in recalls for at in judged(recall)]
    used = sum(recall["kind"] == "used" for recall in recalls)
    return sum(marked) / len(marked), sum(marked) / used


def test_the_set_has_200_recalls_of_which_half_are_held_out_by_project() -> None:
    halves = {half: load_recalls(half) for half in ("dev", "held-out")}
    projects = {half: {recall["project"] for recall in recalls} for half, recalls in halves.items()}

    assert [len(recalls) for recalls in halves.values()] == [100, 100]
    assert sum(map(len, projects.values())) >= 8
    assert projects["dev"].isdisjoint(projects["held-out"])
    assert len({recall["language"] for recalls in halves.values() for recall in recalls}) >= 4


@pytest.mark.parametrize("half", ["dev", "held-out"])
def test_hits_that_are_called_likely_used_were_used(half: str) -> None:
    precision, recall = rates(half)

    assert precision >= MIN_PRECISION
    assert recall >= MIN_RECALL[half]
