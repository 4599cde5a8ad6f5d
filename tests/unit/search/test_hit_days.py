"""The day of a hit and the headings above it."""

from __future__ import annotations

import pytest

from memd.index.database import transaction
from memd.index.files import publish_file
from memd.index.transcripts import StoredTranscript, store_transcript
from memd.system.sqlite import Database
from memd.text.cut.chunking import cut_chunks
from memd_client.messages import Hit
from tests.support.indexes import file_row, new_index, publish_note, search, search_spec

CHANGED_NS = 1_772_000_000_000_000_000
"""On 25 February 2026."""

FILLER = "\n".join(f"- entry {number} about the weather at the coast and the pier" for number in range(16))


@pytest.fixture
def db() -> Database:
    """An empty index."""
    return new_index(extension=False)


def publish(db: Database, path: str, text: str) -> None:
    """Publish a note that changed in February 2026."""
    with transaction(db):
        publish_file(db, file_row(path, mtime_ns=CHANGED_NS), cut_chunks(text, path), 1)


def ask(db: Database, query: str = "freezer") -> Hit:
    """Return the first hit of a search by keywords."""
    return search(db, search_spec(query, min_score=0.0)).hits[0]


@pytest.mark.parametrize(
    ("path", "text", "day"),
    [
        ("memory/2026-03-09.md", "## 2026-01-01\n\nthe freezer key", "2026-03-09"),
        ("memory/log.md", "## 2026-01-01\n\nboat\n\n## 2026-01-02 Harbor\n\nthe freezer key", "2026-01-02"),
        ("memory/log.md", f"## 2026-01-01\n\n{FILLER}\n\nthe freezer key\n\n## 2026-01-03", "2026-01-01"),
        ("memory/plan.md", "---\ntitle: Plan\ndate: 2025-12-24\n---\n\nthe freezer key", "2025-12-24"),
        ("memory/plan.md", "see 2025-12-24\n\nthe freezer key", "2026-02-25"),
    ],
)
def test_a_hit_has_the_day_of_its_name_heading_frontmatter_or_change(
    db: Database, path: str, text: str, day: str
) -> None:
    publish(db, path, text)

    assert ask(db).date == day


def test_a_message_has_the_day_on_which_it_was_said(db: Database) -> None:
    publish_note(db, "sessions/s.jsonl", "User: hello\nUser: the freezer key", source="sessions")
    with transaction(db):
        times = [CHANGED_NS // 1_000_000, 1_780_000_000_000]
        store_transcript(db, "sessions/s.jsonl", StoredTranscript([7, 12], times))

    assert ask(db).date == "2026-05-28"


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Harbor\n\nthe freezer key", ""),
        (f"# Harbor\n\n## Office\n\n{FILLER}\n\nthe freezer key", "Harbor > Office"),
        (f"# Harbor\n\n{FILLER}\n\n## 2026-01-02 Office\n\n{FILLER}\n\nthe freezer key", "Harbor > Office"),
        ("the freezer key", ""),
    ],
)
def test_a_hit_has_the_headings_above_it_unless_it_starts_with_one(
    db: Database, text: str, heading: str
) -> None:
    publish(db, "memory/town.md", text)

    hit = ask(db)

    assert "the freezer key" in hit.snippet
    assert hit.heading == heading
    assert hit.snippet.startswith("#") or hit.heading or not text.startswith("#")
