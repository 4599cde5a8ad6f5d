"""Which messages of a conversation hold something worth keeping, and of what kind it is: rules, no model.

Pure. What is kept by itself must be the user's own words, short, and about the user; whatever reads like a document,
an order to the model or a secret stays out. A wrong refusal costs little: the agent can still store it when told to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from memd.lifecycle.facts.capture_words import (
    ABOUT,
    ALWAYS,
    CALLED,
    CONTACT,
    DECIDE,
    FLEETING,
    NEED,
    PREFER,
    REMEMBER,
    STATE,
    fold,
    pattern,
)
from memd.lifecycle.facts.injection import is_injection
from memd.text.redact.secrets import redact
from memd.text.tokens import is_wide
from memd.text.transcripts.scaffolding import without_scaffolding

LEAST_CHARS = 10
"""Shorter messages are answers, not facts. A letter of a script that writes a word with one or two counts twice."""

MOST_EMOJI = 3

MOST_READ_CHARS = 100_000
"""What is looked at of one message before anything else is asked: far above what may be captured."""

MOST_TELLING_CHARS = 1_000
"""Characters that tell the category: a fact says what it is about at its beginning."""

_EMOJI = re.compile("[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf]")
_BLOCK = re.compile(
    r"<\s*/?\s*(?:relevant[-_]memor|memory[-_]context|active_memory|supermemory)", re.IGNORECASE
)
_MARKUP = re.compile(r"\s*<[a-zA-Z!?/][^<>]{0,200}>.*</", re.DOTALL)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
_LIST = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_STRUCTURE = re.compile(r"^(?:#{1,6}[ \t]|```|~~~|\|.*\||>[ \t])", re.MULTILINE)
_QUESTION = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a message.

    Attributes:
        text: What would be kept of it.
        category: Of what kind that is.
        reason: Why it isn't kept; "" where it is.
    """

    text: str
    category: str = "other"
    reason: str = ""

    @property
    def captured(self) -> bool:
        """Whether it is worth keeping."""
        return not self.reason


@lru_cache(maxsize=4_096)
def category_of(text: str) -> str:
    """Return of what kind a text is: preference, decision, entity, fact or other."""
    folded = fold(text[:MOST_TELLING_CHARS])
    kinds = (
        ("preference", pattern(PREFER)),
        ("decision", pattern(DECIDE)),
        ("entity", pattern(CALLED, CONTACT)),
        ("fact", pattern(ABOUT, STATE)),
    )
    return next((name for name, known in kinds if known.search(folded)), "other")


def judge_message(message: Mapping[str, Any], most_chars: int) -> Verdict:
    """Return what becomes of a message of a conversation."""
    if message.get("role") != "user":
        return Verdict("", reason="role")
    said = _text_of(message.get("content"))
    if said is None:
        return Verdict("", reason="not_text")
    return judge_text(said, most_chars)


def judge_text(text: str, most_chars: int) -> Verdict:
    """Return what becomes of a text the user wrote."""
    said = without_scaffolding(text[:MOST_READ_CHARS], "user") if text.strip() else ""
    if text.strip() and not said:
        return Verdict("", reason="scaffolding")
    return Verdict(said, category_of(said[: most_chars + 1]), _reason_against(said, most_chars))


def _reason_against(said: str, most_chars: int) -> str:
    """Return why a text isn't kept, "" where it is; cheap questions first, and none of long texts."""
    if _columns(said[:LEAST_CHARS]) < LEAST_CHARS:
        return "too_short"
    if len(said) > most_chars:
        return "too_long"
    if _BLOCK.search(said):
        return "memory_block"
    if _MARKUP.match(said):
        return "markup"
    if _is_document(said):
        return "markdown"
    if len(_EMOJI.findall(said)) > MOST_EMOJI:
        return "emoji"
    if is_injection(said):
        return "injection"
    if redact(said)[1]:
        return "secret"
    folded = fold(said)
    if said.rstrip().endswith(_QUESTION) and not pattern(REMEMBER).search(folded):
        return "question"
    trigger = pattern(REMEMBER, PREFER, DECIDE, CONTACT, ABOUT, ALWAYS, NEED)
    return "" if trigger.search(pattern(FLEETING).sub(" ", folded)) else "no_trigger"


def _is_document(said: str) -> bool:
    """Return whether a text is laid out in Markdown rather than said."""
    lists = len(_LIST.findall(said))
    return lists >= 2 or bool(_STRUCTURE.search(said)) or bool(lists and _BOLD.search(said))


def _columns(text: str) -> int:
    """Return how much a text says by its length."""
    return sum(2 if is_wide(character) else 1 for character in text)


def _text_of(content: Any) -> str | None:
    """Return the text of a message's content; None where it has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return None
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None
