"""Rules that select the messages to capture as facts, and their category, without a model. Pure.

Captured messages are the user's own words, short, and about the user. Documents, instructions to the model and secrets
are rejected. A wrong rejection costs little: the agent can still store the fact on request. No list of phrases detects
all instructions, so captured facts are shown to models as quoted data (tools.untrusted).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from memd.text.data_files import read_sections
from memd.text.redact.secrets import redact
from memd.text.tokens import is_wide
from memd.text.transcripts.scaffolding import without_scaffolding

_ACCENTS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """Return a text folded for the patterns: lower case, without accents."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", text.casefold().replace("’", "'")))
    return unicodedata.normalize("NFC", bare).replace("ł", "l")


@cache
def _pattern(*sections: str) -> re.Pattern[str]:
    """Return a pattern for folded text that matches any row of some sections of `capture.txt`."""
    rows = _capture_rows()
    return re.compile("|".join(f"(?:{fold(row)})" for each in sections for row in rows[each]), re.DOTALL)


@cache
def _capture_rows() -> dict[str, list[str]]:
    return read_sections(Path(__file__).with_name("capture.txt"))


_MAX_INJECTION_CHARS = 20_000
"""Characters that are checked; longer texts are never captured."""

_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u03bf\u03b1\u03b5\u03b9\u03c1\u03c5"
    "\u043a\u043c\u0442\u0432\u043d",
    "aeopcyxijsdoaeipukmtbh",
)
"""Cyrillic and Greek letters that look like Latin ones."""


@cache
def _order() -> re.Pattern[str]:
    """Return a pattern of all instructions of `injection.txt`; compiling it takes some milliseconds."""
    sections = read_sections(Path(__file__).with_name("injection.txt"))
    rows = [row.replace("GAP", ".{0,40}?") for rows in sections.values() for row in rows]
    return re.compile("|".join(f"(?:{row})" for row in rows), re.MULTILINE | re.DOTALL)


def is_injection(text: str) -> bool:
    """Return whether a text contains instructions to a model."""
    plain, composed = _plain(text[:_MAX_INJECTION_CHARS])
    return any(_order().search(each) is not None for each in {plain, composed, plain.translate(_LOOKALIKES)})


def _plain(text: str) -> tuple[str, str]:
    """Return a text in lower case with single spaces: without accents, and with them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    shown = "".join(
        each for each in folded if unicodedata.category(each) not in ("Cf", "Mn") or each == "\u3099"
    )
    shown = re.sub(r"[^\S\n]+", " ", shown)
    bare = unicodedata.normalize("NFKD", shown)
    without = "".join(each for each in bare if not unicodedata.combining(each)).replace("ł", "l")
    return without, shown


MIN_CHARS = 10
"""Shorter messages are replies, not facts; wide characters count twice."""

MAX_EMOJI = 3

MAX_READ_CHARS = 100_000
"""Characters of one message that are read: far more than can be captured."""

MAX_TELLING_CHARS = 1_000
"""Characters that determine the category: a fact begins with its subject."""

_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf]")
_BLOCK = re.compile(
    r"<\s*/?\s*(?:relevant[-_]memor|memory[-_]context|active_memory|supermemory)", re.IGNORECASE
)
_MARKUP = re.compile(r"\s*<[a-zA-Z!?/][^<>]{0,200}>.*</", re.DOTALL)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
_LIST = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_STRUCTURE = re.compile(r"^(?:#{1,6}[ \t]|```|~~~|\|.*\||>[ \t])", re.MULTILINE)
_QUESTION = ("?", "？", "؟")


class CaptureDecision(Struct, frozen=True):
    """The text to capture from a message, its category, and why it is rejected ("" if it isn't)."""

    text: str
    category: str = "other"
    reason: str = ""

    @property
    def captured(self) -> bool:
        return not self.reason


@lru_cache(maxsize=4_096)
def category_of(text: str) -> str:
    """Return the category of a text: preference, decision, entity, fact or other."""
    folded = fold(text[:MAX_TELLING_CHARS])
    kinds = (
        ("preference", _pattern("prefer")),
        ("decision", _pattern("decide")),
        ("entity", _pattern("called", "contact")),
        ("fact", _pattern("about", "state")),
    )
    return next((name for name, known in kinds if known.search(folded)), "other")


def judge_message(message: Mapping[str, Any], most_chars: int) -> CaptureDecision:
    """Return the capture decision for a message of a conversation."""
    if message.get("role") != "user":
        return CaptureDecision("", reason="role")
    said = _text_of(message.get("content"))
    if said is None:
        return CaptureDecision("", reason="not_text")
    return judge_text(said, most_chars)


def judge_text(text: str, most_chars: int) -> CaptureDecision:
    """Return the capture decision for a user's text."""
    said = without_scaffolding(text[:MAX_READ_CHARS], "user") if text.strip() else ""
    if text.strip() and not said:
        return CaptureDecision("", reason="scaffolding")
    return CaptureDecision(said, category_of(said[: most_chars + 1]), _reason_against(said, most_chars))


def _reason_against(said: str, most_chars: int) -> str:
    """Return why a text is rejected, "" if it isn't; cheap checks first, and few of long texts."""
    if _columns(said[:MIN_CHARS]) < MIN_CHARS:
        return "too_short"
    if len(said) > most_chars:
        return "too_long"
    if _BLOCK.search(said):
        return "memory_block"
    if _MARKUP.match(said):
        return "markup"
    if _is_document(said):
        return "markdown"
    if len(_EMOJI.findall(said)) > MAX_EMOJI:
        return "emoji"
    if is_injection(said):
        return "injection"
    if redact(said)[1]:
        return "secret"
    folded = fold(said)
    if said.rstrip().endswith(_QUESTION) and not _pattern("remember").search(folded):
        return "question"
    trigger = _pattern("remember", "prefer", "decide", "contact", "about", "always", "need")
    return "" if trigger.search(_pattern("fleeting").sub(" ", folded)) else "no_trigger"


def _is_document(said: str) -> bool:
    """Return whether a text is structured Markdown instead of plain sentences."""
    lists = len(_LIST.findall(said))
    return lists >= 2 or bool(_STRUCTURE.search(said)) or bool(lists and _BOLD.search(said))


def _columns(text: str) -> int:
    """Return the length of a text; wide characters count twice."""
    return sum(2 if is_wide(character) else 1 for character in text)


def _text_of(content: Any) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return None
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None
