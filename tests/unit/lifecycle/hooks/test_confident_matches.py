"""Confident matches: a line of a hit is shown only if it shares enough distinctive terms with the prompt."""

from __future__ import annotations

from msgspec.structs import replace

from memd.lifecycle.hooks.confident_matches import MAX_LINES, judge_hits
from memd.lifecycle.hooks.project import Project, project_in
from memd_client.messages import Hit, Supersession
from memd_client.sources import SessionInfo

PROJECT = project_in("/home/mara/code/harbor")


def hit(snippet: str, *words: str, path: str = "memory/projects/harbor.md", start: int = 5) -> Hit:
    """Return an explained hit of a query with some words, all equally rare."""
    end = start + snippet.count("\n")
    explain = {
        "words": [{"word": word, "weight": 4.0} for word in words],
        "lines": list(range(start, end + 1)),
    }
    return Hit(path, start, end, 1.0, 0.5, 9.0, snippet, "memory", f"{path}#L{start}-L{end}", explain=explain)


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
    found = hit("- Uploads are retried", "upload", "retry", "invoice", path="memory/cooking.md")

    assert texts(found) == []
    assert texts(replace(found, snippet="- Uploads of invoices are retried")) == [
        "Uploads of invoices are retried"
    ]


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
