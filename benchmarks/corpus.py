"""Synthetic notes, questions and vectors: the same for every side that is measured.

The text is 20,000 words after Zipf's law, function words first, cut by the real chunker. The vectors are random unit
vectors: a search does all its work over them, and nothing is embedded.
"""

from __future__ import annotations

import itertools
import math
import random
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

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
"""Ranks a question's content words come from: in an eighth of all passages at one end, in one of 400 at the other."""

FRESH_CHARACTERS: Final = 1_167
"""New text a passage: 1,600 characters less what whole lines of overlap take."""


class StoredPassage(NamedTuple):
    """A row of `chunks` whose vector was stored."""

    id: int
    path: str
    text: str
    hash: str


@cache
def make_vocabulary() -> tuple[list[str], list[float]]:
    """Return 20,000 words with weights after Zipf's law; the subject's words stand at ranks 100 to 1,700."""
    words = ["".join(parts) for parts in itertools.islice(itertools.product(SYLLABLES, repeat=4), WORDS)]
    # In the product's order neighbours in rank would be neighbours in spelling.
    random.Random(11).shuffle(words)
    for place, word in enumerate(FUNCTION_WORDS):
        words[place] = word
    for place, word in enumerate(SUBJECT):
        words[100 + 400 * place] = word
    return words, [1 / (rank + 2.7) for rank in range(len(words))]


def make_corpus(home: StateHome, chunks: int, files: int, rng: random.Random) -> None:
    """Write notes that the chunker cuts into about `chunks` passages of 1,600 characters.

    Passages of the index are smaller than those: count the rows of `chunks` for the real number.
    """
    words, weights = make_vocabulary()
    cumulative = list(itertools.accumulate(weights))
    per_file = max(1, round(chunks / files))
    for number in range(files):
        lines = [f"# Note {number}", ""]
        size = 0
        while size < per_file * FRESH_CHARACTERS:
            line = "- " + " ".join(rng.choices(words, cum_weights=cumulative, k=rng.randint(8, 16)))
            lines.append(line)
            size += len(line) + 1
        home.note(f"memory/{number // 100:02d}/note-{number:04d}.md", "\n".join(lines) + "\n")


def make_questions(count: int, rng: random.Random) -> list[str]:
    """Return different questions of 4 to 9 words: function words, and words of the vocabulary's middle ranks."""
    words, _ = make_vocabulary()
    low, high = (math.log(rank) for rank in MIDDLE)
    asking = ("what", "how", "why", "when", "where", "which", "who")
    joining = ("the", "of", "and", "to", "in", "for", "with", "from")
    questions: dict[str, None] = {}
    while len(questions) < count:
        content = [words[int(math.exp(rng.uniform(low, high)))] for _ in range(rng.randint(2, 5))]
        asked = [rng.choice(asking), rng.choice(("is", "was", "does", "did"))]
        for word in content:
            if len(asked) + len(content) < 9 and rng.random() < 0.4:
                asked.append(rng.choice(joining))
            asked.append(word)
        questions[" ".join(asked[:9])] = None
    return list(questions)


def random_vectors(count: int, rng: np.random.Generator) -> np.ndarray:
    """Return unit vectors, one a row, float32."""
    matrix = rng.standard_normal((count, DIMS)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix


def store_random_vectors(index: Path, rng: np.random.Generator) -> list[StoredPassage]:
    """Give every passage of a closed index a random unit vector; return its passages.

    They belong to the space of `{"provider": "local", "local": {"modelPath": "minilm"}}`.
    """
    db = apsw.Connection(str(index))
    rows = [StoredPassage(*row) for row in db.execute("SELECT id, path, text, hash FROM chunks")]
    hashes = sorted({row.hash for row in rows})
    matrix = random_vectors(len(hashes), rng)
    space = SpaceKey("local", "minilm", space_of("local", "minilm"))
    with db:
        set_active_space(db, space.id, DIMS)
        store_vectors(db, space, hashes, matrix, 0)
    db.close()
    return rows
