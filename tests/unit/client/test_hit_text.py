"""How a hit is shown: its parts, its length, and how many weak hits are shown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memd_client.hit_text import (
    GAP,
    INDENT,
    are_all_weak,
    row_of_hit,
    size_of_hit,
    text_of_hit,
    text_of_row,
    without_surplus_weak,
)
from memd_client.messages import Hit, SessionInfo, Supersession

NOTE = Hit(
    "memory/harbor.md",
    3,
    4,
    0.834,
    None,
    1.0,
    "The office moved.\nIts number is 4711.",
    "memory",
    "memory/harbor.md#L3-L4",
    date="2026-03-09",
    heading="Harbor > Office",
)
SESSION = SessionInfo(
    "codex",
    "0199ab",
    title="queue for order mails",
    project="/home/ann/shop",
    branch="main",
    date="2026-11-12",
)
MESSAGE = replace(
    NOTE,
    path="codex/0199ab",
    citation="codex/0199ab#L3-L4",
    relevance="weak",
    date="2026-11-12",
    heading="",
    session=SESSION,
    superseded_by=Supersession("memory/b.md", 3, 3, "memory/b.md#L3", "2026-11-20", "2026-11-12"),
    is_cut_above=True,
    is_cut_below=True,
)


def shown(hit: Hit) -> str:
    """Return a hit as text."""
    text = text_of_hit(hit)
    return "\n".join([*text.head(), text.excerpt])


def test_a_note_is_shown_with_place_day_relevance_and_heading() -> None:
    assert shown(NOTE).split("\n") == [
        "memory/harbor.md#L3-L4  2026-03-09  strong 0.83",
        "# Harbor > Office",
        "The office moved.",
        "Its number is 4711.",
    ]


def test_a_message_is_shown_with_title_project_program_and_the_later_statement() -> None:
    assert shown(MESSAGE).split("\n") == [
        "codex/0199ab#L3-L4  2026-11-12  weak 0.83",
        "queue for order mails · shop (main) · codex",
        "superseded by memory/b.md#L3 (2026-11-20)",
        "…The office moved.",
        "Its number is 4711.…",
    ]


def test_the_agent_and_the_copies_of_a_hit_are_on_its_first_line() -> None:
    title = text_of_hit(replace(NOTE, agent="work", copies=3)).title

    assert title == "memory/harbor.md#L3-L4  agent work  2026-03-09  strong 0.83  3 copies"


def test_a_long_title_is_cut() -> None:
    named = replace(MESSAGE, session=replace(SESSION, title="word " * 40))

    assert len(text_of_hit(named).conversation) < 110
    assert "…" in text_of_hit(named).conversation


@pytest.mark.parametrize("hit", [NOTE, MESSAGE, replace(NOTE, agent="work", relevance="weak")])
def test_a_row_of_a_tool_shows_the_same_as_its_hit(hit: Hit) -> None:
    assert text_of_row(row_of_hit(hit)) == text_of_hit(hit)


@pytest.mark.parametrize("hit", [NOTE, MESSAGE, replace(NOTE, agent="work", copies=2)])
def test_the_size_of_a_hit_counts_all_that_is_printed(hit: Hit) -> None:
    indents = INDENT * (hit.snippet.count("\n") + 1)

    assert size_of_hit(hit) == len(shown(hit)) + indents + len("\n\n")


def test_a_hit_without_its_day_counts_as_if_it_had_one() -> None:
    assert size_of_hit(replace(NOTE, date="")) == size_of_hit(NOTE)
    assert len(shown(NOTE)) - len(shown(replace(NOTE, date=""))) == len(GAP) + len("2026-03-09")


@pytest.mark.parametrize(
    ("found", "left"),
    [("wwwww", "www"), ("sww", "sww"), ("swwwsw", "swws"), ("wwsws", "wwss"), ("ssss", "ssss"), ("", "")],
)
def test_few_weak_hits_are_shown_beside_strong_ones(found: str, left: str) -> None:
    names = {"s": "strong", "w": "weak"}

    assert "".join(without_surplus_weak(found, names.__getitem__)) == left


def test_no_hits_are_not_weak_hits() -> None:
    assert not are_all_weak([])
    assert not are_all_weak([MESSAGE, NOTE])
    assert are_all_weak([MESSAGE])
