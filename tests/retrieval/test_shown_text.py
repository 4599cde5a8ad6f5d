"""What an agent reads: with a strong hit, at most a quarter of the characters are of weak hits."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from memd_client import Client
from memd_client.hit_text import HitText, text_of_row
from memd_client.tooling import DEFAULT_SEARCH_CHARS
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.retrieval import SETS
from tests.support.state_homes import StateHome
from tests.support.transcript_programs.plain import claude_code, codex

MINILM = {"provider": "local", "local": {"modelPath": "minilm"}}

MAX_WEAK_SHARE = 0.25

QUESTIONS = (
    "which port does the bastion listen on",
    "what is Mia allergic to",
    "why was the fan of dunlin replaced",
    "how do I restore the database to a moment in time",
    "what does the Osaka pilot cost per month",
    "how long is a slot held before it expires",
    "where do water levels for Rotterdam come from",
    "who reads the mails to harbours first",
    "what caused the leak in slotter-worker",
    "when does Piraeus want to start",
    "what error rate do the scans have",
    "what do we do on Fridays after two",
    "why did the order queue drop mails",
    "which library did we choose for charts",
    "what did Greta hear in Rotterdam",
)
"""Two of them are answered by conversations alone."""

TALKS: dict[str, tuple[tuple[str, str], ...]] = {
    "0199a213-81c4-7000-8000-000000000001": (
        ("user", "The order queue drops mails, can you look why?"),
        (
            "assistant",
            "The order queue drops mails because its consumer acknowledges before the mail is sent.",
        ),
        ("user", "Then acknowledge after sending."),
        (
            "assistant",
            "Done: the consumer acknowledges after the mail server answered, and retries three times.",
        ),
    ),
    "0199a213-81c4-7000-8000-000000000002": (
        ("user", "Which library should draw the charts of the berth plan?"),
        (
            "assistant",
            "We chose uPlot as the library for charts: it is small and draws 10,000 points in 20 ms.",
        ),
    ),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A stranger's notes and two conversations, searched with MiniLM."""
    minilm_path()
    with StateHome({"agents": {"defaults": {"memorySearch": MINILM}}}) as home:
        user = home.root / "user"
        user.mkdir()
        shutil.copytree(SETS / "abstention" / "workspace", home.workspace())
        for (session, messages), program in zip(TALKS.items(), (claude_code(user), codex(user)), strict=True):
            for speaker, text in messages:
                program.append(session, speaker, text)
        (home.root / "memd.toml").write_text("[sources.claude-code]\n[sources.codex]\n")
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client(timeout_s=300) as client:
            client.index()
            client.model("minilm")
            yield client


def length(text: HitText) -> int:
    """Return the characters of a hit with the blank line below it."""
    return len("\n".join([*text.head(), text.excerpt])) + 2


def rows_of(client: Client, query: str) -> list[Mapping[str, Any]]:
    """Return what an agent's tool shows."""
    rows: list[Mapping[str, Any]] = client.call_tool("memory_search", {"query": query}).result["results"]
    return rows


@pytest.mark.model
def test_at_most_a_quarter_of_the_text_is_weak_if_a_hit_is_strong(client: Client) -> None:
    shares = {}
    for question in QUESTIONS:
        texts = [text_of_row(row) for row in rows_of(client, question)]
        weak = [text for text in texts if text.relevance.startswith("weak")]
        assert sum(map(length, texts)) <= DEFAULT_SEARCH_CHARS
        assert len(weak) <= (2 if len(weak) < len(texts) else 3)
        if len(weak) < len(texts):
            shares[question] = (sum(map(length, weak)), sum(map(length, texts)))

    report = "\n".join(f"{weak} of {total}: {question}" for question, (weak, total) in shares.items())
    assert len(shares) >= 12, report
    assert sum(weak for weak, _ in shares.values()) <= MAX_WEAK_SHARE * sum(
        total for _, total in shares.values()
    ), report


@pytest.mark.model
def test_every_hit_has_its_day_and_a_conversation_its_title_and_program(client: Client) -> None:
    rows = [row for question in QUESTIONS for row in rows_of(client, question)]
    talks = [row for row in rows if row["source"] != "memory"]

    assert all(row["date"] for row in rows)
    assert {row["source"] for row in talks} == {"claude-code", "codex"}
    assert all(row["source"] in row["conversation"] for row in talks)


@pytest.mark.model
def test_excerpts_are_whole_and_under_their_headings(client: Client) -> None:
    rows = [row for question in QUESTIONS for row in rows_of(client, question)]

    cut = [row["snippet"] for row in rows if row["snippet"][0] == "…" or row["snippet"][-1] == "…"]
    assert len(cut) <= len(rows) / 50, cut
    assert any(row.get("heading") for row in rows)
