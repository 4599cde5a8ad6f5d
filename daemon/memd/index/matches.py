"""Chunks that match any of some terms, and those that match all of them, in one statement.

One, because SQLite leaves Python's lock to others from its begin to its end: a search that has a second thread for it
compares vectors meanwhile. That thread runs the statement and nothing else; what needs the lock is done by the search's
own thread, before and after.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, cast

import msgspec

from memd.index.database import Database
from memd.index.files import ROW_AS_JSON, ChunkRow
from memd.index.keyword import Bindings, Scope, matching_sql, narrow, ranked
from memd.index.meta import GENERATION

MatchRow: TypeAlias = tuple[str | None, str, str]
"""Generation; what any of the words brings up, and what all do, as JSON."""

_FOUND = msgspec.json.Decoder(list[tuple[float, ChunkRow | int]])


@dataclass(frozen=True, slots=True)
class Matches:
    """Keyword matches, each side as (chunk id, negated BM25), best first.

    Attributes:
        generation: Of the index.
        by_any: Those that hold any of the words.
        by_all: Those that match all terms; empty if `by_any` was not cut, and so has them already.
        rows: Where all of them are, by id.
    """

    generation: int
    by_any: list[tuple[int, float]]
    by_all: list[tuple[int, float]] = field(default_factory=list)
    rows: dict[int, ChunkRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatchStatement:
    """The statement, ready to be run.

    Attributes:
        sql: As SQLite takes it.
        values: By name.
    """

    sql: str
    values: Bindings

    def run(self, db: Database) -> MatchRow:
        """Return the one row it gives, for `read_matches`; nothing is done but what SQLite does."""
        return cast(MatchRow, db.execute(self.sql, self.values).fetchall()[0])


def match_statement(
    db: Database,
    any_of: str,
    all_of: str | None,
    limit: int,
    scope: Scope | None = None,
    *,
    with_rows: bool = True,
) -> MatchStatement:
    """Return the statement for the chunks that match, best first. The scope acts before either list is cut."""
    scope = narrow(db, scope)
    some, values = matching_sql(scope, "any_of")
    every, _ = matching_sql(scope, "all_of", only="(SELECT count(*) FROM some) = :limit")
    values |= {"any_of": any_of, "limit": limit, "generation": GENERATION}
    if all_of is None:
        every = "SELECT NULL AS id, NULL AS rank WHERE 0"
    else:
        values["all_of"] = all_of
    found = f"json_array(found.rank, {ROW_AS_JSON})" if with_rows else "json_array(found.rank, found.id)"
    rows = "CROSS JOIN chunks AS c ON c.id = found.id" if with_rows else ""
    sql = f"""WITH some AS MATERIALIZED ({some}), every AS MATERIALIZED ({every})
              SELECT (SELECT value FROM meta WHERE key = :generation),
                     (SELECT json_group_array({found}) FROM some AS found {rows}),
                     (SELECT json_group_array({found}) FROM every AS found {rows})"""
    return MatchStatement(sql, values)


def read_matches(row: MatchRow) -> Matches:
    """Return what a statement's row says."""
    some, every = _FOUND.decode(row[1]), _FOUND.decode(row[2])
    return Matches(
        generation=int(row[0] or 0),
        by_any=_scored(some),
        by_all=_scored(every),
        rows={chunk.id: chunk for _, chunk in some + every if not isinstance(chunk, int)},
    )


def _scored(found: list[tuple[float, ChunkRow | int]]) -> list[tuple[int, float]]:
    ids = [chunk if isinstance(chunk, int) else chunk.id for _, chunk in found]
    return ranked(ids, [rank for rank, _ in found])
