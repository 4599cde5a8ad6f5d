"""Keyword search: rows in, ranked ids out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memd.index.database import Database, get_int
from memd.index.numbers import pack_ids, unpack_ids, unpack_scores
from memd.text.cut.chunking import path_words
from memd.text.language.spelling import index_text
from memd.text.query.identifiers import extra_words

Bindings: TypeAlias = dict[str, str | int | float | bytes]
"""Named values of a statement."""

LAST_CHARACTER = "\U0010ffff"
"""Sorts after every character a path can hold: ends the range of a prefix."""


RANK = "bm25(1.0, 0.4, 0.6)"
"""How a match counts: in the text itself; as a stem or part of a word; in the file's name or a heading above."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search is limited to; None means everything.

    `path_prefix` is the beginning of the index path, character by character (`memory/2026-`). `except_talk` is the
    path of a transcript whose last conversation is left out.
    """

    sources: tuple[str, ...] | None = None
    path_prefix: str | None = None
    except_talk: str | None = None


def scope_sql(scope: Scope | None, alias: str = "c") -> tuple[str, Bindings]:
    """Return a condition on a chunk and its values."""
    terms = ["1"]
    values: Bindings = {}
    if scope is not None and scope.sources is not None:
        names = [f"source{number}" for number in range(len(scope.sources))]
        values.update(zip(names, scope.sources, strict=True))
        terms.append(f"{alias}.source IN ({', '.join(':' + name for name in names)})")
    if scope is not None and scope.path_prefix:
        terms.append(f"{alias}.path >= :prefix AND {alias}.path < :prefix_end")
        values["prefix"] = scope.path_prefix
        values["prefix_end"] = scope.path_prefix + LAST_CHARACTER
    if scope is not None and scope.except_talk is not None:
        terms.append(
            f"NOT ({alias}.path = :talk AND {alias}.start_line >= "
            "coalesce((SELECT last_from FROM transcripts WHERE path = :talk), 1))"
        )
        values["talk"] = scope.except_talk
    return " AND ".join(terms), values


def narrow(db: Database, scope: Scope | None) -> Scope | None:
    """Return a scope without what limits nothing here, or None where nothing is left of it."""
    if scope is None or scope.path_prefix or scope.except_talk is not None:
        return scope
    if scope.sources is None:
        return None
    present = {str(row[0]) for row in db.execute("SELECT DISTINCT source FROM files")}
    return None if present <= set(scope.sources) else scope


def matching_sql(scope: Scope | None, name: str, only: str = "1") -> tuple[str, Bindings]:
    """Return a statement for the best `:limit` chunks that match, each with its id and rank, and the scope's values."""
    condition, values = scope_sql(scope)
    within = "" if scope is None else "CROSS JOIN chunks AS c ON c.id = f.rowid"
    return (
        f"""SELECT f.rowid AS id, f.rank AS rank FROM chunks_fts AS f {within}
            WHERE f.chunks_fts MATCH :{name} AND {condition} AND {only} ORDER BY rank, id LIMIT :limit""",
        values,
    )


def ranked(ids: Sequence[int], ranks: Sequence[float]) -> list[tuple[int, float]]:
    """Return chunks by FTS5's ranks as (chunk id, negated BM25), best first, equal scores by id."""
    return [(key, -rank) for rank, key in sorted(zip(ranks, ids, strict=True))]


def find_keyword(db: Database, match: str, limit: int, scope: Scope | None = None) -> list[tuple[int, float]]:
    """Return the chunks that match, best first. The scope acts before the ranking is cut."""
    if limit <= 0 or not match.strip():
        return []
    matching, values = matching_sql(narrow(db, scope), "match")
    # One row instead of many: between two rows Python's lock changes hands, which costs more than the rows
    # where another thread works beside this one.
    row = db.execute(
        f"""SELECT json_group_array(id), json_group_array(rank)
            FROM ({matching})""",
        {**values, "match": match, "limit": limit},
    ).fetchall()[0]
    return ranked(unpack_ids(row[0]), unpack_scores(row[1]))


def has_match(db: Database, match: str) -> bool:
    """Return whether any chunk matches."""
    return (
        db.execute("SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1", (match,)).fetchone()
        is not None
    )


def count_matches(db: Database, match: str, ids: Sequence[int]) -> tuple[int, list[int]]:
    """Return how many chunks match, and which of some do."""
    # One pass over all matches. Asking FTS5 for single rows starts the query anew for each of them.
    row = db.execute(
        """SELECT count(*), json_group_array(rowid) FILTER (WHERE rowid IN (SELECT value FROM json_each(?)))
           FROM chunks_fts WHERE chunks_fts MATCH ?""",
        (pack_ids(ids), match),
    ).fetchall()[0]
    return int(str(row[0])), unpack_ids(row[1])


def holding(
    db: Database, literal: str, ids: Sequence[int] | None, scope: Scope | None, limit: int = 1
) -> list[int]:
    """Return chunks whose text holds a literal, signs and all; the case of A to Z doesn't matter. Every text is
    read.
    """
    condition, values = scope_sql(scope)
    among = "" if ids is None else "AND c.id IN (SELECT value FROM json_each(:ids))"
    folded = "".join(each.lower() if each.isascii() else each for each in literal)  # as SQLite's lower() does
    rows = db.execute(
        f"""SELECT c.id FROM chunks AS c WHERE {condition} {among} AND instr(lower(c.text), :literal)
            ORDER BY c.id LIMIT :limit""",
        {**values, "ids": pack_ids(ids or []), "literal": folded, "limit": limit},
    )
    return [int(row[0]) for row in rows]


def count_chunks(db: Database) -> int:
    """Return about how many chunks there are: the number of the newest one."""
    return get_int(db, "SELECT coalesce(max(id), 0) FROM chunks")


def insert_words(db: Database, chunk_id: int, path: str, context: str, text: str) -> None:
    """Write what a chunk is found by: the words of its text, and of where it stands."""
    insert_words_of_file(db, path, [(chunk_id, context, text)])


def insert_words_of_file(db: Database, path: str, rows: Sequence[tuple[int, str, str]]) -> None:
    """Do what `insert_words` does for several chunks of one file, in much less time."""
    name = path_words(path)
    places = list(dict.fromkeys(context or name for _, context, _ in rows))
    where = {
        place: f"{index_text(place)} {extra}".strip()
        for place, extra in zip(places, extra_words(places), strict=True)
    }
    extras = extra_words([text for _, _, text in rows])
    db.executemany(
        "INSERT INTO chunks_fts (rowid, text, extra, context) VALUES (?, ?, ?, ?)",
        (
            (key, index_text(text), extra, where[context or name])
            for (key, context, text), extra in zip(rows, extras, strict=True)
        ),
    )


def tidy(db: Database) -> None:
    """Merge the parts FTS5 has written one commit at a time into one: a word is then looked up once, not in each.

    It takes some 7 ms for a thousand chunks, so it is for after many changes.
    """
    db.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
