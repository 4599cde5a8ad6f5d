"""Keyword search with FTS5, and the rows it searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from memd.index.numbers import pack_ids, unpack_ids, unpack_scores
from memd.system.sqlite import Database, get_int
from memd.text.cut.chunking import path_words
from memd.text.language.spelling import index_text
from memd.text.query.identifiers import extra_words

Bindings: TypeAlias = dict[str, str | int | float | bytes]
"""Named values of a statement."""

LAST_CHARACTER = "\U0010ffff"
"""Sorts after every other character: ends the range of a path prefix."""


LATEST_MS = 2**63 - 1
"""The largest integer of SQLite."""

IN_PROJECT = """(lower(t.project) = :project OR lower(t.cwd) = :project
    OR substr(lower(t.project), -length(:project) - 1) = '/' || :project)"""
"""Condition on a transcript `t`: it belongs to a project, named by its folder or its path."""

RANK = "bm25(1.0, 0.4, 0.6)"
"""BM25 weights of the columns: the text; stems and parts of words; the file's name or the headings above."""


class Scope(Struct, frozen=True):
    """Filters of a search; None means everything.

    `path_prefix` is the beginning of the index path (`memory/2026-`). `except_conversation` is the path of a
    transcript whose last conversation is excluded, `except_session` a session that is excluded, by its id.
    `project` is the name or path of the project in which a conversation was held. `since_ms` is the earliest time
    at which text was said or written, `until_ms` the time before which it was. `origins` is a bit mask: text with a
    line of one of these origins.
    """

    sources: tuple[str, ...] | None = None
    path_prefix: str | None = None
    except_conversation: str | None = None
    except_session: str | None = None
    project: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    origins: int | None = None

    @property
    def is_by_source(self) -> bool:
        """Whether nothing but the sources is filtered."""
        return self == Scope(self.sources)


def scope_sql(scope: Scope | None, alias: str = "c") -> tuple[str, Bindings]:
    """Return an SQL condition on a chunk, and its values."""
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
    if scope is not None and scope.except_conversation is not None:
        terms.append(
            f"NOT ({alias}.path = :conversation AND {alias}.start_line >= "
            "coalesce((SELECT last_from FROM transcripts WHERE path = :conversation), 1))"
        )
        values["conversation"] = scope.except_conversation
    if scope is not None and scope.except_session is not None:
        terms.append(f"NOT {_of_transcript(alias, 't.session = :except_session')}")
        values["except_session"] = scope.except_session
    if scope is not None and scope.project is not None:
        terms.append(_of_transcript(alias, IN_PROJECT))
        values["project"] = scope.project.lower().rstrip("/")
    if scope is not None and (scope.since_ms is not None or scope.until_ms is not None):
        terms.append(
            f"""coalesce((SELECT time_ms FROM chunk_times WHERE id = {alias}.id),
                (SELECT mtime_ns / 1000000 FROM files WHERE path = {alias}.path)) BETWEEN :since AND :until - 1"""
        )
        values["since"] = scope.since_ms or 0
        values["until"] = LATEST_MS if scope.until_ms is None else scope.until_ms
    if scope is not None and scope.origins is not None:
        terms.append(f"{alias}.origins & :origins")
        values["origins"] = scope.origins
    return " AND ".join(terms), values


def _of_transcript(alias: str, condition: str) -> str:
    """Return an SQL condition on the transcript of a chunk."""
    return f"EXISTS (SELECT 1 FROM transcripts AS t WHERE t.path = {alias}.path AND {condition})"


def simplify_scope(db: Database, scope: Scope | None) -> Scope | None:
    """Return the scope, or None if it excludes no chunk of this index."""
    if scope is None or not scope.is_by_source:
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


def by_rank(ids: Sequence[int], ranks: Sequence[float]) -> list[tuple[int, float]]:
    """Return (chunk id, negated BM25) from FTS5's ranks, best first, equal scores by id."""
    return [(key, -rank) for rank, key in sorted(zip(ranks, ids, strict=True))]


def with_spare(limit: int) -> int:
    """Return how many matches to read for so many distinct texts: a few copies then cost no second search."""
    return limit + limit // 2


def find_keyword(db: Database, match: str, limit: int, scope: Scope | None = None) -> list[tuple[int, float]]:
    """Return (chunk id, negated BM25) of matching chunks, best first. The scope applies before the limit."""
    if limit <= 0 or not match.strip():
        return []
    matching, values = matching_sql(simplify_scope(db, scope), "match")
    # One row instead of many: between two rows the GIL changes hands, which costs more than the rows if another
    # thread is working.
    row = db.execute(
        f"""SELECT json_group_array(id), json_group_array(rank)
            FROM ({matching})""",
        {**values, "match": match, "limit": limit},
    ).fetchall()[0]
    return by_rank(unpack_ids(row[0]), unpack_scores(row[1]))


def find_few(db: Database, match: str, most: int, scope: Scope | None = None) -> list[int]:
    """Return the chunks that match, if they are few; none if they are more. Doesn't rank, so that it can stop early."""
    condition, values = scope_sql(scope)
    rows = db.execute(
        f"""SELECT c.id FROM chunks_fts AS f CROSS JOIN chunks AS c ON c.id = f.rowid
            WHERE f.chunks_fts MATCH :match AND {condition} LIMIT :limit""",
        {**values, "match": match, "limit": most + 1},
    )
    ids = [int(row[0]) for row in rows]
    return ids if len(ids) <= most else []


def has_match(db: Database, match: str) -> bool:
    """Return whether any chunk matches."""
    return (
        db.execute("SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1", (match,)).fetchone()
        is not None
    )


def count_matches(
    db: Database, match: str, ids: Sequence[int], table: str = "chunks_fts"
) -> tuple[int, list[int]]:
    """Return how many chunks (or rows of another FTS5 table) match, and which of `ids` do."""
    # One pass over all matches, because FTS5 would restart the query for each single row.
    row = db.execute(
        f"""SELECT count(*), json_group_array(rowid) FILTER (WHERE rowid IN (SELECT value FROM json_each(?)))
            FROM {table} WHERE {table} MATCH ?""",
        (pack_ids(ids), match),
    ).fetchall()[0]
    return int(str(row[0])), unpack_ids(row[1])


def find_literal(
    db: Database, literal: str, ids: Sequence[int] | None, scope: Scope | None, limit: int = 1
) -> list[int]:
    """Return chunks whose text contains a literal, ignoring the case of A to Z. Reads every text in scope."""
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
    """Return an upper bound of the number of chunks: the highest id."""
    return get_int(db, "SELECT coalesce(max(id), 0) FROM chunks")


def insert_words(db: Database, chunk_id: int, path: str, context: str, text: str) -> None:
    """Write the keyword row of a chunk: the words of its text, headings and file name."""
    insert_words_of_file(db, path, [(chunk_id, context, text)])


def insert_words_of_file(db: Database, path: str, rows: Sequence[tuple[int, str, str]]) -> None:
    """Write the keyword rows of several chunks of one file, faster than one by one."""
    name = path_words(path)
    contexts = list(dict.fromkeys(context or name for _, context, _ in rows))
    context_words = {
        context: f"{index_text(context)} {extra}".strip()
        for context, extra in zip(contexts, extra_words(contexts), strict=True)
    }
    extras = extra_words([text for _, _, text in rows])
    db.executemany(
        "INSERT INTO chunks_fts (rowid, text, extra, context) VALUES (?, ?, ?, ?)",
        (
            (key, index_text(text), extra, context_words[context or name])
            for (key, context, text), extra in zip(rows, extras, strict=True)
        ),
    )


def merge_segments(db: Database) -> None:
    """Merge FTS5's segments, one from each commit, so that a word is looked up once. For after many changes."""
    for table in ("chunks_fts", "work_fts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
