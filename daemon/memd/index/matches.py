"""Finds the chunks that match any of some terms, and those that match all of them, in one statement.

One statement, because SQLite releases the GIL while it runs: if it runs in a second thread, the search compares vectors
meanwhile. That thread only runs the statement; the search's own thread prepares it and decodes the result.
"""

from __future__ import annotations

from typing import TypeAlias, cast

import msgspec
from msgspec import Struct, field

from memd.index.keyword import Bindings, Scope, by_rank, matching_sql, simplify_scope, with_spare
from memd.index.meta import GENERATION
from memd.system.sqlite import Database

MatchRow: TypeAlias = tuple[str | None, str, str]
"""The generation, the matches of any term, and the matches of all terms; the matches as JSON."""

_FOUND = msgspec.json.Decoder(list[tuple[float, int]])


class Matches(Struct, frozen=True):
    """Keyword matches as (chunk id, negated BM25), best first.

    Attributes:
        generation: Generation of the index.
        by_any: Chunks that match any term.
        by_all: Chunks that match all terms; empty if `by_any` is below the limit, and so includes them.
    """

    generation: int
    by_any: list[tuple[int, float]]
    by_all: list[tuple[int, float]] = field(default_factory=list)


class MatchStatement(Struct, frozen=True):
    """A prepared statement and its named values."""

    sql: str
    values: Bindings

    def run(self, db: Database) -> MatchRow:
        """Return the single row of the statement, for `read_matches`; no Python work beyond SQLite's."""
        return cast(MatchRow, db.execute(self.sql, self.values).fetchall()[0])


def match_statement(
    db: Database,
    any_of: str,
    all_of: str | None,
    limit: int,
    scope: Scope | None = None,
) -> MatchStatement:
    """Return the statement for matching chunks, best first: `with_spare` of the limit. The scope applies before it."""
    scope = simplify_scope(db, scope)
    some, values = matching_sql(scope, "any_of")
    every, _ = matching_sql(scope, "all_of", only="(SELECT count(*) FROM some) >= :enough")
    values |= {"any_of": any_of, "enough": limit, "limit": with_spare(limit), "generation": GENERATION}
    if all_of is None:
        every = "SELECT NULL AS id, NULL AS rank WHERE 0"
    else:
        values["all_of"] = all_of
    found = "json_array(found.rank, found.id)"
    sql = f"""WITH some AS MATERIALIZED ({some}), every AS MATERIALIZED ({every})
              SELECT (SELECT value FROM meta WHERE key = :generation),
                     (SELECT json_group_array({found}) FROM some AS found),
                     (SELECT json_group_array({found}) FROM every AS found)"""
    return MatchStatement(sql, values)


def read_matches(row: MatchRow) -> Matches:
    """Decode the row of a statement."""
    return Matches(int(row[0] or 0), _scored(row[1]), _scored(row[2]))


def _scored(found: str) -> list[tuple[int, float]]:
    pairs = _FOUND.decode(found)
    return by_rank([key for _, key in pairs], [rank for rank, _ in pairs])
