"""The notes that all sides index, and queries for them.

Most are random English words in their natural frequency: a real model would cut invented words into so many tokens that
it would read little of a text. A few planted notes answer one query each, in other words.
"""

from __future__ import annotations

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

PLANTED: Final = {
    "espresso": (
        "The espresso machine in the Oslo office is descaled on every third Friday; Ingrid does it.",
        "who descales the espresso machine in the Oslo office",
    ),
    "passport": (
        "My passport expires on 14 March 2029, and renewing it takes eight weeks at the consulate.",
        "when does my passport expire",
    ),
    "allergy": (
        "Grandmother is allergic to walnuts and to penicillin; the clinic has it on file.",
        "what is grandmother allergic to",
    ),
    "bicycle": (
        "The red bicycle was sold to Tomasz for 180 euros, lock and lights included.",
        "who bought the red bicycle",
    ),
    "wifi": (
        "Guests in the cabin use the wireless network Birchwood; its password hangs inside the pantry.",
        "which wireless network do guests in the cabin use",
    ),
    "invoice": (
        "Invoices for Halvorsen Shipping go out on the 25th, net 45 days, in Norwegian crowns.",
        "on which day are invoices for Halvorsen Shipping sent",
    ),
    "tomatoes": (
        "Tomatoes are sown indoors in the first week of March and planted out after the ice saints.",
        "when are tomatoes sown indoors",
    ),
    "backup": (
        "The nightly backup of the photo archive runs at 03:40 and goes to the vault in Reykjavik.",
        "where does the nightly backup of the photo archive go",
    ),
    "dentist": (
        "Doctor Okafor moved her dental practice to Lindenstrasse 12, second floor.",
        "what is the new address of the dental practice of Doctor Okafor",
    ),
    "violin": (
        "Leah's violin lessons are on Wednesdays at half past four with Mister Petrov.",
        "who teaches Leah the violin",
    ),
    "boiler": (
        "The boiler loses pressure below one bar; refill it by the blue valve behind the washing machine.",
        "how do I refill the boiler when it loses pressure",
    ),
    "wedding": (
        "Priya and Daniel marry on 6 September in the botanical garden of Padua.",
        "in which garden do Priya and Daniel marry",
    ),
    "insurance": (
        "The household insurance covers bicycles up to 2,500 francs, but only when they were locked.",
        "up to what amount does the household insurance cover bicycles",
    ),
    "kitten": (
        "The kitten gets her second vaccination on the ninth of May at the veterinary on Harbour Road.",
        "when is the second vaccination of the kitten",
    ),
    "printer": (
        "The printer jams with recycled paper; the tray on the left takes it without trouble.",
        "why does the printer jam",
    ),
    "marathon": (
        "Training for the Valencia marathon: long runs on Sunday, thirty kilometres at most.",
        "on which day are the long runs of the marathon training",
    ),
    "bread": (
        "Sourdough rests for sixteen hours in the refrigerator, then bakes at 240 degrees in the iron pot.",
        "how long does the sourdough rest in the refrigerator",
    ),
    "telescope": (
        "The telescope was lent to the school in Gjøvik until the end of the autumn term.",
        "which school has borrowed the telescope",
    ),
    "rent": (
        "Rent for the workshop rises to 940 pounds in January; the landlord agreed to new windows.",
        "how much is the rent for the workshop from January",
    ),
    "ferry": (
        "The last ferry back from the island leaves at 21:15, on Sundays an hour earlier.",
        "what time does the last ferry from the island leave",
    ),
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
