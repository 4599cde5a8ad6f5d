"""`max_chars` with a real daemon: within the budget, and a larger budget only adds hits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest

from memd_client import Client
from memd_client.errors import BadParamsError
from memd_client.hit_text import NO_STRONG_MATCH, size_of_hit, text_of_row
from memd_client.messages import Hit
from memd_client.tooling import DEFAULT_SEARCH_CHARS
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BUDGETS = (1_000, 2_000, 4_200)
TINY = 160
QUERIES = ("which port does the staging gateway use", "list all restarts of the staging gateway")


def _note(agent: str, day: int) -> str:
    """Return a note with a long and a short section about the gateway."""
    return (
        f"# Day {day}\n\n## Gateway\n\n"
        f"The staging gateway of team {agent} restarted at {day % 24}:15, before the backup of day {day}. "
        f"It then listened on port {4_700 + day} until the evening, when the night shift moved its traffic.\n"
        f"Its log had {day * 7} warnings about certificates, and {day} clients lost their connection.\n\n"
        f"## Lunch\n\nSoup number {day}, and a walk along the river with {agent}.\n"
    )


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Agents main and work, each with thirty notes, searched by keywords."""
    with StateHome() as home:
        home.configure(agents_config(home.state, "work", memory_search={"provider": "none"}))
        for agent in ("main", "work"):
            for day in range(1, 31):
                home.note(f"memory/2026-06-{day:02}.md", _note(agent, day), agent)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            yield client


def _places(hits: list[Hit]) -> list[tuple[str | None, str, str]]:
    return [(hit.agent, hit.citation, hit.snippet) for hit in hits]


def _size(hits: list[Hit]) -> int:
    return sum(map(size_of_hit, hits))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["search", "search_agents"])
def test_larger_budget_only_adds_hits(client: Client, method: str, query: str) -> None:
    found = [getattr(client, method)(query, max_chars=budget).hits for budget in BUDGETS]

    for budget, hits in zip(BUDGETS, found, strict=True):
        assert 0 < _size(hits) <= budget
    for smaller, larger in pairwise(found):
        assert len(larger) > len(smaller)
        assert _places(larger)[: len(smaller)] == _places(smaller)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["search", "search_agents"])
def test_tiny_budget_has_at_least_one_hit(client: Client, method: str, query: str) -> None:
    hits = getattr(client, method)(query, max_chars=TINY).hits

    assert hits
    assert _size(hits) <= TINY


def test_hits_within_a_budget_of_all_agents_are_of_several(client: Client) -> None:
    hits = client.search_agents(QUERIES[0], max_chars=4_200).hits

    assert {hit.agent for hit in hits} == {"main", "work"}


def test_number_limits_hits_in_addition(client: Client) -> None:
    whole, two = (client.search(QUERIES[0], max_chars=4_200, max_results=most).hits for most in (None, 2))

    assert len(two) == 2
    assert _places(two) == _places(whole)[:2]


@pytest.mark.parametrize("max_chars", [0, 100_001])
def test_budget_out_of_its_range_is_refused_with_a_hint(client: Client, max_chars: int) -> None:
    with pytest.raises(BadParamsError, match="`max_chars` must be from 1 to 100000") as refused:
        client.search("gateway", max_chars=max_chars)

    assert refused.value.hint == "pass the characters that all hits together may have, such as 4200"


def test_tool_has_a_default_budget_and_takes_another(client: Client) -> None:
    sizes = []
    for limits in ({}, {"maxChars": 1_000}, {"maxChars": 4_200, "maxResults": 1}):
        arguments = {"query": "port of the staging gateway", "minScore": 0, **limits}
        rows = client.call_tool("memory_search", arguments).result["results"]
        texts = [text_of_row(row) for row in rows]
        sizes.append((len(rows), sum(len("\n".join([*text.head(), text.excerpt])) + 2 for text in texts)))

    assert sizes[0][0] > 6
    assert 1_000 < sizes[0][1] <= DEFAULT_SEARCH_CHARS
    assert 0 < sizes[1][1] <= 1_000
    assert sizes[2][0] == 1
    assert not client.call_tool("memory_search", {"query": "x", "maxChars": 0}).ok


@pytest.mark.parametrize("query", QUERIES)
def test_tool_returns_few_weak_hits_and_introduces_them(client: Client, query: str) -> None:
    result = client.call_tool("memory_search", {"query": query}).result
    everything = client.call_tool("memory_search", {"query": query, "minScore": 0}).result["results"]

    weak = [row for row in result["results"] if row.get("relevance") == "weak"]
    is_weak = len(weak) == len(result["results"])
    assert len(weak) <= (3 if is_weak else 2)
    assert result.get("note") == (NO_STRONG_MATCH if is_weak else None)
    assert len(everything) > 6


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("method", ["search", "search_agents"])
def test_larger_budget_only_adds_hits_to_few_weak_ones(client: Client, method: str, query: str) -> None:
    found = [getattr(client, method)(query, max_chars=most, limit_weak=True).hits for most in (800, 4_200)]

    assert found[0]
    assert _places(found[1])[: len(found[0])] == _places(found[0])


def test_text_of_the_tool_leaves_out_marks_of_strong_hits(client: Client) -> None:
    reply = client.call_tool("memory_search", {"query": QUERIES[0]})

    rows = json.loads(reply.text)["results"]
    fields = {"path", "startLine", "endLine", "score", "snippet", "source"}
    assert all(set(row) - fields <= {"relevance", "supersededBy", "date", "heading"} for row in rows)
    assert all(row.get("relevance", "weak") == "weak" for row in rows)
