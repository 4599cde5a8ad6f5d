"""When nothing that was found has to do with the question.

Judged by two things: which share of what was asked for one chunk holds (telling words counting more), and how near
the question is to what was found. The figures were fitted on a set of questions with and without an answer; its
error rates are in docs/ranking.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memd.index.connection import Database
from memd.index.files import load_texts
from memd.index.keyword import count_chunks
from memd.search.evidence import coverage, weigh_words
from memd.search.query import Candidates, LineCheck, Question
from memd.text.tokens import CJK_CLASS, has_cjk

FAR = 0.25
"""Cosine below which the nearest text has nothing to do with the question, for any model: MiniLM puts nonsense at 0.1
to 0.21 and a loose paraphrase above 0.3."""

COVERED = 0.55
"""Share of what was asked for from which a chunk that holds it is relevant whatever its vector says."""

NEAR = 1.2
"""What a cosine counts beside the share: that of the nearest chunk, and again that of the nearest line."""

ENOUGH = 1.12
"""Share and cosines together from which a hit is relevant."""

MARGIN = 0.2
"""By how much a guess at the nearest line's cosine, the chunk's, has to be enough for the line not to be read."""

WORDS_ENOUGH = 0.25
"""Share that is enough by words alone."""

PAIRS_ENOUGH = 0.15
"""The same for scripts without spaces: they are asked in pairs of letters, of which many are no words."""

CALIBRATED = frozenset({"minilm"})
"""Models whose cosines these figures are of. Of others only `FAR` is known."""

TELLING_CHUNKS = 50
"""Chunks a memory needs for its words to be weighed: in a smaller one none is rare, and any that matches counts."""

READ_CHUNKS = 3
"""Nearest chunks whose lines are compared one by one."""

READ_LINES = 8
"""Lines compared at most: each costs some milliseconds once."""

MOST_RANKED = 6
"""Best candidates whose share is looked at, beside the best by words."""

_FOREIGN = re.compile(rf"[{CJK_CLASS}\u0370-\u1fff]")
_HEADING = re.compile(r"\s*#{1,6}\s")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether anything is relevant: `nothing` says no; `closer_look` says what would have to be compared to know."""

    nothing: bool = False
    closer_look: LineCheck | None = None


def judge(
    db: Database,
    question: Question,
    words: Candidates,
    meaning: Candidates,
    ranked: Sequence[int],
    *,
    sure: bool,
) -> Verdict:
    """Return whether what was found has to do with the question."""
    if not ranked:
        return Verdict(nothing=True)
    if sure or (
        question.min_score is not None and question.min_score <= 0
    ):  # whoever asks for anything gets it
        return Verdict()
    best = max(meaning.scores.values(), default=0.0)
    foreign = _FOREIGN.search(question.query) is not None
    small = count_chunks(db) < TELLING_CHUNKS
    if small or (meaning.scores and question.model not in CALIBRATED):
        return Verdict(nothing=best < FAR and not words.scores)
    near = 0.0 if foreign else best
    if 2 * NEAR * near >= ENOUGH + MARGIN:
        return Verdict()
    share = _best_share(db, question, words, meaning, ranked)
    if foreign or not meaning.scores:
        pairs = has_cjk(question.query)
        return Verdict(nothing=share < (PAIRS_ENOUGH if pairs else WORDS_ENOUGH))
    if share >= COVERED or share + 2 * NEAR * near >= ENOUGH + MARGIN:
        return Verdict()
    wanted = (ENOUGH - share) / NEAR - near
    lines = _nearest_lines(db, meaning)
    if wanted > 1 or not lines:
        return Verdict(nothing=True)
    return Verdict(closer_look=LineCheck(lines, wanted))


def _best_share(
    db: Database, question: Question, words: Candidates, meaning: Candidates, ranked: Sequence[int]
) -> float:
    """Return the greatest share of what was asked for that one candidate holds."""
    by_words = sorted(words.scores, key=words.scores.__getitem__, reverse=True)[:READ_CHUNKS]
    by_meaning = sorted(meaning.scores, key=meaning.scores.__getitem__, reverse=True)[:READ_CHUNKS]
    looked_at = list(dict.fromkeys([*ranked[:MOST_RANKED], *by_words, *by_meaning]))
    asked = weigh_words(db, question, words.respelled, looked_at)
    return max((coverage(asked, key) for key in looked_at), default=0.0)


def _nearest_lines(db: Database, meaning: Candidates) -> tuple[str, ...]:
    """Return lines of the chunks nearest to the question, the nearest chunk's first."""
    nearest = sorted(meaning.scores, key=lambda key: (-meaning.scores[key], key))[:READ_CHUNKS]
    texts = load_texts(db, nearest)
    lines = [line.strip() for key in nearest for line in texts[key].split("\n")]
    told = [line for line in lines if line and _HEADING.match(line) is None]
    return tuple(dict.fromkeys(told))[:READ_LINES]
