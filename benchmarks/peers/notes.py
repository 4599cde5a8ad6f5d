"""The notes that all sides index, and queries for them.

Most are random English words in their natural frequency: a real model would cut invented words into so many tokens that
it would read little of a text. A few planted notes answer one query each, in other words.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from functools import cache
from itertools import accumulate
from pathlib import Path
from pydoc_data.topics import topics
from typing import Final

from benchmarks.corpus import FRESH_CHARACTERS

BLOCKS_PER_FILE: Final = 15

_DATA: Final = Path(__file__).with_name("planted.json")

PLANTED: Final[dict[str, tuple[str, str]]] = {
    name: (text, query) for name, (text, query) in json.loads(_DATA.read_text(encoding="utf-8")).items()
}
"""Text of a planted note, and a query that it answers."""


@cache
def make_words() -> tuple[list[str], list[int]]:
    """Return English words of Python's documentation, and their cumulative counts."""
    counts = Counter(re.findall(r"[a-z]{2,}", " ".join(topics.values()).lower())).most_common()
    return [word for word, _ in counts], list(accumulate(count for _, count in counts))


def write_notes(folder: Path, blocks: int, chance: random.Random) -> int:
    """Write `blocks` blocks of 1,600 characters and the planted notes; return bytes."""
    folder.mkdir(parents=True)
    total = 0
    for number in range(max(1, blocks // BLOCKS_PER_FILE)):
        lines, size = [f"# Note {number}", ""], 0
        while size < BLOCKS_PER_FILE * FRESH_CHARACTERS:
            lines.append("- " + random_words(chance.randint(8, 16), chance))
            size += len(lines[-1]) + 1
        (folder / f"note-{number:04d}.md").write_text("\n".join(lines) + "\n")
        total += size
    for name, (says, _) in PLANTED.items():
        # Long enough that the endpoint does not treat it as a query.
        text = f"# {name.title()}\n\n{says}\n{random_words(24, chance)}\n"
        (folder / planted_name(name)).write_text(text)
        total += len(text)
    return total


def random_words(count: int, chance: random.Random) -> str:
    """Return random words, weighted by frequency."""
    words, cumulative = make_words()
    return " ".join(chance.choices(words, cum_weights=cumulative, k=count))


def planted_name(name: str) -> str:
    """Return the file name of a planted note."""
    return f"planted-{name}.md"


def make_queries(notes: Path, count: int, chance: random.Random) -> list[str]:
    """Return distinct queries, each of some less frequent words of one line."""
    frequent = set(make_words()[0][:100])
    files = sorted(notes.glob("note-*.md"))
    queries: dict[str, None] = {}
    while len(queries) < count:
        line = chance.choice(chance.choice(files).read_text().splitlines()[2:])
        content = list(dict.fromkeys(word for word in line[2:].split() if word not in frequent))
        if len(content) > 2:
            asked = [chance.choice(("what", "how", "why", "when")), chance.choice(("is", "was", "does"))]
            queries[" ".join(asked + content[:5])] = None
    return list(queries)
