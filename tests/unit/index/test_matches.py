"""The combined statement for keyword matches finds the same as separate statements."""

from __future__ import annotations

import pytest

from memd.index.files import chunks_by_id, generation
from memd.index.keyword import Scope, find_keyword, with_spare
from memd.index.matches import Matches, match_statement, read_matches
from memd.system.sqlite import Database
from tests.support.indexes import new_index, publish

LIMIT = 10
READ = with_spare(LIMIT)
ANY, ALL = '"alpha" OR "beta"', '("alpha") AND ("beta")'


@pytest.fixture
def db() -> Database:
    """Many texts with one word, some with the other, few with both."""
    db = new_index(extension=False)
    publish(db, "memory/a.md", [f"alpha {'word ' * number}" for number in range(30)])
    publish(db, "memory/b.md", [f"beta {'word ' * number}" for number in range(3)])
    publish(db, "notes/both.md", [f"alpha in {'between ' * number} beta" for number in range(4)])
    return db


def find_matches(
    db: Database, any_of: str, all_of: str | None, limit: int, scope: Scope | None = None
) -> Matches:
    """Return the matches of the statement."""
    return read_matches(match_statement(db, any_of, all_of, limit, scope).run(db))


def test_combined_statement_finds_the_same_as_separate_ones(db: Database) -> None:
    found = find_matches(db, ANY, ALL, LIMIT)

    assert len(found.by_any) == READ
    assert found.by_any == find_keyword(db, ANY, READ)
    assert found.by_all == find_keyword(db, ALL, READ)
    assert len(found.by_all) == 4
    assert found.generation == generation(db)


def test_matches_below_the_limit_include_those_of_all_terms(db: Database) -> None:
    found = find_matches(db, ANY, ALL, 50)
    assert found.by_any == find_keyword(db, ANY, 50)
    assert found.by_all == []


def test_scope_applies_before_the_limit_of_both_lists(db: Database) -> None:
    scope = Scope(("memory",), "notes/")
    found = find_matches(db, ANY, ALL, 2, scope)
    assert found.by_any == find_keyword(db, ANY, with_spare(2), scope)
    assert found.by_all == find_keyword(db, ALL, with_spare(2), scope)
    assert {row.path for row in chunks_by_id(db, [key for key, _ in found.by_any])} == {"notes/both.md"}


def test_query_without_an_expression_for_all_terms_is_allowed(db: Database) -> None:
    found = find_matches(db, ANY, None, LIMIT)
    assert len(found.by_any) == READ
    assert found.by_all == []


def test_empty_index_has_no_matches() -> None:
    found = find_matches(new_index(extension=False), ANY, ALL, LIMIT)
    assert (found.by_any, found.by_all, found.generation) == ([], [], 0)
