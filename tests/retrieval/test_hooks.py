"""Hooks: what they add to written prompts of 12 projects, through a real daemon.

`hooks/prompts.jsonl` has prompts in several styles that a note, a fact of MEMORY.md or a conversation answers, ordinary
requests that memory doesn't answer, and texts that programs send as the user. The model of `line_confidence.txt` was
fitted on half of the projects, so the other half shows what to expect. Measured with MiniLM, lines or locations:

    development   conversations 37 of 46, notes 95 of 108, facts 6 of 9; unrelated 4 of 123
    held out      conversations 37 of 48, notes 85 of 107, facts 7 of 8; unrelated 2 of 122

Keyword search alone finds a few conversations less. Only `--long` embeds the notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from memd_client import Client
from memd_client.hooks import HookLogEntry, HookReply
from tests.support.hook_set import (
    HELD_OUT,
    HOOK_SET,
    WrittenPrompt,
    load_conversations,
    load_prompts,
    serve_hooks,
)
from tests.support.models import minilm_path

MIN_PRECISION = 0.9
MIN_FOUND = {"conversation": 0.65, "note": 0.75, "fact": 0.6}
"""Share of the prompts of a kind that get the right line or location."""

MAX_UNRELATED = 0.04


@dataclass(frozen=True)
class Answered:
    """A prompt, the reply to it, and its log entry."""

    prompt: WrittenPrompt
    reply: HookReply
    entry: HookLogEntry

    @property
    def is_right(self) -> bool:
        """Whether a line of the note or conversation with the answer was added, or its location."""
        return any(map(self.prompt.is_place, self.entry.places))


def answer_all(client: Client, prompts: Sequence[WrittenPrompt]) -> list[Answered]:
    """Return the answers to prompts, each in a session of its own."""
    answers = []
    for prompt in prompts:
        reply = client.hook("claude-code", "prompt", prompt.id, cwd=prompt.cwd, prompt=prompt.prompt)
        [entry] = client.hook_log(limit=1, session_id=prompt.id).entries
        answers.append(Answered(prompt, reply, entry))
    return answers


@pytest.fixture(scope="module", params=[pytest.param("minilm", marks=pytest.mark.long), "none"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of a daemon that has the set's notes and conversations, and other notes."""
    search: dict[str, Any] = {"provider": "none"}
    if request.param == "minilm":
        search = {"provider": "local", "local": {"modelPath": str(minilm_path())}}
    with serve_hooks(search) as client:
        yield client


@pytest.fixture(scope="module")
def answers(client: Client) -> list[Answered]:
    """The answers to all prompts."""
    return answer_all(client, load_prompts())


def report(answers: Sequence[Answered]) -> str:
    """Return the failed prompts, for the message of a failed test."""
    return "\n".join(
        f"{answer.prompt.id} {answer.reply.decision} {answer.entry.places}: {answer.prompt.prompt[:100]}"
        for answer in answers
        if answer.is_right != bool(answer.prompt.expected)
        or (answer.reply.text and not answer.prompt.expected)
    )


def test_the_set_is_large_enough() -> None:
    prompts = load_prompts()
    sizes = Counter(prompt.kind for prompt in prompts)

    assert sizes["note"] + sizes["fact"] >= 200
    assert sizes["conversation"] >= 80
    assert sizes["unrelated"] >= 200
    assert sizes["machine"] >= 50
    assert len({prompt.style for prompt in prompts}) >= 10
    assert len({prompt.project for prompt in prompts}) == 2 * len(HELD_OUT) == 12
    assert len({prompt.id for prompt in prompts}) == len(prompts)


def test_every_answer_of_the_set_is_in_its_note_or_conversation() -> None:
    conversations = load_conversations()

    def text_of(expected: str) -> str:
        if expected in conversations:
            return "\n".join(conversations[expected])
        return (HOOK_SET / "workspace" / expected).read_text(encoding="utf-8")

    missing = [
        prompt.id
        for prompt in load_prompts()
        if prompt.expected and prompt.says not in text_of(prompt.expected)
    ]

    assert missing == []


@pytest.mark.model
@pytest.mark.parametrize("is_held_out", [False, True])
def test_what_is_added_is_right(answers: list[Answered], is_held_out: bool) -> None:
    half = [answer for answer in answers if answer.prompt.is_held_out == is_held_out]
    added = [answer for answer in half if answer.reply.text]

    assert sum(answer.is_right for answer in added) >= MIN_PRECISION * len(added), report(half)
    for kind, share in MIN_FOUND.items():
        asked = [answer for answer in half if answer.prompt.kind == kind]
        assert sum(answer.is_right for answer in asked) >= share * len(asked), report(half)


@pytest.mark.model
@pytest.mark.parametrize("is_held_out", [False, True])
def test_unrelated_requests_stay_without_memory(answers: list[Answered], is_held_out: bool) -> None:
    unrelated = [
        answer
        for answer in answers
        if answer.prompt.kind == "unrelated" and answer.prompt.is_held_out == is_held_out
    ]

    assert sum(bool(answer.reply.text) for answer in unrelated) <= MAX_UNRELATED * len(unrelated), report(
        answers
    )


@pytest.mark.model
def test_machine_prompts_stay_without_memory(answers: list[Answered]) -> None:
    machine = [answer for answer in answers if answer.prompt.kind == "machine"]

    assert [answer.prompt.id for answer in machine if answer.reply.text] == []


@pytest.mark.model
def test_an_addition_is_short_and_marked(answers: list[Answered]) -> None:
    texts = {answer.reply.text: answer.reply.decision for answer in answers if answer.reply.text}

    assert all(text.startswith("<memd-memory>\n") and text.endswith("\n</memd-memory>") for text in texts)
    assert max(map(len, texts)) <= 1_600
    assert max(len(text) for text, decision in texts.items() if decision == "related") <= 300


@pytest.mark.model
def test_a_fact_is_injected_once_in_a_session(client: Client) -> None:
    facts: Counter[str] = Counter()
    for prompt in load_prompts() * 2:
        reply = client.hook("codex", "prompt", "one session", cwd=prompt.cwd, prompt=prompt.prompt)
        facts.update(line for line in reply.text.split("\n") if line.startswith("- "))

    assert len(facts) >= 100
    assert [fact for fact, count in facts.items() if count > 1] == []
