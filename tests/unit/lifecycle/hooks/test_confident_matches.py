"""Confident matches: a line of a hit is shown only if it shares enough distinctive terms with the prompt."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memd.lifecycle.hooks import confident_matches
from memd.lifecycle.hooks.confident_matches import MAX_LINES, _about, decide, find_candidates
from memd.lifecycle.hooks.injection import HookDecision
from memd.lifecycle.hooks.line_confidence import LineFeatures, probability, vector_agreement
from memd.lifecycle.hooks.project import Project, project_in
from memd_client.messages import Currency, Hit, Supersession
from memd_client.sources import SessionInfo

PROJECT = project_in("/home/mara/code/harbor")
OWN = {"origins": ["agent"] * 50, "has_outside": False}
"""Of the explanation of a hit without text of other people."""


def hit(snippet: str, *words: str, path: str = "memory/projects/harbor.md", start: int = 5) -> Hit:
    """Return an explained hit of a query with some words, all equally rare."""
    end = start + snippet.count("\n")
    explain = {
        "words": [{"word": word, "weight": 4.0} for word in words],
        "lines": list(range(start, end + 1)),
        **OWN,
    }
    return Hit(path, start, end, 1.0, 0.5, 9.0, snippet, "memory", f"{path}#L{start}-L{end}", explain=explain)


def judge_hits(query: str, hits: list[Hit], project: Project, model: str = "") -> HookDecision:
    """Return the decision on the hits of a query."""
    return decide(find_candidates(query, hits, project, model))


def texts(found: Hit, query: str = "", project: Project = PROJECT) -> list[str]:
    """Return the texts of the confident matches of one hit."""
    return [line.text for line in judge_hits(query, [found], project).lines]


def test_the_line_with_the_words_is_shown_with_its_place() -> None:
    found = hit("- Prices are cents\n- Upload jobs retry five times", "upload", "retry", "invoice")

    [line] = judge_hits("retry of the invoice upload", [found], PROJECT).lines

    assert (line.text, line.place) == ("Upload jobs retry five times", "memory/projects/harbor.md#L6")


def test_words_spread_over_lines_are_not_enough() -> None:
    assert texts(hit("- Upload of images\n- Retry of mails", "upload", "retry", "invoice", "queue")) == []


def test_words_of_many_requests_do_not_count() -> None:
    assert texts(hit("- Add a test for the function", "add", "test", "function", "basket")) == []


def test_one_word_of_many_is_not_enough() -> None:
    assert texts(hit("- Upload jobs run at night", "upload", "basket", "badge")) == []


def test_the_name_of_the_project_tells_nothing() -> None:
    assert texts(hit("- Harbor has a logo", "harbor")) == []


def test_a_line_about_something_else_needs_more_words() -> None:
    words = ("upload", "retry", "invoice", "night")
    found = hit("- Uploads are retried", *words, path="memory/cooking.md")

    assert texts(found) == []
    assert texts(replace(found, snippet="- Uploads of invoices are retried at night"), "which night?") != []


def conversation(talk: str, *words: str, project: str = "/x/harbor") -> Hit:
    """Return a hit in a conversation about a project."""
    return replace(
        hit(talk, *words, path="codex/s1"),
        session=SessionInfo("codex", "s1", "Queue for order mails", project, date="2026-11-12"),
    )


def test_two_distinctive_terms_are_enough_in_a_conversation_if_the_vector_agrees() -> None:
    talk = conversation(
        "Assistant: order mails have a limiter",
        "limiter",
        "mails",
        "carrier",
        "fee",
        "badge",
        "queue",
        "proxy",
    )

    near, far = (
        judge_hits("limiter of mails: carrier, fee, badge, queue, proxy", [found], PROJECT, "minilm").code
        for found in (replace(talk, vector_score=0.6), replace(talk, vector_score=0.1))
    )

    assert (near, far) == ("sure", "not_sure")


def test_an_identifier_is_enough_in_any_style() -> None:
    found = conversation(
        "Assistant: the job sets `mail_blocked` for bounces", "mail_blocked", "mail", "blocked"
    )

    assert texts(found, "mail_blocked") == ["Assistant: the job sets `mail_blocked` for bounces"]


def test_an_identifier_does_not_match_a_similar_one() -> None:
    assert texts(hit("- The job sets `mail_blocker`", "mail_blocked"), "mail_blocked") == []


def test_a_quoted_error_is_enough_even_elsewhere() -> None:
    error = "could not initialize proxy - no Session"
    words = ("initialize", "proxy", "session")
    talk = f"User: we get {error}\nAssistant: the run left its transaction"
    found = conversation(talk, *words, project="/x/other")

    assert judge_hits(error, [found], PROJECT).code == "sure"


def test_one_term_is_enough_for_a_curated_fact_about_the_project() -> None:
    found = hit("- Harbor: the pager is in the vault", "pager", "handover", path="MEMORY.md")

    assert texts(found, "pager handover") == ["Harbor: the pager is in the vault"]
    assert (
        texts(
            replace(found, path="memory/cooking.md", snippet="- The pager is in the vault"), "pager handover"
        )
        == []
    )


def test_a_corrected_word_counts() -> None:
    found = hit("- Upload jobs retry five times", "uplaod", "retry")
    words = [
        {"word": "uplaod", "weight": 7.0, "chunks": 0, "corrections": ["upload"]},
        {"word": "retry", "weight": 4.0},
    ]

    assert texts(replace(found, explain={"words": words, "lines": [5], **OWN}), "uplaod retry?") != []


def test_a_likely_line_is_named_with_the_tool_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confident_matches, "MIN_INJECTED", 1.0)
    notes = hit("## Jobs\n- Uploads are retried", "upload", "retry")
    talk = conversation("Assistant: uploads are retried", "upload", "retry")

    named = [judge_hits("upload retry?", [found], PROJECT) for found in (notes, talk)]

    assert [decision.location for decision in named] == [
        "memory/projects/harbor.md, 'Jobs': memory_get, from line 6",
        "codex, 2026-11-12, 'Queue for order mails': conversation_read codex/s1#L5",
    ]
    assert [len(decision.lines) for decision in named] == [1, 1]


def test_an_unlikely_line_is_not_named() -> None:
    decision = judge_hits(
        "add a badge to the basket", [hit("- A badge", "badge", "basket", path="a.md")], PROJECT
    )

    assert (decision.code, decision.location, decision.candidate) == ("not_sure", "", "a.md#L5")


def test_each_kind_of_evidence_raises_the_probability() -> None:
    weak = LineFeatures(count=1, share=0.3, context=0.3, agreement=0.2)
    stronger = [
        replace(weak, count=2),
        replace(weak, share=0.6),
        replace(weak, context=0.6),
        replace(weak, names=1),
        replace(weak, is_exact=True),
        replace(weak, agreement=0.8),
        replace(weak, is_project=True),
        replace(weak, is_curated=True),
        replace(weak, asks=True),
    ]

    assert all(probability(features) > probability(weak) for features in stronger)


def test_the_cosine_of_an_unknown_model_tells_nothing() -> None:
    assert vector_agreement(0.9, "acme-embed") is None
    assert vector_agreement(None, "minilm") is None
    assert vector_agreement(0.2, "minilm-l6-v2-f16.gguf") == 0.0
    assert 0.4 < (vector_agreement(0.4, "minilm-l6-v2-f16.gguf") or 0.0) < 0.6
    assert vector_agreement(0.9, "e5") == 1.0


def test_a_daily_note_that_names_the_project_is_about_it() -> None:
    found = hit("- Harbor: uploads are retried", "upload", "retry", "invoice", path="memory/2026-10-06.md")

    [line] = judge_hits("", [replace(found, date="2026-10-06")], PROJECT).lines

    assert line.about == "2026-10-06"


def test_an_outdated_statement_is_not_shown() -> None:
    later = Supersession("a.md", 1, 1, "a.md#L1", "2026-11-01", "2026-10-01")
    found = hit("- Upload jobs retry five times", "upload", "retry")

    assert texts(replace(found, superseded_by=later)) == []


def test_a_heading_is_not_a_fact() -> None:
    assert texts(hit("## Upload retry", "upload", "retry")) == []


def test_a_question_in_a_conversation_comes_with_its_answer() -> None:
    talk = "User: which port does the staging proxy use?\nAssistant: 8443."
    found = replace(
        hit(talk, "port", "staging", "proxy"), session=SessionInfo("codex", "s1", project="/x/harbor")
    )

    assert texts(found) == ["User: which port does the staging proxy use? Assistant: 8443."]


def test_a_question_without_an_answer_is_no_fact() -> None:
    talk = "User: which port does the staging proxy use?"
    found = replace(
        hit(talk, "port", "staging", "proxy"), session=SessionInfo("codex", "s1", project="/x/harbor")
    )

    assert texts(found) == []


def test_a_long_line_is_cut_around_the_words() -> None:
    line = "- " + "Nothing of interest here. " * 40 + "Upload jobs retry five times. " + "More of it. " * 40

    [text] = texts(hit(line, "upload", "retry"))

    assert "Upload jobs retry five times" in text
    assert len(text) <= 400


def test_the_best_lines_come_first_and_few() -> None:
    lines = "\n".join(f"- Upload jobs retry, case {number}" for number in range(9))

    assert len(texts(hit(lines, "upload", "retry"))) == MAX_LINES


def test_about_of_an_injected_line_has_the_verdict_on_its_hit() -> None:
    hit = Hit("memory/a.md", 1, 1, 1.0, None, 1.0, "text", "memory", "memory/a.md#L1", date="2026-11-12")
    judged = replace(
        hit, currency=Currency("changed", "src/queue.py changed and not committed", "src/queue.py")
    )

    assert _about(hit) == "2026-11-12"
    assert _about(judged) == "2026-11-12, now: src/queue.py changed and not committed"
