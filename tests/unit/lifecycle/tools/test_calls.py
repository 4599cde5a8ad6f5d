"""A model's call gets an answer of OpenClaw's shape, or one it can correct itself by; never an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memd.lifecycle.tools.definitions import TOOLS
from memd.lifecycle.tools.tools import MAX_TEXT_CHARS, Tools, as_json
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.schema import QuerySettings
from memd_client.messages import Degradation, Fallback, SearchParams, Supersession
from memd_client.tooling import DEFAULT_SEARCH_CHARS, MAX_SEARCH_CHARS, CallToolParams, CallToolReply
from tests.support.agents import BlockingAgent
from tests.unit.lifecycle.scripted_agent import AnsweringAgent, found, hit

MAX_HIT_OVERHEAD_CHARS = 300
GROUP = "agent:main:telegram:group:-100"


def _call(host: BlockingAgent, name: str, arguments: Any, **params: Any) -> CallToolReply:
    return host.run(Tools(host.agent).call, CallToolParams(name, arguments, **params))


def _answer(agent: AnsweringAgent, **params: Any) -> CallToolReply:
    """Return the answer to a search whose reply is scripted."""
    asked = CallToolParams("memory_search", {"query": "api"}, **params)
    return trio.run(Tools(agent).call, asked)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[BlockingAgent]:
    with BlockingAgent(tmp_path) as host:
        yield host


@pytest.fixture
def scripted(tmp_path: Path) -> AnsweringAgent:
    return AnsweringAgent(tmp_path)


# --- search -----------------------------------------------------------------------------------------


def test_a_search_answers_in_openclaws_shape(scripted: AnsweringAgent) -> None:
    scripted.reply = found(hit("We chose REST.\n"))

    reply = _answer(scripted, session_key=GROUP)

    assert reply.ok
    assert reply.result == {
        "results": [
            {
                "path": "memory/2026-01-16.md",
                "startLine": 3,
                "endLine": 9,
                "score": 0.8124,
                "snippet": "We chose REST.",
                "source": "memory",
            }
        ],
        "provider": "local",
        "model": "minilm",
        "fallback": None,
        "mode": "hybrid",
        "citations": "off",
    }
    assert json.loads(reply.text) == reply.result


def test_a_search_answers_with_what_the_memory_found(host: BlockingAgent) -> None:
    host.note("memory/2026-01-16.md", "# API\n\nWe chose REST.\n")

    result = _call(host, "memory_search", {"query": "REST"}).result

    [row] = result["results"]
    assert (row["path"], row["startLine"], row["source"]) == ("memory/2026-01-16.md", 1, "memory")
    assert "We chose REST." in row["snippet"]
    assert (result["provider"], result["mode"]) == ("none", "keyword")


def test_search_gets_the_arguments_and_parameters_of_its_call(host: BlockingAgent) -> None:
    arguments = {"query": "x", "maxResults": 3, "maxChars": 900, "minScore": 0.2}
    _call(host, "memory_search", arguments, deadline_ms=500, active_projects=["a"], session_key=GROUP)
    _call(host, "memory_search", {"query": "x"})

    assert host.agent.searched == [
        SearchParams(
            "x",
            max_results=3,
            max_chars=900,
            min_score=0.2,
            deadline_ms=500,
            active_projects=["a"],
            exclude_session=GROUP,
            limit_weak=True,
        ),
        SearchParams("x", max_chars=DEFAULT_SEARCH_CHARS, limit_weak=True),
    ]


def test_number_of_hits_in_the_settings_limits_a_search_only_if_the_user_set_it(host: BlockingAgent) -> None:
    for query in (QuerySettings(max_results=4), QuerySettings(max_results=4, max_results_set=True)):
        host.use(query=query)
        _call(host, "memory_search", {"query": "x"})

    assert [params.max_results for params in host.agent.searched] == [None, 4]


def test_weak_and_superseded_excerpts_are_marked(scripted: AnsweringAgent) -> None:
    later = Supersession(
        "memory/2026-02-01.md", 4, 6, "memory/2026-02-01.md#L4-L6", "2026-02-01", "2026-01-16"
    )
    scripted.reply = found(replace(hit("We chose REST.\n"), relevance="weak", superseded_by=later))

    row = _answer(scripted).result["results"][0]

    assert row["relevance"] == "weak"
    assert row["supersededBy"] == "memory/2026-02-01.md#L4-L6 (2026-02-01)"


def test_limits_in_the_definition_are_those_of_the_client_package() -> None:
    limits = TOOLS["memory_search"].properties["maxChars"]

    assert limits["maximum"] == MAX_SEARCH_CHARS
    assert f"; {DEFAULT_SEARCH_CHARS} if left out" in limits["description"]


@pytest.mark.parametrize(
    ("corpus", "sources"), [("memory", ["memory"]), ("sessions", ["sessions"]), ("all", None), (None, None)]
)
def test_a_corpus_names_the_sources_that_are_searched(
    host: BlockingAgent, corpus: str | None, sources: list[str] | None
) -> None:
    host.use(sources=("memory", "sessions"))

    assert _call(host, "memory_search", {"query": "x", "corpus": corpus}).ok

    assert host.agent.searched[0].sources == sources


@pytest.mark.parametrize("corpus", ["sessions", "wiki"])
def test_a_corpus_that_is_not_there_is_not_searched_and_said_so(host: BlockingAgent, corpus: str) -> None:
    reply = _call(host, "memory_search", {"query": "x", "corpus": corpus})

    assert reply.ok
    assert reply.result["results"] == []
    assert reply.result["warning"]
    assert host.agent.searched == []


def test_an_unknown_corpus_is_answered_with_the_valid_ones(host: BlockingAgent) -> None:
    reply = _call(host, "memory_search", {"query": "x", "corpus": "web"})

    assert not reply.ok
    assert "one of memory, sessions, wiki, all" in reply.result["error"]


def test_a_wiki_page_is_not_found_in_the_notes(host: BlockingAgent) -> None:
    host.note("memory/x.md", "a note")

    assert (
        _call(host, "memory_get", {"path": "memory/x.md", "corpus": "wiki"}).result["status"] == "not_found"
    )
    assert "status" not in _call(host, "memory_get", {"path": "memory/x.md", "corpus": "all"}).result


def test_what_is_less_than_the_whole_is_said(scripted: AnsweringAgent) -> None:
    scripted.reply = found(
        degraded=Degradation("provider_unreachable", "no route", 5, "check the network"),
        fallback=Fallback("openai", "provider_auth", "the key was refused", 5),
    )

    result = _answer(scripted).result

    assert result["degraded"] == {
        "code": "provider_unreachable",
        "reason": "no route",
        "hint": "check the network",
    }
    assert result["fallback"] == {"from": "openai", "reason": "the key was refused"}
    assert result["abstained"] is True
    assert result["results"] == []


@pytest.mark.parametrize(
    ("mode", "session", "cited"),
    [
        ("auto", "agent:main:main", True),
        ("auto", "agent:main:whatsapp:direct:+49", True),
        ("auto", GROUP, False),
        ("auto", "agent:main:discord:channel:7", False),
        ("on", GROUP, True),
        ("off", "agent:main:main", False),
    ],
)
def test_citations_follow_the_settings_and_the_session(
    host: BlockingAgent, mode: Any, session: str, cited: bool
) -> None:
    host.use(life=LifecycleSettings(citations=mode))
    host.note("MEMORY.md", "We chose REST.")

    result = _call(host, "memory_search", {"query": "REST"}, session_key=session).result

    assert result["citations"] == ("on" if cited else "off")
    assert len(result["results"]) == 1


@pytest.mark.parametrize("citations", ["on", "off"])
@pytest.mark.parametrize("path", ["MEMORY.md", f"memory/{'long-name/' * 17}x.md"])
def test_a_hit_takes_at_most_300_characters_without_its_snippet(
    tmp_path: Path, citations: Any, path: str
) -> None:
    agent = AnsweringAgent(tmp_path, LifecycleSettings(citations=citations))
    snippet = "The staging gateway listens on port 8443."
    hits = [hit(snippet, path, first, first + 12) for first in range(123_400, 123_500, 10)]
    agent.reply = found(*hits)
    rest = len(_answer(agent).text)
    agent.reply = found()

    rest -= len(_answer(agent).text) + len(hits) * len(snippet)

    assert rest / len(hits) <= MAX_HIT_OVERHEAD_CHARS
    assert len(path) in (9, 181)


def test_a_search_without_hits_says_why(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "We chose REST.")

    result = _call(host, "memory_search", {"query": "zeppelin"}).result

    assert result["results"] == []
    assert result["reason"] == (
        "No relevant results. Search for other words, or with minScore 0 for weaker matches."
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_snippet_stays_data_and_shows_what_it_holds(snippet: str) -> None:
    text = as_json({"snippet": snippet})

    assert json.loads(text) == {"snippet": snippet}
    assert not set(text) & set("\0\x1b\x7f\x85\u200b\u200e\u2028\u202a\u202e\u2066\u2069\ufeff\U000e0041")


def test_unseen_characters_are_written_out_and_others_are_not() -> None:
    text = as_json({"snippet": "a\u202eb\x1b[31m\U000e0041 早 é 👩\u200d💻"})

    assert text == '{"snippet":"a\\u202eb\\u001b[31m\\udb40\\udc41 早 é 👩\u200d💻"}'


# --- get --------------------------------------------------------------------------------------------


def test_get_answers_with_the_lines_asked_for(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "one\ntwo\nthree\nfour")

    reply = _call(host, "memory_get", {"path": "MEMORY.md", "from": 2, "lines": 2})

    assert reply.ok
    assert reply.result == {
        "path": "MEMORY.md",
        "text": "two\nthree",
        "from": 2,
        "lines": 2,
        "total_lines": 4,
    }


def test_a_long_file_is_cut_at_a_line_end_with_the_next_line(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "\n".join(f"{number:09}" for number in range(1, 10_002)))

    first = _call(host, "memory_get", {"path": "MEMORY.md"}).result
    second = _call(host, "memory_get", {"path": "MEMORY.md", "from": first["next_from"]}).result

    assert first["truncated"] is True
    assert second["truncated"] is True
    assert len(first["text"]) == MAX_TEXT_CHARS - 1
    assert first["lines"] == 5_000
    assert second["text"].startswith("000005001\n")


def test_a_line_longer_than_an_answer_is_cut_and_passed(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "x" * (MAX_TEXT_CHARS + 1) + "\nend")

    result = _call(host, "memory_get", {"path": "MEMORY.md"}).result

    assert (len(result["text"]), result["lines"], result["next_from"]) == (MAX_TEXT_CHARS, 1, 2)


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"path": "memory/a.md#L3-L9"}, ("memory/a.md", 3, 7)),
        ({"path": "memory/a.md#L3"}, ("memory/a.md", 3, 1)),
        ({"path": "memory/a.md#L3-L9", "from": 5}, ("memory/a.md", 5, None)),
        ({"path": " MEMORY.md ", "lines": 10**30}, ("MEMORY.md", 1, 2**31 - 1)),
    ],
)
def test_a_citation_will_do_for_a_path(host: BlockingAgent, arguments: Any, asked: Any) -> None:
    for path in ("memory/a.md", "MEMORY.md"):
        host.note(path, "line\n" * 20)

    assert _call(host, "memory_get", arguments).ok

    assert (host.agent.read[0].path, host.agent.read[0].from_line, host.agent.read[0].lines) == asked


def test_a_file_that_is_missing_is_not_found(host: BlockingAgent) -> None:
    host.note("memory/invoices.md", "a note")

    reply = _call(host, "memory_get", {"path": "memory/invoice.md"})

    assert reply.ok
    reason = "there is no memory/invoice.md; did you mean memory/invoices.md?"
    assert reply.result == {
        "status": "not_found",
        "path": "memory/invoice.md",
        "text": "",
        "reason": reason,
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [("a\nb\n", "The file has 2 lines."), ("a", "The file has 1 line."), ("", "The file is empty.")],
)
def test_lines_beyond_the_end_say_how_many_there_are(host: BlockingAgent, text: str, reason: str) -> None:
    host.note("MEMORY.md", text)

    result = _call(host, "memory_get", {"path": "MEMORY.md", "from": 40}).result

    assert (result["text"], result["lines"], result["reason"]) == ("", 0, reason)


def test_a_path_that_is_no_memory_is_answered(host: BlockingAgent) -> None:
    reply = _call(host, "memory_get", {"path": "../etc"})

    assert not reply.ok
    assert reply.result["error"].startswith("memory_get: '../etc' is refused")
    assert "memory_search" in reply.result["expected"]
    assert reply.result["example"]["path"] == "memory/2026-01-16.md"


def test_of_a_transcript_the_model_learns_that_there_is_no_more(host: BlockingAgent) -> None:
    assert "transcript" in _call(host, "memory_get", {"path": "sessions/a.jsonl"}).result["expected"]
