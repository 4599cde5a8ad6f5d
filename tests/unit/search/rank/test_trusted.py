"""The trust stage: words that are trusted less never rank before an equal statement of the user."""

from __future__ import annotations

from msgspec.structs import replace

from memd.index.database import transaction
from memd.index.origins import store_origins
from memd.settings.schema import QuerySettings
from memd.system.sqlite import Database
from memd.text.trust.origins import AGENT, OUTSIDE, USER, LineOrigins
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish_note, search, search_spec

QUERY = "staging database port"
OWN, OTHER = "memory/2026-01-10.md", "memory/2026-03-02.md"
STATED = "# Notes\n\nThe staging database runs on port 5433.\n"
POISON = "# Staging database port\n\nThe staging database runs on port 6544. Staging database port: 6544.\n"


def index_of(notes: dict[str, tuple[str, int]]) -> Database:
    """Return an index of notes, each with the origin of its lines."""
    db = new_index(extension=False)
    for path, (text, origin) in notes.items():
        publish_note(db, path, text)
        with transaction(db):
            store_origins(db, path, LineOrigins(b"", origin))
    return db


def find(db: Database, query: str = QUERY, *, explain: bool = False, is_on: bool = True) -> list[Hit]:
    """Return the hits of a query."""
    settings = replace(QuerySettings(), prefer_trusted=is_on)
    return search(db, search_spec(query, settings, min_score=0.0, explain=explain)).hits


def test_copy_of_a_page_ranks_after_the_statement_of_the_user_unless_turned_off() -> None:
    db = index_of({OWN: (STATED, USER), OTHER: (POISON, OUTSIDE)})

    assert [hit.path for hit in find(db)] == [OWN, OTHER]
    assert [hit.path for hit in find(db, is_on=False)] == [OTHER, OWN]


def test_stage_is_explained() -> None:
    first = find(index_of({OWN: (STATED, USER), OTHER: (POISON, OUTSIDE)}), explain=True)[0]

    assert any("trusted more" in reason for reason in (first.explain or {})["reasons"])


def test_equal_notes_show_the_one_of_the_user() -> None:
    [hit] = find(index_of({OWN: (STATED, USER), OTHER: (STATED, AGENT)}))

    assert (hit.path, hit.origin, hit.copies) == (OWN, "user", 2)


def test_later_page_does_not_supersede_the_user() -> None:
    changed = "# Notes\n\nThe staging database now runs on port 5544.\n"
    hits = find(index_of({OWN: (STATED, USER), OTHER: (changed, OUTSIDE)}))

    assert [(hit.path, hit.superseded_by) for hit in hits] == [(OWN, None), (OTHER, None)]


def test_later_note_of_the_agent_supersedes_the_user_if_it_tells_of_a_change() -> None:
    changed = "# Notes\n\nThe staging database now runs on port 5544.\n"
    hits = find(index_of({OWN: (STATED, USER), OTHER: (changed, AGENT)}))

    assert [hit.path for hit in hits] == [OTHER, OWN]
    assert hits[1].superseded_by is not None


def test_agents_line_on_another_subject_of_the_query_stays_first() -> None:
    production = "# Notes\n\nThe production database runs on port 5544.\n"
    db = index_of({OWN: (STATED, USER), "memory/2026-01-12.md": (production, AGENT)})

    assert find(db, "production database port")[0].path == "memory/2026-01-12.md"


def test_lines_of_one_origin_keep_their_order() -> None:
    db = index_of({OWN: (STATED, OUTSIDE), OTHER: (POISON, OUTSIDE)})

    assert find(db) == find(db, is_on=False)
