"""Where chunks of the index stand, as a ranking wants it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from memd.index.chunk_columns import FileNumbers, Places, pack_facts
from memd.index.files import ChunkRow
from memd.index.text_keys import key_of


def facts_of(rows: Collection[ChunkRow], numbers: FileNumbers) -> NDArray[np.int64]:
    """Return the facts of chunks, (n, 8)."""
    give = numbers.give
    facts = (
        (
            row.id,
            give(row.path),
            row.start_line,
            row.end_line,
            row.start_char,
            row.end_char,
            row.likeness,
            key_of(row.hash),
        )
        for row in rows
    )
    return pack_facts(facts, len(rows))


def places_of(rows: Collection[ChunkRow]) -> Places:
    """Return where chunks stand."""
    numbers = FileNumbers()
    return Places(facts_of(rows, numbers), numbers)
