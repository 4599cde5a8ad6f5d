"""Tombstones: salted hashes of forgotten texts, by which their words are recognized wherever they come in again. Pure.

A tombstone doesn't contain the text, but whoever has it and the salt can test whether a guess is the text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from memd.text.lazy_pattern import lazy_pattern
from memd.text.tokens import CJK_CLASS, is_cjk

MARKER: Final = "[forgotten]"
MIN_WORDS, MIN_LETTERS = 3, 8
"""A shorter text is part of many others, which would lose it. A letter of a script without spaces counts twice."""

MAX_PAIRS: Final = 100_000

_MARKS: Final = "\xad\u0300-\u036f\u0653-\u0655\u200b-\u200f\u2060-\u206f\u3099\u309a\ufe00-\ufe0f\ufeff"
_RAW_WORD = lazy_pattern(rf"[{CJK_CLASS}][{_MARKS}]*|(?:[^\W_{CJK_CLASS}]+[{_MARKS}]*)+")
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_WORD = lazy_pattern(rf"[{CJK_CLASS}]|[^\W_{CJK_CLASS}]+")
_UNSEEN = re.compile("[\xad\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff]")
_MARKUP = re.compile(r"^\s*(?:[-*+>#]+|\d+[.)])?\s*(?:\[[ xX]\]\s)?|<!--\s*fact\b[^<>]*-->")


class Tombstone(Struct, frozen=True, array_like=True):
    """A forgotten text: its number of words, a short hash of the first two, which finds candidates, and one of all.

    `salt` is another machine's, in hexadecimal digits; it is empty for hashes with the salt of this machine.
    """

    words: Annotated[int, Meta(ge=1)]
    start: int
    digest: str
    salt: Annotated[str, Meta(pattern="^([0-9a-f]{2}){0,64}$")] = ""


class Forgotten:
    """What some tombstones recognize; those without a salt have `salt`."""

    def __init__(self, salt: bytes = b"", tombstones: Iterable[Tombstone] = ()) -> None:
        self._salt = salt
        self._stones = set[tuple[int, str]]()
        self._counts = dict[int, set[int]]()
        self._counts_of = dict[
            int, tuple[int, ...]
        ]()  # by hashes of two words, which versions of a text share
        others = dict[str, list[Tombstone]]()
        for stone in tombstones:
            if stone.salt:
                others.setdefault(stone.salt, []).append(replace(stone, salt=""))
            else:
                self._stones.add((stone.words, stone.digest))
                self._counts.setdefault(stone.start, set()).add(stone.words)
        self._others = [Forgotten(bytes.fromhex(other), stones) for other, stones in others.items()]

    def __bool__(self) -> bool:
        return bool(self._stones or self._others)

    def tombstone(self, text: str) -> Tombstone:
        """Return the tombstone of a text."""
        words = _words(text)
        return Tombstone(len(words), self._start(words[:2]), self._digest(words))

    def matches(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Yield the forgotten texts in a text: the digest, the start and the end of each."""
        for other in self._others:
            yield from other.matches(text)
        words, spans = _words(text) if self._stones else [], list[tuple[int, int]]()
        if len(self._counts_of) > MAX_PAIRS:
            self._counts_of.clear()
        for at, pair in enumerate(zip(words, [*words[1:], ""], strict=False)):
            if (counts := self._counts_of.get(key := hash(pair))) is None:
                starts = {self._start(pair[:1]), self._start(pair)}
                counts = tuple({count for start in starts for count in self._counts.get(start, ())})
                self._counts_of[key] = counts
            for count in counts:
                digest = self._digest(words[at : at + count])
                if at + count <= len(words) and (count, digest) in self._stones:
                    spans = spans or [
                        raw.span() for raw in _pattern(text).finditer(text) for _ in _folded(raw[0])
                    ]
                    yield digest, spans[at][0], spans[at + count - 1][1]

    def has(self, text: str) -> bool:
        """Return whether a text contains a forgotten one."""
        return next(self.matches(text), None) is not None

    def mask(self, text: str) -> str:
        """Return a text with a marker for each forgotten one; its lines keep their numbers."""
        for start, end in reversed(self._spans(text)):
            text = text[:start] + MARKER + "".join(re.findall(r"\r?\n", text[start:end])) + text[end:]
        return text

    def mask_all(self, value: Any) -> Any:
        """Return a value with all texts inside it masked."""
        match value if self else None:
            case str():
                return self.mask(value)
            case Struct():
                return replace(value, **{name: self.mask_all(part) for name, part in asdict(value).items()})
            case list() | tuple():
                parts = list(map(self.mask_all, value))
                return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
        return value

    def without(self, text: str) -> str:
        """Return a text without the forgotten ones, and without lines on which nothing else is left."""
        spans, lines, at = self._spans(text), list[str](), 0
        for line in text.splitlines(keepends=True):
            end, left = at + len(line), line
            for first, last in reversed(spans):
                if first < end and last > at:
                    left = left[: max(first - at, 0)].rstrip(" ") + left[max(0, last - at) :]
            if left == line or _WORD.search(_MARKUP.sub("", left)):
                lines.append(left if left.endswith("\n") or not line.endswith("\n") else left + "\n")
            at = end
        return "".join(lines)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for start, end in sorted((start, end) for _, start, end in self.matches(text)):
            if spans and start < spans[-1][1]:
                start, end = spans[-1][0], max(end, spans.pop()[1])
            spans.append((start, end))
        return spans

    def _digest(self, words: Sequence[str]) -> str:
        data = "\0".join(words).encode("utf-8", "replace")
        return hashlib.blake2b(data, key=self._salt, digest_size=16).hexdigest()

    def _start(self, words: Sequence[str]) -> int:
        return int(self._digest(("start", *words))[:4], 16)


def is_too_short(text: str) -> bool:
    """Return whether a text is so short that many other texts contain it."""
    words = _words(text)
    return len(words) < MIN_WORDS or sum(len(word) * (1 + is_cjk(word[0])) for word in words) < MIN_LETTERS


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _RAW_WORD


def _words(text: str) -> list[str]:
    return [word for raw in _pattern(text).findall(text) for word in _folded(raw)]


@lru_cache(65_536)
def _folded(raw: str) -> list[str]:
    """Return a word, or several letters without spaces, in the form in which words are compared."""
    return _WORD.findall(unicodedata.normalize("NFKC", _UNSEEN.sub("", raw)).casefold())


NOTHING_FORGOTTEN: Final = Forgotten()
