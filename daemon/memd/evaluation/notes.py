"""An agent's notes as lines, each with its place, and which lines contain a text."""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

from memd.text.cut.annotations import CURATED_FILES, hide_annotations
from memd.text.cut.chunking import HEADING, Chunk, cut_chunks
from memd.text.language.stopwords import WORDS_OF
from memd.text.tokens import folded_words
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import FileEntry

PAGE_FILES = 1_000
"""Files listed per request; the protocol's limit."""

MAX_NOTES = 2_000
"""Notes that queries are made from, chosen by a hash of their paths: reading more takes minutes."""

MIN_WORD_LETTERS = 3
"""Shortest distinctive term; shorter ones are mostly grammar."""

MIN_COMMON_LINES, COMMON_SHARE = 5, 0.05
"""A word is too common to be distinctive in more lines than this, and in more than this share of all lines."""

MAX_LINES_FOUND = 50


class NoteKind(StrEnum):
    """The kinds of files in the table of `memctl eval`."""

    DAILY = "daily notes"
    CURATED = "curated notes"
    OTHER = "other notes"
    EXTRA = "extra paths"


@dataclass(frozen=True, slots=True)
class Note:
    """The text of a file. `day` is the day at the start of its name (YYYY-MM-DD), or None."""

    path: str
    kind: NoteKind
    text: str
    day: str | None = None


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A line with text.

    Attributes:
        note: The note.
        number: The line's number in the file.
        text: Its text; of a heading without the signs before it.
        is_heading: Whether it is a heading.
        chunk: The chunk that contains it, where a hit should be.
    """

    note: Note
    number: int
    text: str
    is_heading: bool
    chunk: Chunk


def read_notes(client: Client, agent: str, show: Callable[[int, int], None]) -> list[Note]:
    """Return the notes in an agent's index, at most `MAX_NOTES`, without those that can't be read any more."""
    entries: dict[str, FileEntry] = {}
    offset, total = 0, 1
    while offset < total:
        page = client.files(agent=agent, offset=offset, limit=PAGE_FILES)
        entries |= {each.path: each for each in page.files if each.chunks and each.path.endswith(".md")}
        offset, total = offset + PAGE_FILES, page.total
    chosen = sorted(entries.values(), key=lambda entry: stable_hash(entry.path))[:MAX_NOTES]
    notes: list[Note] = []
    for done, entry in enumerate(chosen, 1):
        with contextlib.suppress(FileMissingError, FileUnreadableError, PathRefusedError):
            text = client.get(entry.path, agent=agent).text
            notes.append(Note(entry.path, kind_of(entry), text, entry.date))
        show(done, len(chosen))
    return notes


def kind_of(entry: FileEntry) -> NoteKind:
    """Return the kind of a file."""
    if entry.path in CURATED_FILES:
        return NoteKind.CURATED
    if not entry.path.startswith("memory/"):
        return NoteKind.EXTRA
    return NoteKind.OTHER if entry.date is None else NoteKind.DAILY


def stable_hash(*parts: str) -> str:
    """Return a hash of strings that is the same in every process."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def text_key(text: str) -> str:
    """Return the words of a text with spaces around them, for comparing and finding texts."""
    return f" {' '.join(folded_words(text))} "


class NoteIndex:
    """All lines of an agent's notes, listed by their words."""

    def __init__(self, notes: Iterable[Note]) -> None:
        ordered = sorted(notes, key=lambda note: (note.path, note.text))
        self.lines = [line for note in ordered for line in split_lines(note)]
        self._keys = [text_key(line.text) for line in self.lines]
        self._lines_with: dict[str, list[int]] = defaultdict(list)
        for at, key in enumerate(self._keys):
            for word in set(key.split()):
                self._lines_with[word].append(at)

    def count(self, word: str) -> int:
        """Return how many lines contain a word."""
        return len(self._lines_with.get(word.lower(), ()))

    def find(self, text: str) -> list[NoteLine]:
        """Return the first lines that contain the words of a text in order, at most `MAX_LINES_FOUND`."""
        key = text_key(text)
        rarest = min(key.split(), key=self.count, default="")
        lines = (self.lines[at] for at in self._lines_with.get(rarest, ()) if key in self._keys[at])
        return list(islice(lines, MAX_LINES_FOUND))

    def is_distinctive(self, word: str) -> bool:
        """Return whether a word tells what a line is about: neither short, nor grammar, nor in many lines."""
        if len(word) < MIN_WORD_LETTERS or word.lower() in WORDS_OF["en"]:
            return False
        return 0 < self.count(word) <= max(MIN_COMMON_LINES, COMMON_SHARE * len(self.lines))


def split_lines(note: Note) -> list[NoteLine]:
    """Return the lines of a note that have text, each with the chunk that contains it."""
    lines: list[NoteLine] = []
    end, is_code = 0, False
    for chunk in cut_chunks(hide_annotations(note.text), note.path):
        for number, raw in enumerate(chunk.text.split("\n"), chunk.start_line):
            if number <= end:  # chunks overlap
                continue
            end = number
            if raw.lstrip().startswith(("```", "~~~")):
                is_code = not is_code
                continue
            heading = None if is_code else HEADING.match(raw)
            text = (raw[heading.end() :] if heading else raw).strip()
            if folded_words(text):
                lines.append(NoteLine(note, number, text, heading is not None, chunk))
    return lines
