"""`memctl search`: hits of one agent and of all agents, notices, and highlighted words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memd.cli.search import marked_lines
from memd_client.errors import AgentUnknownError, MemoryDisabledError
from memd_client.locations import split_location
from memd_client.messages import (
    EmptyResult,
    Fallback,
    FillProgress,
    Hit,
    PendingChanges,
    Problem,
    SearchAgentsReply,
    SearchedAgent,
    SearchReply,
    Supersession,
)
from memd_client.schema import to_wire
from tests.unit.cli.memctl_runner import KEYS, LEASE, NOW_MS, OUTAGE, MemctlResult, found, memctl

HITS = """\
memory/2026-05-08.md#L12-L14  strong 0.82
  ## Flat
  The lease ends in June;
    ask about leasing again.

MEMORY.md#L3-L3  strong 0.50
  Keys: with the neighbour.

2 hits · hybrid · 4.2 ms · local minilm
"""

DEGRADED = """\
MEMORY.md#L3-L3  strong 0.50
  Keys: with the neighbour.

1 hit · keyword · 4.2 ms
degraded: The embedding provider openai answered 401. (for 3 h, provider_failed)
  hint: Correct search.endpoint.apiKey.
partial: the deadline ended the search early
pending: 1 changed file not indexed yet
"""

EXPLAINED = """\
MEMORY.md#L3-L3  strong 0.50
  Keys: with the neighbour.
  because: it holds keys; not vault
           number 2 by words (BM25 4.10), number 1 by meaning (cosine 0.61)
           together 0.842

memory/2026-05-08.md#L12-L14  strong 0.82
  ## Flat
  The lease ends in June;
    ask about leasing again.
  because: it holds none of the words

2 hits · hybrid · 4.2 ms · local minilm
timings: keywords 1.2 ms · vectors 34 ms
"""

WHY = {
    "reasons": [
        "it holds keys; not vault",
        "number 2 by words (BM25 4.10), number 1 by meaning (cosine 0.61)",
        "together 0.842",
    ],
    "words": [
        {"word": "keys", "matched": True, "chunks": 3, "weight": 5.917},
        {"word": "vault", "matched": False, "chunks": 9, "weight": 4.921},
    ],
    "exact": [],
    "cosine": 0.61,
    "bm25": 4.1,
    "steps": {"fused": 0.842},
    "chunk_lines": [3, 4],
}
"""An explanation in a reply of the daemon."""


def test_hits_are_shown_with_location_score_source_and_snippet() -> None:
    ran = memctl("search", "lease", search=found(LEASE, KEYS))

    assert (ran.code, ran.out, ran.err) == (0, HITS, "")


def test_degraded_reply_shows_reason_and_hint() -> None:
    reply = found(KEYS, mode="keyword", degraded=OUTAGE, partial=True, pending=PendingChanges(1, 3))

    assert memctl("search", "keys", search=reply).out == DEGRADED


LATER = Supersession("memory/2026-06-02.md", 4, 4, "memory/2026-06-02.md#L4", "2026-06-02", "2026-05-08")

MARKED = """\
No strong match. Weakly related:

MEMORY.md#L3-L3  weak 0.50
superseded by memory/2026-06-02.md#L4 (2026-06-02)
  Keys: with the neighbour.

1 hit · hybrid · 4.2 ms · local minilm
"""


def test_weak_and_superseded_hits_are_marked() -> None:
    reply = found(replace(KEYS, relevance="weak", superseded_by=LATER))

    assert memctl("search", "keys", search=reply).out == MARKED


def test_json_has_relevance_and_the_later_statement() -> None:
    reply = found(KEYS, replace(KEYS, relevance="weak", superseded_by=LATER))

    strong, weak = json.loads(memctl("search", "--json", "keys", search=reply).out)["hits"]

    assert (strong["relevance"], strong["superseded_by"]) == ("strong", None)
    assert weak["relevance"] == "weak"
    assert (weak["superseded_by"]["citation"], weak["superseded_by"]["date"]) == (LATER.citation, LATER.date)


FALLBACK = Fallback("openai", "provider_quota_exhausted", "429 insufficient_quota", NOW_MS - 3 * 3_600_000)
FILLING = FillProgress(
    "gemini", "models/gemini-embedding-001", "0123456789abcdef", 812, 4210, 30.0, 1_243_000
)


def test_fallback_shows_both_providers() -> None:
    ran = memctl("search", "keys", search=found(KEYS, fallback=FALLBACK, filling=FILLING))

    assert ran.out.splitlines()[3:] == [
        "1 hit · hybrid · 4.2 ms · local minilm",
        "fallback: using local minilm instead of openai: 429 insufficient_quota (for 3 h, provider_quota_exhausted)",
        "filling: gemini gemini-embedding-001, 812 of 4,210 texts (19 %), about 30 s and 1,240,000 tokens to go; "
        "searches use local minilm until then",
    ]


def test_keyword_mode_names_no_provider() -> None:
    reply = found(KEYS, mode="keyword", fallback=FALLBACK, filling=FILLING)

    said = memctl("search", "keys", search=reply).out.splitlines()[3:]

    assert said[0] == "1 hit · keyword · 4.2 ms"
    assert said[1].startswith("fallback: keyword search only instead of openai: ")
    assert said[2].endswith("; keyword search only until then")


def test_explain_shows_reasons_below_each_hit_and_timings_at_the_end() -> None:
    hits = [replace(KEYS, explain=WHY), replace(LEASE, explain={"reasons": ["it holds none of the words"]})]
    reply = found(*hits, timings={"keyword_ms": 1.2, "vector_ms": 34.1})

    ran = memctl("search", "--explain", "keys vault", search=reply)

    assert ran.out == EXPLAINED
    assert ran.client.calls[0][1]["explain"] is True


@pytest.mark.parametrize("why", [None, {}, {"reasons": []}])
def test_hit_without_reasons_shows_none(why: dict[str, Any] | None) -> None:
    ran = memctl("search", "--explain", "keys", search=found(replace(KEYS, explain=why)))

    assert ran.out == memctl("search", "keys", search=found(KEYS)).out


def test_reasons_on_a_terminal_are_dim_and_wrapped() -> None:
    reply = found(replace(KEYS, explain=WHY))

    ran = memctl("search", "--explain", "zebra", search=reply, terminal=True, colour=True, width=52)

    assert ran.out.splitlines()[2:6] == [
        "\x1b[2m  because: \x1b[0m\x1b[2mit holds keys; not vault\x1b[0m",
        "           \x1b[2mnumber 2 by words (BM25 4.10), number 1\x1b[0m",
        "           \x1b[2mby meaning (cosine 0.61)\x1b[0m",
        "           \x1b[2mtogether 0.842\x1b[0m",
    ]


def test_control_characters_in_a_reason_are_escaped() -> None:
    reply = found(replace(KEYS, explain={"reasons": ["it holds \x1b[2J\nkeys"]}))

    ran = memctl("search", "--explain", "zebra", search=reply, terminal=True, colour=False)

    assert ran.out.splitlines()[2] == "  because: it holds \\x1b[2J\\x0akeys"


FOUND_BY = "0 hits · hybrid · 4.2 ms · local minilm\n"


def test_search_without_hits_shows_reason_and_hint() -> None:
    reason = EmptyResult("no_match", "No relevant results.", "Search with min_score 0.")

    ran = memctl("search", "zebra", search=found(abstained=True, empty=reason))

    said = "No relevant results.\n  hint: Search with --min-score 0.\n"
    assert (ran.code, ran.out, ran.err) == (0, said + FOUND_BY, "")


def test_search_without_hits_from_an_older_daemon_shows_no_relevant_results() -> None:
    ran = memctl("search", "zebra", search=found(abstained=True))

    assert (ran.code, ran.out) == (0, f"No relevant results.\n{FOUND_BY}")


def test_hint_after_an_abstention_is_a_valid_option() -> None:
    ran = memctl("search", "--min-score", "0", "zebra", search=found(KEYS))

    assert (ran.code, ran.client.calls[0][1]["min_score"]) == (0, 0.0)


def test_every_option_is_sent_to_the_daemon() -> None:
    ran = memctl(
        *("search", "when", "does", "it end", "--agent", "main", "--max-results", "3", "--min-score", "0.2"),
        *("--source", "memory", "--source", "sessions", "--path", "memory/2026-"),
        *("--kind", "notes", "--kind", "conversations"),
        *("--origin", "user,agent", "--origin", "outside"),
        *("--max-chars", "900", "--include-weak"),
        search=found(),
    )

    assert ran.client.calls == [
        (
            "search",
            {
                "query": "when does it end",
                "agent": "main",
                "max_results": 3,
                "max_chars": 900,
                "include_weak": True,
                "min_score": 0.2,
                "sources": ["memory", "sessions"],
                "kinds": ["notes", "conversations"],
                "origins": ["user", "agent", "outside"],
                "path": "memory/2026-",
                "project": None,
                "since": None,
                "explain": False,
                "limit_weak": True,
            },
        )
    ]


def test_omitted_options_use_the_agents_settings() -> None:
    params = memctl("search", "lease", search=found()).client.calls[0][1]

    assert [params[name] for name in ("agent", "max_results", "max_chars", "sources", "path")] == [None] * 5
    assert params["min_score"] is None
    assert params["include_weak"] is False


@pytest.mark.parametrize(
    "wrong",
    [
        ["search"],
        ["search", "a", "--max-results", "0"],
        ["search", "a", "--max-chars", "0"],
        ["search", "a", "--max-chars", "100001"],
        ["search", "a", "--min-score", "2"],
        ["search", "a", "--source", "w" * 41],
        ["search", "a", "--unknown"],
        ["search", "not utf-8: \udcff"],
    ],
)
def test_invalid_arguments_exit_with_2_without_a_request(wrong: list[str]) -> None:
    ran = memctl(*wrong, search=found())

    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert ran.err.endswith("  hint: run `memctl search --help`\n  code: usage\n")
    assert (ran.out, ran.client.calls) == ("", [])


def test_json_has_all_fields_of_the_reply() -> None:
    reply = found(LEASE, replace(KEYS, explain=WHY), degraded=OUTAGE, timings={"scan_ms": 1.5})

    ran = memctl("search", "--json", "--explain", "lease", search=reply)

    shown = json.loads(ran.out)
    assert ran.out.count("\n") == 1
    assert shown == to_wire(reply)
    assert list(shown) == list(SearchReply.__struct_fields__)
    assert list(shown["hits"][0]) == list(Hit.__struct_fields__)
    assert (shown["hits"][0]["explain"], shown["hits"][1]["explain"]) == (None, WHY)


def test_json_replaces_text_and_numbers_that_json_lacks() -> None:
    hit = replace(KEYS, path="memory/\udcff.md", snippet="\x1b[2J 重跑\x85", score=float("nan"))

    ran = memctl("search", "--json", "keys", search=found(hit))

    assert ran.out.isascii()
    shown = json.loads(ran.out)["hits"][0]
    assert (shown["path"], shown["snippet"], shown["score"]) == (hit.path, hit.snippet, None)


def test_control_characters_in_a_hit_are_escaped() -> None:
    hit = replace(
        KEYS, citation="memory/a\nb.md#L3", snippet="\x1b[2Jgone\x07\udcff\u202eabc\r\nnext\tline\r\n"
    )

    for terminal in (False, True):
        ran = memctl("search", "zebra", search=found(hit), terminal=terminal, colour=False)
        lines = ran.out.splitlines()
        assert lines[0] == "memory/a\\x0ab.md#L3  strong 0.50"
        assert lines[1] == "  \\x1b[2Jgone\\x07\\udcff\\u202eabc"
        assert lines[2].split() == ["next", "line"]


def test_matched_terms_are_highlighted() -> None:
    hit = replace(LEASE, spans=[[12, 17], [44, 51]])

    ran = memctl("search", "when is the leasing", search=found(hit), terminal=True, colour=True)

    assert "The \x1b[1;33mlease\x1b[0m ends" in ran.out
    assert "about \x1b[1;33mleasing\x1b[0m again" in ran.out
    assert ran.out.count("\x1b[1;33m") == 2


def test_long_snippet_is_wrapped_at_its_indent() -> None:
    hit = replace(KEYS, snippet="word " * 40)

    ran = memctl("search", "zebra", search=found(hit), terminal=True, colour=False, width=40)

    wrapped = ran.out.splitlines()[1:-2]
    assert len(wrapped) > 3
    assert all(line.startswith("  word") and len(line) <= 40 for line in wrapped)


UNKNOWN = AgentUnknownError("there is no agent 'all'")

WORK, HOME = replace(LEASE, agent="work"), replace(KEYS, agent="home")

HITS_OF_ALL = """\
memory/2026-05-08.md#L12-L14  agent work  strong 0.82
  ## Flat
  The lease ends in June;
    ask about leasing again.

MEMORY.md#L3-L3  agent home  strong 0.50
  Keys: with the neighbour.

2 hits · 2 agents searched · hybrid · 4.2 ms · local minilm
"""

DIFFERENT_MODES = """\
MEMORY.md#L3-L3  agent home  strong 0.50
  Keys: with the neighbour.

1 hit · 2 agents searched · 4.2 ms
mode: home: keyword
degraded: home: The embedding provider openai answered 401. (for 3 h, provider_failed)
  hint: Correct search.endpoint.apiKey.
mode: work: hybrid · local minilm
pending: work: 3 chunks without a vector yet
error: old: the index is of a newer release (index_newer)
  hint: Update memd.
"""


def row(agent: str, **facts: object) -> SearchedAgent:
    """Return the row of one searched agent."""
    searched = SearchedAgent(agent, "hybrid", pending=PendingChanges(), provider="local", model="minilm")
    return replace(searched, **facts)


def replied(*hits: Hit, rows: list[SearchedAgent] | None = None) -> SearchAgentsReply:
    """Return a reply with these hits."""
    return SearchAgentsReply(list(hits), [row("work"), row("home")] if rows is None else rows, 4.23)


def search_all(reply: SearchAgentsReply, *options: str) -> MemctlResult:
    """Search all agents; none has the id `all`."""
    return memctl("search", "--agent", "all", *options, "lease", search=UNKNOWN, search_agents=reply)


def test_search_of_all_agents_shows_agent_of_each_hit_and_number_of_agents() -> None:
    ran = search_all(replied(WORK, HOME))

    assert (ran.code, ran.out, ran.err) == (0, HITS_OF_ALL, "")


def test_location_of_a_hit_is_valid_for_get() -> None:
    place, option, agent = search_all(replied(WORK)).out.split()[:3]

    assert split_location(place) == (LEASE.path, LEASE.start_line, 3)
    assert (option, agent) == ("agent", "work")


def test_different_modes_and_notices_are_shown_by_agent() -> None:
    newer = Problem("index_newer", "the index is of a newer release", "Update memd.")
    rows = [
        row("home", mode="keyword", degraded=OUTAGE),
        row("work", pending=PendingChanges(0, 3)),
        SearchedAgent("old", error=newer),
    ]

    assert search_all(replied(HOME, rows=rows)).out == DIFFERENT_MODES


def test_common_notice_is_shown_once_without_agents() -> None:
    none = EmptyResult("no_match", "No relevant results.", "Search with min_score 0.")
    rows = [row(each, mode="keyword", degraded=OUTAGE, empty=none) for each in ("home", "work")]

    said = search_all(replied(rows=rows)).out.splitlines()

    assert said == [
        "No relevant results.",
        "0 hits · 2 agents searched · keyword · 4.2 ms",
        "no hits: No relevant results.",
        "  hint: Search with --min-score 0.",
        "degraded: The embedding provider openai answered 401. (for 3 h, provider_failed)",
        "  hint: Correct search.endpoint.apiKey.",
    ]


def test_agent_with_the_id_all_is_searched_alone() -> None:
    ran = memctl("search", "--agent", "all", "lease", search=found(LEASE))

    assert [name for name, _ in ran.client.calls] == ["search"]
    assert ran.out == memctl("search", "lease", search=found(LEASE)).out
    assert ran.err == "note: searched only the agent with the id all\n"


@pytest.mark.parametrize("agent", ["al", "ALL"])
def test_unknown_agent_is_an_error(agent: str) -> None:
    ran = memctl("search", "--agent", agent, "lease", search=UNKNOWN, search_agents=replied())

    assert (ran.code, [name for name, _ in ran.client.calls]) == (1, ["search"])


def test_disabled_memory_of_an_agent_with_the_id_all_is_an_error() -> None:
    ran = memctl("search", "--agent", "all", "x", search=MemoryDisabledError("memory search is off"))

    assert ran.code == 1
    assert "memory_disabled" in ran.err


def test_options_apply_to_a_search_of_all_agents() -> None:
    line = "--max-results 3 --max-chars 2000 --include-weak --min-score 0.2 --source memory --kind notes --path memory/"
    options = [*line.split(), *"--origin user --project shop --since 7d --explain".split()]

    ran = search_all(replied(), *options)

    name, params = ran.client.calls[-1]
    assert name == "search_agents"
    assert params == {
        "query": "lease",
        "max_results": 3,
        "max_chars": 2_000,
        "include_weak": True,
        "min_score": 0.2,
        "sources": ["memory"],
        "kinds": ["notes"],
        "origins": ["user"],
        "path": "memory/",
        "project": "shop",
        "since": "7d",
        "explain": True,
        "limit_weak": True,
    }


def test_json_of_all_agents_has_all_fields_of_the_reply() -> None:
    reply = replied(WORK, HOME)

    shown = json.loads(search_all(reply, "--json").out)

    assert shown == to_wire(reply)
    assert list(shown["agents"][0]) == list(SearchedAgent.__struct_fields__)


def test_highlighted_lines_are_those_of_the_snippet_without_blank_lines_around() -> None:
    hit = replace(KEYS, snippet="\n## Keys \r\nby the door\n\n", spans=[[4, 8], [18, 22]])

    assert list(marked_lines(hit)) == [("## ", ("Keys", "match")), ("by the ", ("door", "match"))]


SPAN = st.lists(st.integers(-5, 40), min_size=2, max_size=2)


@given(st.text(), st.lists(SPAN))
def test_highlighting_changes_no_character(text: str, spans: list[list[int]]) -> None:
    plain, marked = (list(marked_lines(replace(KEYS, snippet=text, spans=each))) for each in ([], spans))

    assert ["".join(each if isinstance(each, str) else each[0] for each in line) for line in marked] == [
        "".join(map(str, line)) for line in plain
    ]
