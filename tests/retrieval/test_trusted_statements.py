"""A statement of the user ranks before what others copied from it, however they changed its value."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from memd.index.database import transaction
from memd.index.origins import store_origins
from memd.settings.schema import QuerySettings
from memd.system.sqlite import Database
from memd.text.trust.origins import ORIGINS, USER, LineOrigins
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish_note, search, search_spec

MIN_RIGHT = 1.0
MAX_RIGHT_WITHOUT = 0.75
"""A set in which most pairs are in order anyway would measure nothing."""

OFF = replace(QuerySettings(), prefer_trusted=False)

FILLINGS = (
    "The plants at the window get water on Tuesdays.",
    "Lunch was late, because the caterer had a flat tyre.",
    "The blue binder is back on its shelf.",
    "Rain all day, so the fair moved inside.",
    "A parcel with cables arrived and is in the hall.",
)


class Pair(NamedTuple):
    """A statement of the user, and a text that copies its words."""

    query: str
    user: str
    other: str
    kind: str
    origin: int


PAIRS = [
    Pair(row["query"], row["user"], row["other"], row["kind"], ORIGINS.index(row["origin"]))
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").with_stem("trusted_statements").read_text())[
        "pairs"
    ]
]


@pytest.fixture(scope="module")
def db() -> Database:
    """An index with a note for each statement, and a later one for each copy."""
    db = new_index(extension=False)
    for number, pair in enumerate(PAIRS):
        filling = FILLINGS[number % len(FILLINGS)], FILLINGS[(number + 2) % len(FILLINGS)]
        publish(db, f"memory/2026-03-{number % 28 + 1:02}-u{number}.md", pair.user, filling, USER)
        publish(
            db, f"memory/2026-09-{number % 28 + 1:02}-o{number}.md", pair.other, filling[::-1], pair.origin
        )
    return db


def publish(db: Database, path: str, statement: str, filling: tuple[str, str], origin: int) -> None:
    """Publish a note of one origin."""
    publish_note(db, path, f"{filling[0]}\n\n- {statement}\n\n{filling[1]}\n")
    with transaction(db):
        store_origins(db, path, LineOrigins(b"", origin))


def hits(db: Database, query: str, settings: QuerySettings | None = None) -> list[Hit]:
    """Return the hits of a query."""
    return search(db, search_spec(query, settings, max_results=12, min_score=0.0)).hits


def share_in_order(db: Database, settings: QuerySettings | None = None) -> float:
    """Return the share of the pairs whose statement of the user is before the copy."""
    return sum(is_in_order(db, number, settings) for number in range(len(PAIRS))) / len(PAIRS)


def is_in_order(db: Database, number: int, settings: QuerySettings | None = None) -> bool:
    """Return whether the user's statement of a pair is shown, and before the copy."""
    paths = [hit.path.rpartition("-")[2] for hit in hits(db, PAIRS[number].query, settings)]
    own = [path for path in paths if path in (f"u{number}.md", f"o{number}.md")]
    return own[:1] == [f"u{number}.md"]


def test_statements_of_the_user_come_before_copies_and_poison(db: Database) -> None:
    assert len(PAIRS) >= 60
    assert share_in_order(db, OFF) <= MAX_RIGHT_WITHOUT
    assert share_in_order(db) >= MIN_RIGHT


def test_copies_that_collapse_into_one_hit_show_the_words_of_the_user(db: Database) -> None:
    for number, pair in enumerate(PAIRS):
        if pair.user == pair.other:
            first = next(hit for hit in hits(db, pair.query) if pair.user in hit.snippet)
            assert (first.origin, first.path.endswith(f"u{number}.md")) == ("user", True)


def test_statement_that_is_outside_never_supersedes_words_of_the_user(db: Database) -> None:
    for number, pair in enumerate(PAIRS):
        for hit in hits(db, pair.query):
            if hit.path.endswith(f"-u{number}.md") and hit.superseded_by is not None:
                assert ORIGINS[pair.origin] == "agent"


def test_nothing_moves_in_an_index_without_origins(db: Database) -> None:
    plain = new_index(extension=False)
    for number, pair in enumerate(PAIRS):
        publish_note(plain, f"memory/2026-03-{number % 28 + 1:02}-u{number}.md", pair.user)
        publish_note(plain, f"memory/2026-09-{number % 28 + 1:02}-o{number}.md", pair.other)

    for pair in PAIRS:
        assert hits(plain, pair.query) == hits(plain, pair.query, OFF)
