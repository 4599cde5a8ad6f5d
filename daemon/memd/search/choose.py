"""Choice of the candidates for hits: without near duplicates and without text that better hits show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct, field

from memd.index.copies import count_copies
from memd.index.files import ChunkRow, load_contexts
from memd.index.snapshot import Database
from memd.search.query import Query
from memd.search.rank.fusion import Ranked, ids_of
from memd.search.rank.order import Ranking

MAX_SHOWN_SHARE = 0.75
"""A candidate is skipped if better hits' snippets show more than this share of it."""


class HitCandidate(Struct, frozen=True):
    """A candidate that may become a hit.

    Attributes:
        item, row, text: The candidate and its chunk.
        original: The best candidate of which it is a near duplicate, or itself.
        context: The context of its chunk.
        copies: How many places have its text or a near duplicate.
        is_unique: Whether no other place has exactly its text.
    """

    item: Ranked
    row: ChunkRow
    text: str
    original: int
    context: str
    copies: int
    is_unique: bool


class ShownText(Struct, frozen=True):
    """What the hits so far show: spans of files, and originals of near duplicates."""

    spans: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    originals: set[int] = field(default_factory=set)

    def add(self, choice: HitCandidate, path: str, span: tuple[int, int]) -> None:
        """Add a hit at one of its places."""
        self.spans[path].append(span)
        self.originals.add(choice.original)

    def has(self, original: int, row: ChunkRow) -> bool:
        """Return whether hits show a near duplicate or most of a chunk."""
        if original in self.originals:
            return True
        shown, at = 0, row.start_char
        for start, end in sorted(self.spans.get(row.path, [])):
            upto = min(end, row.end_char)
            shown += max(0, upto - max(start, at))
            at = max(at, upto)
        return shown > MAX_SHOWN_SHARE * (row.end_char - row.start_char)


def choose(
    db: Database, query: Query, ranking: Ranking, page: Sequence[Ranked], shown: ShownText
) -> list[HitCandidate]:
    """Return the candidates of a page that are not shown yet, in their order (blocking)."""
    rows, duplicates, ids = ranking.located.rows, ranking.near_duplicates, ids_of(page)
    rows.load(ids)
    originals = duplicates.find_originals(ids)
    left = [
        (item, key) for item, key in zip(page, ids, strict=True) if not shown.has(originals[key], rows[key])
    ]
    groups = duplicates.find_groups({originals[key] for _, key in left})
    rows.load([key for group in groups.values() for key in group])
    # Copies of a text are separate candidates, and the count by hash includes all of them.
    alike = {original: {rows[key].hash for key in group} for original, group in groups.items()}
    hashes = {digest for _, key in left for digest in (rows[key].hash, *alike[originals[key]])}
    counts = count_copies(db, hashes, query.limits.scope)
    texts = rows.texts([key for _, key in left])
    contexts = load_contexts(db, [key for _, key in left])
    return [
        HitCandidate(
            item,
            rows[key],
            texts[key],
            originals[key],
            contexts[key],
            sum(counts[digest] for digest in alike[originals[key]]),
            counts[rows[key].hash] == 1,
        )
        for item, key in left
        if key in texts
    ]
