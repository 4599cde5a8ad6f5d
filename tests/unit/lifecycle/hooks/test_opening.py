"""The start of a session: the notes on its project, and the newest facts."""

from __future__ import annotations

from memd.lifecycle.hooks.opening import describe, newest_facts, project_files
from memd_client.messages import FileEntry

PROJECT = ("harbor",)


def entry(path: str, title: str = "", date: str | None = None) -> FileEntry:
    """Return a file of three chunks."""
    return FileEntry(path=path, source="memory", mtime_ms=0, size_bytes=10, chunks=3, title=title, date=date)


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

    facts = newest_facts([(HARBOR, note), (DAILY, daily)], PROJECT)

    assert [fact.place for fact in facts] == [
        "memory/2026-11-12.md#L1",
        "memory/projects/harbor.md#L2",
        "memory/projects/harbor.md#L1",
    ]
    assert facts[0].about == "2026-11-12"


def test_code_labels_and_headings_are_no_facts() -> None:
    note = "# Harbor\n\n- Traps:\n```\n- this is a line of a program\n```\n- Staging listens on port 8443"

    [fact] = newest_facts([(HARBOR, note)], PROJECT)

    assert fact.text == "Staging listens on port 8443"


def test_notes_about_other_projects_give_no_facts() -> None:
    assert newest_facts([(DAILY, "- Quill: the Flatpak is built by Marek")], PROJECT) == []
