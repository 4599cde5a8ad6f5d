"""Guesses the language of a text: by its script, and within the Latin script by words and letters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Final

from memd.text.language.stems import languages_of_text

LETTERS_READ: Final = 200
"""Letters whose scripts are counted."""


def guess_language(text: str) -> str:
    """Return a language's code, or the name of a script other than Latin, such as `cyrillic`; `en` if unsure."""
    if not text.isascii():
        letters = [letter for letter in text[: 2 * LETTERS_READ] if letter.isalpha()][:LETTERS_READ]
        scripts = Counter(unicodedata.name(letter, "LATIN").partition(" ")[0] for letter in letters)
        script = max(scripts, key=scripts.__getitem__, default="LATIN")
        if script != "LATIN":
            return script.lower()
    return next(iter(languages_of_text(set(text.lower().split()), text)), "en")
