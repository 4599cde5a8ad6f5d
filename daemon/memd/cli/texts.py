"""Texts from the command line or standard input, checked before anything is sent."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Sequence
from datetime import date

import click

from memd.cli.options import MAX_FACT_CHARS, MAX_NOTE_BYTES, MAX_QUERY_CHARS

STDIN = "-"
"""The argument that stands for the text on standard input."""

MAX_BYTES_PER_CHAR = 4
"""Of UTF-8."""

OLDEST_YEAR = 100
"""Of a note's day: the daemon takes a smaller one for no date."""


_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KEY = re.compile(r"[A-Za-z0-9._:-]{1,128}")


def day(text: str) -> str:
    """Return a day as YYYY-MM-DD."""
    try:
        is_day = _DAY.fullmatch(text) is not None and date.fromisoformat(text).year >= OLDEST_YEAR
    except ValueError:
        is_day = False
    if not is_day:
        raise click.BadParameter(f"{text[:80]!r} is no day as YYYY-MM-DD.")
    return text


def note_key(text: str) -> str:
    """Return the key of a note's entry."""
    if _KEY.fullmatch(text) is None:
        raise click.BadParameter(f"{text[:80]!r} is not 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    return text


def search_text(words: Sequence[str]) -> str:
    """Return the query that words are."""
    query = " ".join(words)
    reason = ""
    if len(query) > MAX_QUERY_CHARS:
        reason = f"it has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are possible"
    elif not query.strip():
        reason = "it is empty; give at least one word"
    elif not any(unicodedata.category(each)[0] in "LNS" for each in query):
        reason = f"{query.strip()!r} has no letter, digit or symbol; give at least one word"
    if reason:
        raise click.BadParameter(f"{reason}.", param_hint="QUERY")
    return query


def note_text(words: Sequence[str]) -> str:
    """Return the entry of a note that words are, or standard input if they are `-`."""
    return _read(
        words, MAX_NOTE_BYTES, f"{MAX_NOTE_BYTES:,} bytes; keep it as a file of its own below memory/"
    )


def fact_text(words: Sequence[str]) -> str:
    """Return the fact that words are, or standard input if they are `-`."""
    limit = f"{MAX_FACT_CHARS:,} characters; `memctl note` takes longer texts"
    text = _read(words, MAX_BYTES_PER_CHAR * MAX_FACT_CHARS, limit)
    if len(text) > MAX_FACT_CHARS:
        raise _refused(f"it has more than {limit}")
    if not re.search(r"\w", text):
        raise _refused("it has no letter or digit")
    return text


def _read(words: Sequence[str], max_bytes: int, limit: str) -> str:
    """Return the text that words are, or standard input if they are `-`."""
    octets = _read_stdin(max_bytes + 1) if list(words) == [STDIN] else " ".join(words).encode()
    if len(octets) > max_bytes:
        raise _refused(f"it has more than {limit}")
    if b"\0" in octets:
        raise _refused("it has NUL bytes, so it is no text")
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"byte {error.start + 1} is not valid UTF-8") from None
    if not text.strip():
        raise _refused("it is empty")
    return text


def _read_stdin(max_bytes: int) -> bytes:
    """Return what standard input has, and no more than so many bytes (blocking until its end)."""
    if sys.stdin is None:
        return b""
    return sys.stdin.buffer.read(max_bytes)


def _refused(reason: str) -> click.BadParameter:
    return click.BadParameter(f"{reason}.", param_hint="TEXT")
