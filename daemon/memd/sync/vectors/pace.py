"""How fast texts are embedded, and so how long the rest will take."""

from __future__ import annotations

TEXT_S = 0.006
"""What a text takes however short it is, about: with a small local model."""

FIRST_GUESS_S = 0.00005
"""What a character is thought to take before any was embedded."""

WEIGHT = 0.2
"""Weight of the last batch in what a character takes: it follows within some batches, and one odd one passes."""

CHARACTERS_PER_TOKEN = 4


class Pace:
    """The pace of one provider, and how many characters wait for it."""

    def __init__(self) -> None:
        self.characters = 0
        self.is_known = False
        self._character_s = FIRST_GUESS_S

    def __repr__(self) -> str:
        return f"<Pace {self._character_s * 1e6:.1f} us a character, {self.characters} to go>"

    @property
    def tokens(self) -> int:
        """About how many tokens wait."""
        return self.characters // CHARACTERS_PER_TOKEN

    def note(self, took_s: float, texts: int, characters: int) -> None:
        """Note how long texts took."""
        self.characters = max(0, self.characters - characters)
        pace_s = max(0.0, took_s - texts * TEXT_S) / max(1, characters)
        self._character_s += WEIGHT * (pace_s - self._character_s)
        self.is_known = True

    def needs_s(self, texts: int) -> float:
        """Return about how long so many texts and all waiting characters will take, one batch after the other."""
        return texts * TEXT_S + self.characters * self._character_s
