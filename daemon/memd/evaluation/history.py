"""Questions that conversations answer, from words that come back in one of them and are rare in others. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from memd.text.language.stopwords import FREQUENT_WORDS, WORDS_OF

MIN_MESSAGES: Final = 2
"""A topic is in this many messages of its conversation, and both sides say it."""

COMMON_SHARE: Final = 0.2
"""A word in more than one conversation, and in more than this share of all, is no topic."""

TOPIC_WORDS: Final = 2
MAX_QUESTION_CHARS: Final = 100

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\[redacted:[^\]]*\]", re.DOTALL)
_NOISE = re.compile(r"\S*(?:[/\\_@=<>{}()$#|\d]|::|[a-z][A-Z]|\w\.\w)\S*")
"""Paths, addresses, identifiers, numbers, and whatever could be a key."""

_WORD = re.compile(r"\b[^\W\d_](?:[^\W\d_]|-(?=\w)){4,23}\b")
_GRAMMAR = frozenset(chain(*WORDS_OF.values(), *FREQUENT_WORDS.values()))
_QUESTION = re.compile(r"[^.!?\n]+\?")


class PastConversation(Struct, frozen=True):
    """A conversation; a message is the speaker and the text."""

    path: str
    source: str
    messages: Sequence[tuple[str, str]]


class PastQuestion(Struct, frozen=True):
    """A question, the words of its topic, and the conversation that should answer it."""

    text: str
    words: tuple[str, ...]
    path: str
    source: str


def choose_questions(conversations: Sequence[PastConversation]) -> Iterator[PastQuestion]:
    """Yield a question about each conversation that has a topic: of each source in turn, the clearest first."""
    words = [[(speaker, _words_of(text)) for speaker, text in each.messages] for each in conversations]
    spread = Counter(word for messages in words for word in {*chain(*(said for _, said in messages))})
    most = max(1, COMMON_SHARE * len(conversations))
    scored: list[tuple[float, PastQuestion]] = []
    for conversation, messages in zip(conversations, words, strict=True):
        scores: dict[str, float] = {}
        for word, number in Counter(chain(*(said for _, said in messages))).items():
            speakers = {speaker for speaker, said in messages if word in said}
            if number >= MIN_MESSAGES and len(speakers) > 1 and spread[word] <= most:
                scores[word] = number * math.log(1 + len(conversations) / spread[word])
        topic = tuple(sorted(scores, key=lambda word: (-scores[word], word))[:TOPIC_WORDS])
        if len(topic) == TOPIC_WORDS:
            text = _question(conversation, topic)
            question = PastQuestion(text, topic, conversation.path, conversation.source)
            scored.append((sum(map(scores.__getitem__, topic)), question))
    scored.sort(key=lambda row: (-row[0], row[1].path))
    turns: Counter[str] = Counter()
    order: list[tuple[int, int]] = []
    for at, (_, question) in enumerate(scored):
        order.append((turns[question.source], at))
        turns[question.source] += 1
    yield from (scored[at][1] for _, at in sorted(order))


def _words_of(text: str) -> set[str]:
    """Return the words of a message that may tell what it is about."""
    plain = _NOISE.sub(" ", _CODE.sub(" ", text)).lower()
    return {*_WORD.findall(plain)} - _GRAMMAR


def _question(conversation: PastConversation, topic: Sequence[str]) -> str:
    """Return the user's own question about a topic, or one that is made of its words."""
    said = (_CODE.sub(" ", text) for speaker, text in conversation.messages if speaker == "user")
    for question in (" ".join(text.split()) for text in chain(*map(_QUESTION.findall, said))):
        if len(question) <= MAX_QUESTION_CHARS and not _words_of(question).isdisjoint(topic):
            return question
    return f"what did we say about {' and '.join(topic)}?"
