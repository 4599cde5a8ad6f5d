"""The requests of a session's user, and what was decided after them (blocking)."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from memd.index.origins import load_origins
from memd.index.transcripts import load_line_maps, load_said
from memd.index.work import WorkRow
from memd.lifecycle.facts.capture import category_of
from memd.lifecycle.hooks.decisions import MIN_DECISION_CHARS, is_decision, sentences_in
from memd.lifecycle.hooks.prompts import is_common, read_prompt
from memd.system.sqlite import Database
from memd.text.query.word_forms import fold
from memd.text.revisions import replaces
from memd.text.statements import read_statement
from memd.text.transcripts.injected import without_injected
from memd.text.trust.origins import UNKNOWN

MAX_CHARS, MAX_DECISIONS = 300, 3
MAX_READ_CHARS: Final = 20_000
MIN_SHARED_WORDS: Final = 2
"""Words of an edit that make a sentence near it one about the file."""

_WORD = re.compile(r"[^\W_]{4,}")


class Requests:
    """The requests of the user of one session, without messages of other people.

    A message that only agrees belongs to the request before it.
    """

    def __init__(self, db: Database, path: str) -> None:
        self.places = load_line_maps(db, [path]).get(path, ())
        origins = load_origins(db, [path]).get(path, UNKNOWN)
        lines = zip(self.places, origins.without_outside(load_said(db, path)), strict=False)
        self.lines = [(place, *line[:MAX_READ_CHARS].partition(": ")[::2]) for place, line in lines]
        self._requests = [
            (place, text)
            for place, speaker, text in self.lines
            if speaker == "User" and read_prompt(text).silence in ("", "pasted")
        ]

    def at(self, place: int) -> tuple[int, int, str]:
        """Return the place of the request that led to a step, of the next request, and the text of the first."""
        at = bisect_right(self._requests, place, key=lambda request: request[0])
        first, text = self._requests[at - 1] if at else (0, "")
        return first, self._requests[at][0] if at < len(self._requests) else sys.maxsize, _short(text)

    def decisions(self, steps: Sequence[WorkRow], changes: Sequence[WorkRow]) -> list[str]:
        """Return sentences that record a decision about a file: they name it, or were said near its only edits.

        Args:
            steps: The steps with the file.
            changes: All changes of the session.
        """
        names = {fold(name) for step in steps for name in (step.line, step.line.rpartition(".")[0])}
        names = {name for name in names if "." in name or (len(name) > 4 and not is_common(name))}
        words = {word for step in steps for word in _WORD.findall(fold(f"{step.text} {step.detail}"))}
        near = {self.at(step.place)[:2] for step in steps}
        is_alone = len({step.subject for step in changes if self.at(step.place)[:2] in near}) < 2
        decisions = list[str]()  # the last ones first
        for place, _, text in reversed(self.lines):
            is_near, text = any(first <= place < end for first, end in near), without_injected(text)
            is_naming = any(name in fold(text) for name in names)
            for sentence in reversed(sentences_in(text)) if is_near or is_naming else ():
                folded = fold(sentence)
                is_about = is_near and (is_alone or len(words & {*_WORD.findall(folded)}) >= MIN_SHARED_WORDS)
                if (is_about or any(name in folded for name in names)) and _decides(sentence):
                    older = read_statement(sentence)
                    if not any(replaces(older, read_statement(newer)) for newer in decisions):
                        decisions.append(sentence)
                if len(decisions) == MAX_DECISIONS:
                    return [_short(decision) for decision in reversed(decisions)]
        return [_short(decision) for decision in reversed(decisions)]


def _decides(sentence: str) -> bool:
    is_one = is_decision(sentence) or (category_of(sentence) == "decision" and not sentence.endswith("?"))
    return is_one and len(sentence) >= MIN_DECISION_CHARS


def _short(text: str) -> str:
    line = " ".join(without_injected(text).split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1].rstrip()}…"
