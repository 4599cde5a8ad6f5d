"""`memctl search --agent all`: hits with their agent, and how each agent was searched."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from memd.cli.get import split_place
from memd_client.errors import AgentUnknownError, MemoryDisabledError
from memd_client.messages import EmptyResult, Hit, Pending, Problem, SearchAgentsReply, SearchedAgent
from memd_client.wire import to_wire
from tests.unit.cli.stage import KEYS, LEASE, OUTAGE, Ran, found, memctl

UNKNOWN = AgentUnknownError("there is no agent 'all'")

WORK, HOME = replace(LEASE, agent="work"), replace(KEYS, agent="home")

HITS = """\
memory/2026-05-08.md:12-14 --agent work  0.82  memory
  ## Flat
  The lease ends in June;
    ask about leasing again.

MEMORY.md:3-3 --agent home  0.50  memory
  Keys: with the neighbour.

2 hits · 2 agents searched · hybrid · 4.2 ms · local minilm
"""

DIFFERENT = """\
MEMORY.md:3-3 --agent home  0.50  memory
  Keys: with the neighbour.

1 hit · 2 agents searched · 4.2 ms
mode: home: keyword
degraded: home: The embedding provider openai answered 401. (for 3 h, provider_failed)
  try: Correct search.remote.apiKey.
mode: work: hybrid · local minilm
pending: work: 3 chunks still without a vector
error: old: the index is of a newer release (index_newer)
  try: Update memd.
"""


def row(agent: str, **facts: object) -> SearchedAgent:
    """Return how an agent was searched."""
    searched = SearchedAgent(agent, "hybrid", pending=Pending(), provider="local", model="minilm")
    return replace(searched, **facts)  # type: ignore[arg-type]


def replied(*hits: Hit, rows: list[SearchedAgent] | None = None) -> SearchAgentsReply:
    """Return a reply with these hits."""
    return SearchAgentsReply(list(hits), [row("work"), row("home")] if rows is None else rows, 4.23)


def search_all(reply: SearchAgentsReply, *options: str) -> Ran:
    """Search all agents, of which none has the id `all`."""
    return memctl("search", "--agent", "all", *options, "lease", search=UNKNOWN, search_agents=reply)


def test_each_hit_says_its_agent_and_the_last_line_how_many_were_searched() -> None:
    ran = search_all(replied(WORK, HOME))

    assert (ran.code, ran.out, ran.err) == (0, HITS, "")


def test_the_place_of_a_hit_is_what_get_takes() -> None:
    place, option, agent = search_all(replied(WORK)).out.split()[:3]

    assert split_place(place) == (LEASE.path, LEASE.start_line, 3)
    assert (option, agent) == ("--agent", "work")


def test_modes_and_what_is_missing_are_said_by_agent_if_they_differ() -> None:
    newer = Problem("index_newer", "the index is of a newer release", "Update memd.")
    rows = [
        row("home", mode="keyword", degraded=OUTAGE),
        row("work", pending=Pending(0, 3)),
        SearchedAgent("old", error=newer),
    ]

    assert search_all(replied(HOME, rows=rows)).out == DIFFERENT


def test_what_is_missing_from_all_agents_is_said_once_and_names_none() -> None:
    none = EmptyResult("no_match", "No relevant results.", "Search with min_score 0.")
    rows = [row(each, mode="keyword", degraded=OUTAGE, empty=none) for each in ("home", "work")]

    said = search_all(replied(rows=rows)).out.splitlines()

    assert said == [
        "No hits in the memory of any agent.",
        "0 hits · 2 agents searched · keyword · 4.2 ms",
        "no hits: No relevant results.",
        "  try: Search with --min-score 0.",
        "degraded: The embedding provider openai answered 401. (for 3 h, provider_failed)",
        "  try: Correct search.remote.apiKey.",
    ]


def test_an_agent_with_the_id_all_is_the_one_that_is_searched() -> None:
    ran = memctl("search", "--agent", "all", "lease", search=found(LEASE))

    assert [name for name, _ in ran.client.calls] == ["search"]
    assert ran.out == memctl("search", "lease", search=found(LEASE)).out
    assert ran.err == "note: an agent has the id all: it alone was searched\n"


@pytest.mark.parametrize("agent", ["al", "ALL"])
def test_an_agent_that_does_not_exist_is_an_error_and_not_all_agents(agent: str) -> None:
    ran = memctl("search", "--agent", agent, "lease", search=UNKNOWN, search_agents=replied())

    assert (ran.code, [name for name, _ in ran.client.calls]) == (1, ["search"])


def test_memory_that_is_off_is_the_error_of_the_agent_called_all() -> None:
    ran = memctl("search", "--agent", "all", "x", search=MemoryDisabledError("memory search is off"))

    assert ran.code == 1
    assert "memory_disabled" in ran.err


def test_the_other_options_hold_for_all_agents() -> None:
    options = [
        "--max-results",
        "3",
        "--min-score",
        "0.2",
        "--source",
        "memory",
        "--path",
        "memory/",
        "--explain",
    ]

    ran = search_all(replied(), *options)

    name, params = ran.client.calls[-1]
    assert name == "search_agents"
    assert params == {
        "query": "lease",
        "max_results": 3,
        "min_score": 0.2,
        "sources": ["memory"],
        "path": "memory/",
        "explain": True,
    }


def test_json_is_the_reply_field_by_field() -> None:
    reply = replied(WORK, HOME)

    shown = json.loads(search_all(reply, "--json").out)

    assert shown == to_wire(reply)
    assert list(shown["agents"][0]) == [each.name for each in fields(SearchedAgent)]
