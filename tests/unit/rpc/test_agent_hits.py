"""Hits of several agents: whose scores may be compared, and which hits are one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from memd.rpc.agent_hits import merged_hits
from memd_client.messages import Hit, Pending, SearchReply
from tests.support.memory import FakeAgent


def _hit(path: str, score: float, source: str = "memory") -> Hit:
    """Return a hit."""
    return Hit(path, 1, 3, score, None, None, path, source, path)


def _reply(*hits: Hit, mode: str = "hybrid", space: str = "a") -> SearchReply:
    """Return what an agent's search answered."""
    return SearchReply("", list(hits), mode, None, not hits, 1.0, "p", "m", 1, Pending(), space=space)


A, B = FakeAgent("a"), FakeAgent("b")
LOW = _reply(_hit("a1", 0.5), _hit("a2", 0.4))
HIGH = _hit("b1", 0.9), _hit("b2", 0.8)
BY_SCORE, BY_RANK = ["b1", "b2", "a1", "a2"], ["a1", "b1", "a2", "b2"]


def _paths(first: SearchReply, second: SearchReply, other: FakeAgent = B) -> list[str]:
    """Return the order of the hits of two agents."""
    return [hit.path for hit in merged_hits([(A, first), (other, second)], 10)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (LOW, _reply(*HIGH), BY_SCORE),
        (LOW, _reply(*HIGH, mode="keyword"), BY_RANK),
        (LOW, _reply(*HIGH, space="b"), BY_RANK),
        (replace(LOW, mode="keyword"), _reply(*HIGH, mode="keyword", space="b"), BY_SCORE),
    ],
    ids=["alike", "another mode", "another space", "keywords, whatever the space"],
)
def test_scores_are_compared_only_if_they_were_made_alike(
    first: SearchReply, second: SearchReply, expected: list[str]
) -> None:
    assert _paths(first, second) == expected


def test_scores_of_agents_with_other_hybrid_settings_are_not_compared() -> None:
    other, settings = FakeAgent("b"), B.config.settings
    query = msgspec.structs.replace(
        settings.query, hybrid=msgspec.structs.replace(settings.query.hybrid, fusion="rrf")
    )
    other.config = replace(other.config, settings=msgspec.structs.replace(settings, query=query))

    assert _paths(LOW, _reply(*HIGH), other) == BY_RANK


def test_an_agent_without_hits_does_not_make_the_others_incomparable() -> None:
    searched = [(A, LOW), (FakeAgent("c"), _reply(mode="keyword")), (B, _reply(*HIGH))]

    assert [hit.path for hit in merged_hits(searched, 10)] == BY_SCORE


def test_lines_of_a_file_that_agents_share_leave_their_place_to_the_next_hit() -> None:
    sharing = FakeAgent("b")
    sharing.config = replace(sharing.config, workspace=A.config.workspace)
    same = _reply(_hit("x", 0.9), _hit("y", 0.5))

    hits = merged_hits([(A, same), (sharing, same)], 2)

    assert [(hit.agent, hit.path) for hit in hits] == [("a", "x"), ("a", "y")]


def test_a_transcript_and_an_absolute_path_are_those_of_one_agent_and_of_both() -> None:
    outside = str(Path("/notes/x.md"))
    talk, extra = _hit("sessions/1", 0.9, "sessions"), _hit(outside, 0.5)

    hits = merged_hits([(A, _reply(talk, extra)), (B, _reply(talk, extra))], 10)

    assert [(hit.agent, hit.path) for hit in hits] == [
        ("a", "sessions/1"),
        ("b", "sessions/1"),
        ("a", outside),
    ]
