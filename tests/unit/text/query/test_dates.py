"""Dates of notes by their names."""

from __future__ import annotations

import datetime

import pytest

from memd.text.query.dates import date_in_path, day_of_note


@pytest.mark.parametrize(
    "path",
    [
        "memory/2026-01-16.md",
        "./memory/2026-01-16.md",
        "memory\\2026-01-16.md",
        "memory/2026-01-16-standup.md",
        "memory/2026-01-16 1 on 1.md",
        "memory/2026-01-16_2.md",
        "notes/memory/2026-01-16-a.b.md",
        "memory/sessions/2026-01-16-standup.md",
    ],
)
def test_a_file_name_that_begins_with_a_day_has_that_date(path: str) -> None:
    assert date_in_path(path) == datetime.date(2026, 1, 16)


@pytest.mark.parametrize("path", ["memory/2026-02-30.md", "memory/2026-02-30-x.md", "memory/0099-01-01.md"])
def test_an_impossible_day_is_none(path: str) -> None:
    assert date_in_path(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory.md",
        "memory/projects.md",
        "memory/2026-01-165.md",
        "memory/x-2026-01-16.md",
        "memory/２０２６-01-16.md",
        "memory/2026-01-16.txt",
        "memory/2026-01-16/notes.md",
    ],
)
def test_lasting_knowledge_has_no_day(path: str) -> None:
    assert date_in_path(path) is None


def test_a_file_outside_memory_has_no_date() -> None:
    assert date_in_path("extra/2026-01-16.md") is None


@pytest.mark.parametrize(
    "path",
    [
        "2026-01-16.md",
        "memory/2026-01-16.md",
        "./memory/2026-01-16-standup.md",
        "memory/projects/2026-01-16-retro.md",
        "memory\\projects\\2026-01-16 retro.md",
        "extra/2026-01-16.md",
        "/home/ann/journal/2026/2026-01-16.md",
        "memory/2025-12-31/2026-01-16.md",
    ],
)
def test_a_note_is_about_the_day_of_its_name_in_any_folder(path: str) -> None:
    assert day_of_note(path) == datetime.date(2026, 1, 16)


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory/2026-01-165.md",
        "memory/2026-02-30.md",
        "memory/x-2026-01-16.md",
        "memory/2026-01-16/notes.md",
        "memory/2026-01-16.txt",
        "memory/２０２６-01-16.md",
        "memory/0099-01-01.md",
        "",
    ],
)
def test_a_note_whose_name_begins_with_no_day_is_about_none(path: str) -> None:
    assert day_of_note(path) is None


def test_a_note_in_a_subfolder_has_a_day_and_no_decay_date() -> None:
    path = "memory/projects/2026-01-16-retro.md"

    assert day_of_note(path) is not None
    assert date_in_path(path) is None
