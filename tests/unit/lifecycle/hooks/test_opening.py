"""The start of a session: the notes on its project, and the newest facts."""

from __future__ import annotations

import pytest

from memd.lifecycle.hooks.opening import describe, newest_facts, project_files
from memd.lifecycle.hooks.project import Project, project_in
from memd_client.messages import FileEntry

PROJECT = project_in("/home/mara/code/harbor")
API = project_in("/home/mara/code/api")


def entry(path: str, title: str = "", date: str | None = None) -> FileEntry:
    """Return a file of three chunks."""
    return FileEntry(path=path, source="memory", mtime_ms=0, size_bytes=10, chunks=3, title=title, date=date)


def facts_of(project: Project, *files: tuple[FileEntry, str]) -> list[str]:
    """Return the newest facts in files given with their texts."""
    texts = {file.path: text for file, text in files}
    return [
        fact.text
        for fact in newest_facts(project_files([file for file, _ in files], project), texts, project)
    ]


HARBOR = entry("memory/projects/harbor.md")
DAILY = entry("memory/2026-11-12.md", date="2026-11-12")


def test_notes_are_about_a_project_by_path_or_title() -> None:
    titled = entry("memory/shop.md", "Harbor (web shop)")

    files = project_files([HARBOR, titled, entry("memory/kestrel.md"), DAILY], PROJECT)

    assert files.own == (HARBOR, titled)
    assert files.daily == (DAILY,)
    assert describe("harbor", files).startswith("Memory has 2 notes on harbor (6 indexed parts)")


def test_the_newest_day_comes_first() -> None:
    note = "- 2026-06-11: Upload jobs retry five times\n- 2026-08-03: Webhooks use the raw body"
    daily = "- Harbor: freeze from 23 November on\n- Quill: the Flatpak is built by Marek"

    texts = {HARBOR.path: note, DAILY.path: daily}
    facts = newest_facts(project_files([HARBOR, DAILY], PROJECT), texts, PROJECT)

    assert [fact.place for fact in facts] == [
        "memory/2026-11-12.md#L1",
        "memory/projects/harbor.md#L2",
        "memory/projects/harbor.md#L1",
    ]
    assert facts[0].about == "2026-11-12"


def test_code_labels_and_headings_are_no_facts() -> None:
    note = "# Harbor\n\n- Traps:\n```\n- this is a line of a program\n```\n- Staging listens on port 8443"

    assert facts_of(PROJECT, (HARBOR, note)) == ["Staging listens on port 8443"]


@pytest.mark.parametrize(
    "line",
    [
        "Quill: the Flatpak is built by Marek",
        "Walked along the harbor with Eva and her dog",
        "The harborside flat of Tomás is for sale",
    ],
)
def test_daily_notes_that_do_not_name_the_project_give_no_facts(line: str) -> None:
    assert facts_of(PROJECT, (DAILY, f"- {line}")) == []


@pytest.mark.parametrize(
    "line",
    [
        "Rapid antigen test of Elsa was negative",
        "Filled in the capital gains form with Bernd",
        "The API of the bank is down again today",
        "API keys of the bank have to be renewed",
    ],
)
def test_a_common_name_in_prose_gives_no_facts(line: str) -> None:
    files = (
        (DAILY, f"- {line}"),
        (entry("MEMORY.md"), f"- {line}"),
        (entry("memory/therapist.md", "Rapid"), f"- {line}"),
    )

    assert facts_of(API, *files) == []


def test_curated_lines_that_begin_with_the_name_come_first() -> None:
    curated = (
        "# About Mara\n\n- Lives near the harbor\nharbor: never deploy on Fridays\n- **Harbor** is Halden's"
    )

    facts = facts_of(
        PROJECT, (HARBOR, "- 2026-08-03: Webhooks use the raw body"), (entry("MEMORY.md"), curated)
    )

    assert facts == [
        "**Harbor** is Halden's",
        "harbor: never deploy on Fridays",
        "2026-08-03: Webhooks use the raw body",
    ]


def test_lines_below_a_heading_with_the_name_are_about_the_project() -> None:
    note = "# Notes\n\n## api\n\n- Limits are 100 requests a second\n\n## Health\n\n- Elsa's rapid test: negative"

    assert facts_of(API, (DAILY, note)) == ["Limits are 100 requests a second"]


def test_a_dated_note_with_a_common_name_has_to_name_the_project_in_its_lines() -> None:
    file = entry("memory/2026-11-12-api.md", date="2026-11-12")

    assert facts_of(API, (file, "- Dentist at nine, then lunch with Iris")) == []
