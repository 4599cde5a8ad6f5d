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
from memd.text.tokens import folded_words

MIN_MESSAGES: Final = 2
"""A word is a topic of a conversation if this many of its messages have it, and both sides say it."""

COMMON_SHARE: Final = 0.2
"""A word in more than this share of all conversations, and in more than one, is no topic."""

MIN_LETTERS, MAX_LETTERS = 5, 24
TOPIC_WORDS: Final = 2
MAX_QUESTION_CHARS: Final = 100

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\[redacted:[^\]]*\]", re.DOTALL)
_NOISE = re.compile(r"\S*(?:[/\\_@=<>{}()$#|\d]|::|[a-z][A-Z]|\w\.\w)\S*")
"""Paths, addresses, identifiers, numbers, and whatever could be a key."""

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_GRAMMAR = frozenset(chain.from_iterable([*WORDS_OF.values(), *FREQUENT_WORDS.values()]))
_SENTENCE = re.compile(r"[^.!?\n]+\?")


class PastConversation(Struct, frozen=True):
    """The messages of a conversation: who speaks, and the text."""

    path: str
    source: str
    messages: Sequence[tuple[str, str]]


class PastQuestion(Struct, frozen=True):
    """A question, and the conversation that should answer it. `words` are its topic."""

    text: str
    path: str
    source: str
    words: tuple[str, ...]


def choose_questions(conversations: Sequence[PastConversation]) -> Iterator[PastQuestion]:
    """Yield a question of each conversation that has a topic: the clearest first, and of each source in turn."""
    counts = [_count_words(conversation) for conversation in conversations]
    spread = Counter(word for words in counts for word in words)
    most = max(1, int(COMMON_SHARE * len(conversations)))
    scored: list[tuple[float, PastQuestion]] = []
    for conversation, words in zip(conversations, counts, strict=True):
        scores = {
            word: number * math.log(1 + len(conversations) / spread[word])
            for word, number in words.items()
            if number >= MIN_MESSAGES and spread[word] <= most and _is_said_by_both(conversation, word)
        }
        topic = tuple(sorted(scores, key=lambda word: (-scores[word], word))[:TOPIC_WORDS])
        if len(topic) == TOPIC_WORDS:
            question = PastQuestion(
                _question(conversation, topic), conversation.path, conversation.source, topic
            )
            scored.append((sum(scores[word] for word in topic), question))
    turns: Counter[str] = Counter()
    order: list[tuple[int, float, PastQuestion]] = []
    for score, question in sorted(scored, key=lambda each: (-each[0], each[1].path)):
        order.append((turns[question.source], -score, question))
        turns[question.source] += 1
    yield from (question for *_, question in sorted(order, key=lambda each: each[:2]))


def _words_of(text: str) -> set[str]:
    """Return the words of a message that may tell what it is about."""
    words = _WORD.findall(_NOISE.sub(" ", _CODE.sub(" ", text)))
    return {
        word.lower()
        for word in words
        if MIN_LETTERS <= len(word) <= MAX_LETTERS
        and not _GRAMMAR.intersection([word.lower(), *folded_words(word)])
    }


def _count_words(conversation: PastConversation) -> Counter[str]:
    """Return in how many messages each word is."""
    return Counter(word for _, text in conversation.messages for word in _words_of(text))


def _is_said_by_both(conversation: PastConversation, word: str) -> bool:
    return len({speaker for speaker, text in conversation.messages if word in _words_of(text)}) > 1


def _question(conversation: PastConversation, topic: Sequence[str]) -> str:
    """Return the user's own question about a topic, or one that is made of its words."""
    for speaker, text in conversation.messages:
        for sentence in _SENTENCE.findall(_CODE.sub(" ", text)) if speaker == "user" else ():
            question = " ".join(sentence.split())
            if len(question) <= MAX_QUESTION_CHARS and _words_of(question).intersection(topic):
                return question
    return f"what did we say about {' and '.join(topic)}?"
