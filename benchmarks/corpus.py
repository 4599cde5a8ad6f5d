"""Synthetic notes, queries and vectors, the same for all compared systems.

The text is of 20,000 words after Zipf's law, function words first, cut by the real chunker. Vectors are random unit
vectors: a search does all of its work, and nothing is embedded.
"""

from __future__ import annotations

import itertools
import math
import random
from functools import cache
from pathlib import Path
from typing import Final

import apsw
import numpy as np

from memd.embedding.local.reference import space_of
from memd.index.cache import SpaceKey, set_active_space, store_vectors
from tests.support.state_homes import StateHome

DIMS: Final = 384

QUERY: Final = "why does the billing gateway retry the invoice webhook"

SUBJECT: Final = ("billing", "gateway", "retry", "invoice", "webhook")

FUNCTION_WORDS: Final = (
    "the of and to in is was for that it on with as by at from this".split()
    + "what how why when where which who does did we".split()
)

SYLLABLES: Final = "ba ce di fo gu ka le mi no pu ra se ti vo zu".split()

WORDS: Final = 20_000

MIDDLE: Final = (100, 5_000)
"""Ranks of the content words of queries: from 1 in 8 to 1 in 400 of all chunks."""

FRESH_CHARACTERS: Final = 1_167
"""New text of a block: 1,600 characters without the overlap of complete lines."""


@cache
def make_vocabulary() -> tuple[list[str], list[float]]:
    """Return 20,000 words with weights after Zipf's law."""
    words = ["".join(parts) for parts in itertools.islice(itertools.product(SYLLABLES, repeat=4), WORDS)]
    # Without it, words of adjacent ranks would be spelled alike.
    random.Random(11).shuffle(words)
    for place, word in enumerate(FUNCTION_WORDS):
        words[place] = word
    for place, word in enumerate(SUBJECT):
        words[100 + 400 * place] = word
    return words, [1 / (rank + 2.7) for rank in range(len(words))]


def make_corpus(home: StateHome, blocks: int, files: int, rng: random.Random) -> None:
    """Write notes of about `blocks` blocks of 1,600 characters.

    The index has about three chunks per block: count the rows of `chunks`.
    """
    words, weights = make_vocabulary()
    cumulative = list(itertools.accumulate(weights))
    per_file = max(1, round(blocks / files))
    for number in range(files):
        lines = [f"# Note {number}", ""]
        size = 0
        while size < per_file * FRESH_CHARACTERS:
            line = "- " + " ".join(rng.choices(words, cum_weights=cumulative, k=rng.randint(8, 16)))
            lines.append(line)
            size += len(line) + 1
        home.note(f"memory/{number // 100:02d}/note-{number:04d}.md", "\n".join(lines) + "\n")


def make_queries(count: int, rng: random.Random) -> list[str]:
    """Return distinct queries of 4 to 9 words."""
    words, _ = make_vocabulary()
    low, high = (math.log(rank) for rank in MIDDLE)
    asking = ("what", "how", "why", "when", "where", "which", "who")
    joining = ("the", "of", "and", "to", "in", "for", "with", "from")
    queries: dict[str, None] = {}
    while len(queries) < count:
        content = [words[int(math.exp(rng.uniform(low, high)))] for _ in range(rng.randint(2, 5))]
        asked = [rng.choice(asking), rng.choice(("is", "was", "does", "did"))]
        for word in content:
            if len(asked) + len(content) < 9 and rng.random() < 0.4:
                asked.append(rng.choice(joining))
            asked.append(word)
        queries[" ".join(asked[:9])] = None
    return list(queries)


def random_vectors(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return unit vectors as rows, float32."""
    matrix = rng.standard_normal((count, DIMS)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def store_random_vectors(index: Path, rng: np.random.Generator) -> int:
    """Give every chunk of a closed index a random unit vector; return the number of chunks.

    The vectors are of the space of `{"provider": "local", "local": {"modelPath": "minilm"}}`.
    """
    db = apsw.Connection(str(index))
    rows = [str(row[0]) for row in db.execute("SELECT hash FROM chunks")]
    hashes = sorted(set(rows))
    space = SpaceKey("local", "minilm", space_of("local", "minilm"))
    with db:
        set_active_space(db, space.id, DIMS)
        store_vectors(db, space, hashes, random_vectors(len(hashes), rng), 0)
    db.close()
    return len(rows)
