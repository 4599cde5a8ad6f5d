"""Chunks with the same text, found by its hash, so that a thousand copies of an entry are one hit."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from memd.index.files import ChunkRow, chunks_by_id
from memd.index.keyword import Scope, find_keyword, scope_sql, with_spare
from memd.index.numbers import pack_ids, pack_json, unpack_ids
from memd.system.sqlite import Database, get_int

READ_AT_ONCE = 400
"""Chunks whose hashes are read at once; usually the first batch is enough."""

COPIES_AT_ONCE = 8
"""Copies of a text in the first batch; each further batch is eight times as large."""

MOST_COPIES = 6400
"""Matches that are examined for distinct texts: more would take too much of a search's time."""


def find_distinct(
    db: Database,
    match: str,
    limit: int,
    scope: Scope | None = None,
    found: list[tuple[int, float]] | None = None,
) -> list[tuple[int, float]]:
    """Return matching chunks, best first; if copies take places of other texts, each text only once.

    `found` are the first `with_spare(limit)` matches, if they are known.
    """
    found = find_keyword(db, match, with_spare(limit), scope) if found is None else found
    best = found[:limit]
    # Copies have exactly equal scores, so a list of distinct scores has none.
    if len(best) < limit or _count_distinct(db, best) >= limit:
        return best
    distinct = _first_of_each(db, found, limit)
    if len(distinct) == limit or len(found) < with_spare(limit):
        return distinct
    # All at once, because FTS5 scores every match regardless of the limit.
    return _first_of_each(db, find_keyword(db, match, max(limit, MOST_COPIES), scope), limit)


def _count_distinct(db: Database, found: Sequence[tuple[int, float]]) -> int:
    """Return how many distinct texts chunks have; only chunks with equal scores are compared."""
    counts = Counter(score for _, score in found)
    if len(counts) == len(found):
        return len(found)
    tied = [key for key, score in found if counts[score] > 1]
    texts = get_int(
        db,
        "SELECT count(DISTINCT c.hash) FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value",
        (pack_ids(tied),),
    )
    return len(found) - len(tied) + texts


def _first_of_each(db: Database, found: Sequence[tuple[int, float]], limit: int) -> list[tuple[int, float]]:
    """Return the first chunk of each text, at most `limit`."""
    firsts: dict[str, tuple[int, float]] = {}
    for start in range(0, len(found), READ_AT_ONCE):
        part = found[start : start + READ_AT_ONCE]
        hashes = hashes_of(db, [key for key, _ in part])
        for key, score in part:
            firsts.setdefault(hashes[key], (key, score))
            if len(firsts) == limit:
                return list(firsts.values())
    return list(firsts.values())


def hashes_of(db: Database, ids: Collection[int]) -> dict[int, str]:
    """Return the hashes of chunks' texts by chunk id."""
    row = db.execute(  # one row, as in `keyword.find_keyword`
        """SELECT json_group_array(c.id), json_group_array(c.hash)
           FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value""",
        (pack_ids(ids),),
    ).fetchall()[0]
    return dict(zip(unpack_ids(row[0]), json.loads(str(row[1])), strict=True))


def find_copies(db: Database, digest: str, scope: Scope | None) -> Iterator[ChunkRow]:
    """Yield the chunks in scope that have one text, the representative first.

    The most trusted come first, notes before transcripts, then the last path (of dated notes, the newest). Read in
    batches, because usually the first is enough, and a text may have ten thousand copies.
    """
    condition, values = scope_sql(scope)
    start, count = 0, COPIES_AT_ONCE
    while True:
        found = db.execute(
            f"""SELECT c.id FROM chunks AS c WHERE c.hash = :hash AND {condition}
                ORDER BY c.origins, c.source <> 'memory', c.path DESC, c.id LIMIT :count OFFSET :start""",
            {**values, "hash": digest, "count": count, "start": start},
        )
        ids = [int(row[0]) for row in found]
        yield from chunks_by_id(db, ids)
        if len(ids) < count:
            return
        start, count = start + count, count * 8


def count_copies(db: Database, hashes: Collection[str], scope: Scope | None) -> dict[str, int]:
    """Return how many chunks in scope have each text."""
    condition, values = scope_sql(scope)
    rows = db.execute(
        f"""SELECT wanted.value, (SELECT count(*) FROM chunks AS c WHERE c.hash = wanted.value AND {condition})
            FROM json_each(:hashes) AS wanted""",
        {**values, "hashes": pack_json(sorted(hashes))},
    )
    return {str(digest): int(count) for digest, count in rows}
