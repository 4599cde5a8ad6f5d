"""Scores of hits fall from the first to the last, whatever stage of the ranking decides their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from memd_client.messages import Hit
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config
from tests.support.transcripts import TranscriptHome, message

SEARCH: dict[str, Any] = {
    "provider": "none",
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watch": False},
}
QUERY = "which port does the staging gateway use"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """Agents with conversations that match better than the notes: one with diversity, one with other weights."""
    with StateHome() as home:
        config = agents_config(home.state, "diverse", "other", memory_search=SEARCH)
        config["agents"]["list"][1]["memorySearch"] = {"query": {"hybrid": {"mmr": {"enabled": True}}}}
        config["agents"]["list"][2]["memorySearch"] = {"query": {"hybrid": {"fusion": "rrf"}}}
        home.configure(config)
        for agent in ("main", "diverse", "other"):
            conversations = TranscriptHome(home.state, agent)
            for number in range(6):
                said = f"the staging gateway does use port {8000 + number}, of {agent}, as you said {number}"
                conversations.write_file(f"s{number}", [message("user", said)])
                word = "storm" if number % 2 else "port"
                text = f"# Day {number}\n\nA {word} day, the gateway of {agent} was {number}.\n"
                home.note(f"memory/2026-05-0{number + 1}.md", text, agent)
        with DaemonProcess(home) as process, process.client() as client:
            client.index()
            yield process


def scores_of(hits: Sequence[Hit]) -> list[float]:
    """Return the scores of hits from several sources."""
    assert {hit.source for hit in hits} == {"memory", "sessions"}
    return [hit.score for hit in hits]


@pytest.mark.parametrize("agent", ["main", "diverse", "other"])
@pytest.mark.parametrize("include_weak", [False, True])
def test_scores_of_one_agent_fall(daemon: DaemonProcess, agent: str, include_weak: bool) -> None:
    with daemon.client() as client:
        hits = client.search(QUERY, agent=agent, max_results=12, include_weak=include_weak).hits
        fewer = client.search(QUERY, agent=agent, max_results=4, include_weak=include_weak).hits

    scores = scores_of(hits)
    assert scores == sorted(scores, reverse=True)
    assert [(hit.path, hit.score) for hit in hits[:4]] == [(hit.path, hit.score) for hit in fewer]


@pytest.mark.parametrize("include_weak", [False, True])
def test_scores_of_several_agents_fall(daemon: DaemonProcess, include_weak: bool) -> None:
    with daemon.client() as client:
        hits = client.search_agents(QUERY, max_results=30, include_weak=include_weak).hits

    assert {hit.agent for hit in hits} == {"main", "diverse", "other"}
    assert scores_of(hits) == sorted(scores_of(hits), reverse=True)


@pytest.mark.parametrize("more", [[], ["--include-weak"]])
@pytest.mark.parametrize("agent", ["main", "all"])
def test_printed_scores_never_rise(daemon: DaemonProcess, agent: str, more: list[str]) -> None:
    printed = daemon.memctl("search", QUERY, "--max-results", "20", "--agent", agent, *more).stdout
    scores = [float(score) for score in re.findall(r"  (?:strong|weak) ([01]\.\d\d)", printed)]

    assert len(scores) > (5 if more else 0)
    assert scores == sorted(scores, reverse=True)


def test_score_step_by_step_is_explained_as_before(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        hits = client.search(QUERY, agent="main", max_results=12, explain=True).hits

    moved = [hit for hit in hits if hit.explain and max(hit.explain["steps"].values()) > hit.score + 0.01]
    assert moved, "the balance of sources moved no hit down"
