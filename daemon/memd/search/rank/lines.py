"""How well the lines of candidates match a query: which words they share, and who says them. Pure functions.

BM25 and cosine score a chunk as a bag of words. Reading the best chunks line by line shows who speaks, and
separates words that are adjacent from words that only occur in the same chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.system.cancellation import check_cancelled
from memd.text.query.speakers import (
    ROLE_LABELS,
    USER_LABELS,
    declines_answer,
    find_labels,
    is_first_person,
    names_label,
    without_label,
)
from memd.text.query.word_forms import find_word, fold
from memd.text.tokens import asks_at_end

MIN_SPEAKER_LINES = 4
"""Lines with the same label from which it is a speaker: others are keys (`port: 8080`)."""

MIN_TEXTS_FOR_DISTINCTIVE = 20
"""Texts from which a word that most of them have is not distinctive."""

MAX_PAIRS = 32
"""Most word pairs of a query that are searched for."""

COVERAGE_WEIGHT = 0.4
"""Weight of the query words that a chunk has; if the query names a speaker, in that speaker's lines."""

FILE_COVERAGE_WEIGHT = 0.2
"""Weight of the query words that the candidates of one file have together."""

PAIRS_WEIGHT = 1.3
"""Weight of the query's adjacent words that are adjacent in a chunk."""

NAMED_SPEAKER_WEIGHT = 0.4
"""Weight of a chunk in which a speaker that the query names speaks."""

USER_WEIGHT = 0.85
"""Weight of a chunk in which the user speaks, and of a note, for queries about the user's own words."""

MIN_LINE_VALUE = 0.5
"""Share of the best line's value from which a line belongs to the matching part of a text."""

MIN_ASKED_SHARE, MIN_REPEATED_SHARE = 0.6, 0.8
"""Share of a question's words that are words of the query, if it asks the same, and of a message that repeats it."""

NAMED_LINE_VALUE = 0.3
USER_LINE_VALUE = 0.5
"""What a matching line of a named speaker is worth besides its words, and any line of the user if the query asks about
the user."""

_WORD = re.compile(r"\w+")

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class LineMatches(Struct, frozen=True):
    """Matches of a query in the lines of n texts.

    Attributes:
        joined, folded: The texts, joined by line ends, as they are and folded.
        offsets: (n,) the start of each text there.
        labels: The labels of their lines, each with the start of its line there.
        texts: (lines,) number of each line's text.
        starts, ends: (lines,) the line in its text, in characters, without the line end.
        forms: The words of the query, folded: the columns below.
        words: (n, words) whether a text has a word of the query.
        matched: (lines, words) whether a line has a word of the query.
        weights: (words,) weight of each word by rarity among the texts; their sum is 1.
        plain_weights: (words,) the same, 0 for names of speakers.
        names: (words,) whether a word is the name of a speaker.
        by_named: (lines,) whether a speaker that the query names says a line.
        by_user: (lines,) whether the user says a line, if the query is about the user.
        pairs: (n,) share of the query's adjacent words that are adjacent in a text.
    """

    joined: str
    folded: str
    offsets: NDArray[np.intp]
    labels: Sequence[tuple[int, str]]
    texts: NDArray[np.intp]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    forms: Sequence[str]
    words: Bools
    matched: Bools
    weights: Floats
    plain_weights: Floats
    names: Bools
    by_named: Bools
    by_user: Bools
    pairs: Floats

    def matching_span(
        self, text: int, first: int, end: int, *, with_announced: bool = True
    ) -> tuple[int, int] | None:
        """Return the span of a text's lines that match the query best, within a span of the text, in characters.

        It holds all lines with at least half the value of the best one, and the line after the last of them if that
        asks something, or announces something ("Next, the plan:") and that is wanted. None if no line matches.
        """
        low, high = self.texts.searchsorted((text, text + 1)).tolist()
        is_inside = (self.starts[low:high] >= first - 1) & (self.ends[low:high] <= end + 1)
        at = is_inside.nonzero()[0] + low
        values = self.matched[at] @ self.plain_weights
        values += NAMED_LINE_VALUE * (self.by_named[at] & (values > 0)) + USER_LINE_VALUE * self.by_user[at]
        best = values.max(initial=0.0)
        if best <= 0:
            return None
        good = (values >= MIN_LINE_VALUE * best).nonzero()[0]
        low, high = int(good[0]), int(good[-1])
        offset = int(self.offsets[text])
        last = self.joined[offset + int(self.starts[at[high]]) : offset + int(self.ends[at[high]])]
        announces = with_announced and last.rstrip("*_ ").endswith((":", "："))
        if announces or "?" in last or "？" in last:
            answers = ((self.ends > self.starts)[at[high + 1 :]]).nonzero()[0]
            high += int(answers[0]) + 1 if len(answers) else 0
        return int(self.starts[at[low]]), int(self.ends[at[high]])

    def only_asks(self, text: int, query: str) -> bool:
        """Return whether the lines of a text that match best ask what the query asks, without an answer."""
        low, high = self.texts.searchsorted((text, text + 1)).tolist()
        values = self.matched[low:high] @ self.weights
        best = values.max(initial=0.0)
        asked = frozenset(_WORD.findall(fold(query)))

        def answers(at: int) -> bool:
            line = self._line(at) if at < high else ""
            return bool(line) and not _is_question(line, asked) and not declines_answer(line)

        matching = (values >= best).nonzero()[0].tolist()
        return best > 0 and not any(answers(low + at) or answers(low + at + 1) for at in matching)

    def _line(self, at: int) -> str:
        offset = int(self.offsets[self.texts[at]])
        return self.joined[offset + int(self.starts[at]) : offset + int(self.ends[at])].rstrip("* ")

    def labels_of(self, text: int) -> list[tuple[int, str]]:
        """Return the labels of a text, each with the start of its line in it."""
        offset = int(self.offsets[text])
        end = int(self.offsets[text + 1]) if text + 1 < len(self.offsets) else len(self.joined)
        first, last = (bisect_left(self.labels, (place,)) for place in (offset, end))
        return [(place - offset, label) for place, label in self.labels[first:last]]

    def any_by_text(self, lines: Bools) -> Bools:
        """Return (n,) which texts have one of the lines that a mask selects."""
        found = np.zeros(len(self.pairs), bool)
        found[self.texts[lines]] = True
        return found

    def words_said(self, lines: Bools) -> Bools:
        """Return (n, words) which words each text has in the lines that a mask selects."""
        found = np.zeros(self.words.shape, bool)
        at, words = (self.matched & lines[:, None]).nonzero()
        found[self.texts[at], words] = True
        return found

    def distinctive(self) -> Bools:
        """Return (words,) which words are distinctive: the others are in most texts, or name speakers."""
        distinctive: Bools = ~self.names
        if len(self.words) >= MIN_TEXTS_FOR_DISTINCTIVE:
            distinctive &= self.words.sum(axis=0) <= len(self.words) / 2
        return distinctive

    def best_line_coverage(self) -> Floats:
        """Return (n,) the share of the query that the best line of each text covers, 0 to 1."""
        first_lines = self.texts.searchsorted(np.arange(len(self.words)))
        best: Floats = np.maximum.reduceat(self.coverage(self.matched), first_lines)
        return best

    def coverage(self, words: Bools) -> Floats:
        """Return the share of the query that rows of words cover, 0 to 1; names of speakers do not count."""
        whole = float(self.plain_weights.sum())
        covered: Floats = words @ self.plain_weights
        return covered / whole if whole > 0 else covered


def _is_question(line: str, asked: Collection[str]) -> bool:
    """Return whether a line asks what a query asks, given its words; a long message with a question states more."""
    said = without_label(line)
    words = _WORD.findall(fold(said))
    shared = sum(word in asked for word in words)
    is_repeated = said != line and shared >= MIN_REPEATED_SHARE * max(len(words), len(asked))
    return is_repeated or (shared >= MIN_ASKED_SHARE * len(words) and asks_at_end(line))


def match_lines(texts: Sequence[str], query: str, words: Sequence[str]) -> LineMatches:
    """Return the matches of a query in the lines of texts.

    Args:
        texts: The best candidates.
        query: The query as given.
        words: Its words to search for, without grammar.
    """
    joined = "\n".join(texts)
    sizes = np.fromiter(map(len, texts), np.intp, len(texts))
    offsets = np.cumsum(sizes + 1) - sizes - 1
    ends = _line_ends(joined)
    starts = np.concatenate(([0], ends[:-1] + 1))
    first_lines = np.searchsorted(starts, offsets)
    of_text = np.zeros(len(starts), np.intp)
    of_text[first_lines] = 1
    of_text = np.cumsum(of_text) - 1
    folded = fold(joined)
    forms = list(dict.fromkeys(map(fold, words)))
    matched = np.zeros((len(starts), len(forms)), bool)
    for column, word in enumerate(forms):
        check_cancelled()
        found = np.array([start for start, _ in find_word(folded, word)], np.intp)
        matched[np.searchsorted(starts, found, side="right") - 1, column] = True
    in_text = np.zeros((len(texts), len(forms)), bool)
    at, columns = matched.nonzero()
    in_text[of_text[at], columns] = True
    there = {forms[column] for column in columns.tolist()}
    labels = find_labels(folded)
    is_about_user = is_first_person(query)
    names, by_named, by_user = _speakers(labels, starts, first_lines, forms, is_about_user=is_about_user)
    weights = _weights(in_text)
    return LineMatches(
        joined,
        folded,
        offsets,
        labels,
        of_text,
        starts - offsets[of_text],
        ends - offsets[of_text],
        forms,
        in_text,
        matched,
        weights,
        np.where(names, 0.0, weights),
        names,
        by_named,
        by_user,
        _pair_shares(folded, offsets.tolist(), query, forms, there),
    )


def _line_ends(text: str) -> NDArray[np.intp]:
    """Return the ends of the lines of a text."""
    codes = np.frombuffer(text.encode(), np.uint8) if text.isascii() else _code_points(text)
    return np.append(np.flatnonzero(codes == ord("\n")), len(text))


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _weights(in_text: Bools) -> Floats:
    """Return the inverse document frequencies of words among the texts, scaled to a sum of 1."""
    total, found = len(in_text), in_text.sum(axis=0)
    weights: Floats = np.log(1 + (total - found + 0.5) / (found + 0.5))
    return weights / (weights.sum() or 1.0)


def _speakers(
    labels: Sequence[tuple[int, str]],
    starts: NDArray[np.intp],
    first_lines: NDArray[np.intp],
    words: Sequence[str],
    *,
    is_about_user: bool,
) -> tuple[Bools, Bools, Bools]:
    """Return which words are names of speakers, and which lines those and the user say."""
    often = Counter(label for _, label in labels)
    speakers = {label for label, count in often.items() if count >= MIN_SPEAKER_LINES or label in ROLE_LABELS}
    named = {label for label in speakers if names_label(label, words)}
    users = speakers & USER_LABELS if is_about_user else set()
    names = np.array([any(names_label(label, (word,)) for label in named) for word in words], bool)
    if not named and not users:
        no_lines = np.zeros(len(starts), bool)
        return names, no_lines, no_lines
    turns = [(at, label) for at, label in labels if label in speakers]
    at = np.searchsorted(starts, [place for place, _ in turns])
    begins = np.zeros(len(starts), bool)
    begins[first_lines] = begins[at] = True
    continued = np.maximum.accumulate(np.where(begins, np.arange(len(starts)), 0))

    def lines_of(some: Collection[str]) -> Bools:
        """Return the lines that some speakers say. One without a label continues the one above, within its text."""
        said = np.zeros(len(starts), bool)
        said[at] = [label in some for _, label in turns]
        return said[continued] if some else said

    return names, lines_of(named), lines_of(users)


def _pair_shares(
    folded: str, offsets: Sequence[int], query: str, content: Sequence[str], there: Collection[str]
) -> Floats:
    """Return for each text the share of the query's adjacent words that are adjacent in it.

    Pairs without a content word do not count. Pairs whose content words are not `there` are not searched for.
    """
    words = _WORD.findall(fold(query))
    pairs = {pair: None for pair in pairwise(words) if not set(pair).isdisjoint(content)}
    shares = np.zeros(len(offsets))
    for one, other in [*pairs][:MAX_PAIRS]:
        pair = f"{one} {other}"
        if (one in content and one not in there) or (other in content and other not in there):
            continue
        found = set()
        at = folded.find(pair)
        while at >= 0:
            end = at + len(pair)
            is_word = not folded[at - 1 : at].isalnum() and not folded[end : end + 1].isalnum()
            if is_word:
                found.add(bisect_right(offsets, at) - 1)
            at = folded.find(pair, end)
        shares[list(found)] += 1 / min(MAX_PAIRS, len(pairs))
    return shares


def line_scores(lines: LineMatches, files: NDArray[np.int64]) -> Floats:
    """Return (n,) what the lines of each text add to its score.

    Args:
        lines: The matches.
        files: (n,) number of each text's file.
    """
    in_text = lines.words
    said = lines.words_said(lines.by_named) if lines.names.any() else in_text
    _, file_of = np.unique(files, return_inverse=True)
    in_file = np.zeros((len(in_text), in_text.shape[1]), bool)
    np.logical_or.at(in_file, file_of, in_text)
    scores: Floats = (
        COVERAGE_WEIGHT * lines.coverage(said)
        + FILE_COVERAGE_WEIGHT * (in_file[file_of] @ lines.weights)
        + PAIRS_WEIGHT * lines.pairs
        + NAMED_SPEAKER_WEIGHT * lines.any_by_text(lines.by_named)
    )
    return scores


def user_scores(lines: LineMatches, is_note: Bools) -> Floats:
    """Return (n,) what is added to the score of each text if the query is about the user, who speaks in some.

    In a dialogue, the user's lines count more than a model's. Notes are the user's own, so that they count as much.

    Args:
        lines: The matches.
        is_note: (n,) whether a text is from a note, if conversations are searched too.
    """
    scores = np.zeros(len(is_note))
    scores[lines.any_by_text(lines.by_user) | is_note] = USER_WEIGHT
    return scores
