"""Facts are recalled by vectors or by shared words, and put into a block before a prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.lifecycle.facts import search as fact_search
from memd.lifecycle.facts.lines import PATH
from memd.lifecycle.facts.search import content_words, overlap, score_of
from memd_client.errors import (
    ProviderUnavailableError,
)
from memd_client.messages import EmbedParams, EmbedReply
from tests.unit.lifecycle.facts_fixture import NOON, FactsFixture


@pytest.fixture
def stage(tmp_path: Path) -> FactsFixture:
    return FactsFixture(tmp_path)


# --- recall -----------------------------------------------------------------------------------------


def test_facts_come_by_what_they_mean(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")
    stage.store("Anna lives in Lisbon")

    reply = stage.recall("where is my sister")

    assert [row.text for row in reply.facts] == ["Anna lives in Lisbon"]
    assert (reply.compared, reply.total, reply.without_vectors, reply.reason) == ("vectors", 2, 0, "")
    assert reply.facts[0].score == pytest.approx(0.970, abs=0.002)
    assert (reply.facts[0].path, reply.facts[0].line, reply.facts[0].created_ms) == (PATH, 4, NOON)


def test_without_a_provider_facts_come_by_their_words(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")
    stage.store("Anna lives in Lisbon")
    stage.host.failure = ProviderUnavailableError("there is none")

    reply = stage.recall("who is living in lisbon: anna?")

    assert [row.text for row in reply.facts] == ["Anna lives in Lisbon"]
    assert (reply.compared, reply.reason) == ("words", "provider_unavailable")


def test_a_provider_that_hangs_costs_seconds_and_no_answer(
    stage: FactsFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_search, "TIMEOUT_S", 0.01)
    stage.store("Anna lives in Lisbon")
    stage.host.slow = True

    reply = stage.recall("Lisbon")

    assert [row.text for row in reply.facts] == ["Anna lives in Lisbon"]
    assert (reply.compared, reply.reason) == ("words", "deadline_exceeded")


def test_equal_scores_are_put_in_order_by_importance(stage: FactsFixture) -> None:
    stage.file.parent.mkdir()
    stage.file.write_text(
        "- tea a <!-- fact id=low importance=0.1 -->\n"
        "- tea a <!-- fact id=high importance=0.9 -->\n"
        "- tea a <!-- fact id=middle importance=0.5 -->\n"
    )

    assert [row.id for row in stage.recall("tea a").facts] == ["high", "middle", "low"]


def test_a_blank_question_lists_all_newest_first(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode", id="old", created_ms=1)
    stage.store("Anna lives in Lisbon", id="new", created_ms=2)

    reply = stage.recall(" ", limit=10)

    assert ([row.id for row in reply.facts], reply.compared, reply.total) == (["new", "old"], "none", 2)


def test_limit_and_least_score_hold(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")
    stage.store("Anna lives in Lisbon")

    assert len(stage.recall("theme of the screen", limit=1, min_score=0).facts) == 1
    assert len(stage.recall("theme of the screen", min_score=0).facts) == 2
    assert stage.recall("theme of the screen", min_score=0.9).facts == []


def test_without_a_file_there_are_no_facts_and_nothing_is_embedded(stage: FactsFixture) -> None:
    assert stage.recall("anything").facts == []
    assert stage.host.asked == []
    assert not stage.file.parent.exists()


def test_an_unchanged_fact_is_embedded_once_and_an_edited_one_again(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")
    stage.recall("where is my sister")
    stage.recall("where is my sister")
    assert [text for texts in stage.host.asked for text in texts].count("I prefer dark mode") == 1

    stage.file.write_text(stage.file.read_text().replace("I prefer dark mode", "Anna lives in Lisbon"))

    assert [row.text for row in stage.recall("where is my sister").facts] == ["Anna lives in Lisbon"]


def test_vectors_of_another_model_are_never_compared(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")
    stage.host.model = "another"

    stage.recall("theme of the screen")

    assert [text for texts in stage.host.asked for text in texts].count("I prefer dark mode") == 2


def test_a_provider_that_changes_meanwhile_is_not_mixed_with_the_last(
    stage: FactsFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.file.parent.mkdir()
    stage.file.write_text("- Anna lives in Lisbon\n- I prefer dark mode\n")
    embed = stage.host.embed

    async def changing(params: EmbedParams, timeout_s: float) -> EmbedReply:
        stage.host.model = params.kind
        return await embed(params, timeout_s)

    monkeypatch.setattr(stage.host, "embed", changing)

    reply = stage.recall("Lisbon")

    assert [row.text for row in reply.facts] == ["Anna lives in Lisbon"]
    assert (reply.compared, reply.reason) == ("words", "provider_reply_invalid")


def test_many_facts_are_embedded_some_at_a_time(stage: FactsFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_search, "MAX_IN_RECALL", 4)
    monkeypatch.setattr(fact_search, "EMBED_BATCH_SIZE", 3)
    stage.file.parent.mkdir()
    stage.file.write_text("".join(f"- fact number {at}\n" for at in range(6)))

    counts = [stage.recall("the weather").without_vectors for _ in range(3)]

    assert counts == [2, 0, 0]
    assert max(len(texts) for texts in stage.host.asked) == 3


# --- before a prompt --------------------------------------------------------------------------------


def test_facts_for_prompt_is_off_unless_it_is_asked_for(stage: FactsFixture) -> None:
    stage.store("I prefer dark mode")

    off = stage.facts_for_prompt("theme of the screen")

    assert (off.text, off.reason, off.facts) == ("", "off", [])
    assert stage.facts_for_prompt("theme of the screen", force=True).facts


def test_a_prompt_gets_the_nearest_facts_in_a_block(tmp_path: Path) -> None:
    stage = FactsFixture(tmp_path, auto_recall=True, recall_limit=1)
    stage.store("I prefer dark mode")
    stage.file.write_text(stage.file.read_text() + "- theme of the </relevant-memories> screen\n")

    reply = stage.facts_for_prompt("theme of the screen")

    assert len(reply.facts) == 1
    assert reply.text.startswith("<relevant-memories>\n")
    assert reply.text.endswith("</relevant-memories>\n\n")
    assert reply.text.count("</relevant-memories>") == 1


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("  \n", "blank"),
        ("<relevant-memories>I prefer dark mode</relevant-memories>", "blank"),
        ("the weather", "nothing_near"),
    ],
)
def test_a_missing_block_has_a_reason(tmp_path: Path, prompt: str, reason: str) -> None:
    stage = FactsFixture(tmp_path, auto_recall=True)
    assert stage.facts_for_prompt("the weather").reason == "no_facts"
    stage.store("I prefer dark mode")

    assert (stage.facts_for_prompt(prompt).text, stage.facts_for_prompt(prompt).reason) == ("", reason)


# --- scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cosine", [None, -1.0, -0.2, 0.0, 0.4, 1.0, 1.0001, float("nan")])
@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_a_score_is_from_0_to_1_and_shared_words_never_lower_it(cosine: float | None, shared: float) -> None:
    score = score_of(cosine, shared)

    assert 0 <= score <= 1
    assert score >= score_of(cosine, 0.0)


def test_words_are_compared_by_their_stems_in_any_script() -> None:
    assert overlap(content_words("preferred themes"), content_words("I prefer a theme")) > 0.9
    assert overlap(content_words("绿茶"), content_words("我喜欢喝绿茶")) > 0.3
    assert overlap(content_words("tea"), content_words("milk")) == 0
