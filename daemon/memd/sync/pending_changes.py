"""What is known to have changed and isn't searchable yet, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from memd.index.files import FileRow
from memd.sync.disk.changes import Changes, count_behind, oldest_change_ms
from memd.sync.vectors.fill import VectorFill
from memd_client.messages import Pending


class PendingVectors(Protocol):
    """What is known of texts without a vector in the space that answers."""

    @property
    def fill(self) -> VectorFill | None:
        """Who embeds, or None."""

    @property
    def chunks_pending(self) -> int:
        """How many texts there are."""


def count_pending(
    changes: Changes | None,
    rows: Mapping[str, FileRow],
    last_sync_ms: int | None,
    vectors: PendingVectors,
    now_ms: int,
) -> Pending:
    """Return how many files are to be read and texts to be embedded, and how long the oldest has waited."""
    chunks = vectors.chunks_pending
    if not changes and not chunks:
        return Pending()
    since = []
    if changes:
        since.append(oldest_change_ms(changes, rows, last_sync_ms))
    if chunks and vectors.fill is not None:
        since.append(vectors.fill.oldest_ms)
    oldest = min((moment for moment in since if moment is not None), default=now_ms)
    return Pending(count_behind(changes, rows) if changes else 0, chunks, max(0, now_ms - oldest))
