"""The lines of hits that match a prompt confidently. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memd.lifecycle.hooks.evidence import (
    DistinctiveTerm,
    LineEvidence,
    distinctive_terms,
    line_evidence,
    text_key,
)
from memd.lifecycle.hooks.injection import HookDecision, ShownLine
from memd.lifecycle.hooks.project import Project
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.text.cut.snippets import cut_snippet
from memd.text.tokens import has_wide
from memd_client.hit_text import describe_session
from memd_client.messages import Hit

MAX_LINE_CHARS, MAX_WIDE_LINE_CHARS = 400, 160
"""Longest line that is shown whole; of a longer one, the part with the most matched words. The second limit is for
scripts whose characters are a token each."""

MIN_WORDS, MIN_SHARE = 2, 0.39
"""Distinctive terms of a confident match about the session's project, and their share of the prompt's."""

MIN_SINGLE_SHARE = 0.51
"""Share from which one distinctive term is enough in a line about the project."""

MIN_OTHER_WORDS, MIN_OTHER_SHARE = 3, 0.6
"""The same of a line that doesn't name the project."""

MIN_OTHER_CONVERSATION_SHARE = 0.75
"""The share of a line of a conversation that was held elsewhere."""

MIN_NAMED_SHARE = 0.5
"""Share from which two words of a line that doesn't name the project are enough, if both are names."""

MIN_RELATIVE_WEIGHT = 0.65
"""Lines with less of the best line's weight are left out."""

MAX_LINES = 3

_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s")


def judge_hits(query: str, hits: Iterable[Hit], project: Project) -> HookDecision:
    """Return the lines of explained hits that match a query confidently in a session's project, best first; else the
    best candidate."""
    found: dict[bytes, tuple[float, ShownLine]] = {}
    most, best = -1.0, HookDecision("not_sure")
    for hit in hits:
        if hit.explain is None:
            continue
        words = distinctive_terms(
            ((word["word"], word["weight"]) for word in hit.explain["words"]), query, project.words
        )
        for weight, line, lacks in _judge_lines(hit, hit.explain["lines"], words, project):
            if not lacks:
                found.setdefault(text_key(line.text), (weight, line))
            elif weight > most:
                most, best = weight, HookDecision("not_sure", candidate=line.place, lacks=lacks)
    ranked = sorted(found.values(), key=lambda each: -each[0])
    least = MIN_RELATIVE_WEIGHT * ranked[0][0] if ranked else 0.0
    lines = tuple(line for weight, line in ranked if weight >= least)[:MAX_LINES]
    return HookDecision("sure", lines=lines) if lines else best


def _judge_lines(
    hit: Hit, numbers: Sequence[int], words: Sequence[DistinctiveTerm], project: Project
) -> Iterator[tuple[float, ShownLine, str]]:
    """Yield the lines of a hit with their weights, and what each lacks to be sure, in words; "" if nothing."""
    lines = hit.snippet.split("\n")
    is_conversation = hit.session is not None or hit.source == OPENCLAW_SOURCE
    session = f"{hit.path if hit.session is None else hit.session.id}:" if is_conversation else ""
    is_project_file = project.is_path(hit.path if hit.session is None else hit.session.project)
    for at, line in enumerate(lines):
        if not line.strip() or _HEADING.match(line):
            continue
        evidence = line_evidence(words, line)
        is_project = is_project_file or project.is_named(line)
        lacks = _lack_of(evidence, len(words), is_project=is_project, is_conversation=is_conversation)
        if not lacks and hit.superseded_by is not None:
            lacks = "superseded by a later statement"
        quoted = _quoted(lines[at:])
        text = "" if lacks else " ".join(_cut(part, words) for part in quoted)
        if quoted[-1].startswith("User: ") and text.endswith(("?", "？")):
            lacks = "a question without its answer"
        messages = tuple(f"{session}{number}" for number in numbers[at : at + len(quoted)] if session)
        shown = ShownLine(text, f"{hit.path}#L{numbers[at]}", _about(hit), quoted, messages)
        yield evidence.weight, shown, lacks


def _lack_of(evidence: LineEvidence, total: int, *, is_project: bool, is_conversation: bool) -> str:
    """Return what a line with some evidence lacks to be about the prompt, in words; "" if nothing.

    Conversations are full of requests: a line of one needs more words than a line of a note.
    """
    count, share = evidence.count, evidence.share
    shares = f"shares {count} of {total} distinctive words" if total else "the prompt has no distinctive word"
    if is_project and not is_conversation:
        return "" if count and share >= (MIN_SHARE if count >= MIN_WORDS else MIN_SINGLE_SHARE) else shares
    if count >= MIN_OTHER_WORDS:
        least = MIN_OTHER_SHARE if is_project or not is_conversation else MIN_OTHER_CONVERSATION_SHARE
        return "" if share >= least else shares
    if is_conversation or count < MIN_WORDS or share < MIN_NAMED_SHARE:
        return shares
    return "" if evidence.names >= MIN_WORDS else f"{shares}, but not 2 names or numbers"


def _quoted(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first of some lines, and the answer if it is a message of a user."""
    is_answered = lines[0].startswith("User: ") and "".join(lines[1:2]).startswith("Assistant: ")
    return tuple(lines[: 2 if is_answered else 1])


def _cut(line: str, words: Sequence[DistinctiveTerm]) -> str:
    """Return a line as it is shown: without its list mark, and only its best part if it is long."""
    text = _BULLET.sub("", line, count=1).strip()
    limit = MAX_WIDE_LINE_CHARS if has_wide(text) else MAX_LINE_CHARS
    return cut_snippet(text, 1, [word.form for word in words], limit).text.strip()


def _about(hit: Hit) -> str:
    """Return the day and the conversation of a hit."""
    return ", ".join(filter(None, (hit.date, describe_session(hit.session))))
