"""The lines of hits that match a prompt confidently, or the location of the most likely one. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memd.lifecycle.hooks.evidence import PromptTerm, line_evidence, prompt_terms, quotable_runs, text_key
from memd.lifecycle.hooks.injection import HookDecision, ShownLine
from memd.lifecycle.hooks.line_confidence import (
    MIN_INJECTED,
    MIN_NAMED,
    LineFeatures,
    probability,
    vector_agreement,
)
from memd.lifecycle.hooks.project import Project
from memd.lifecycle.hooks.prompts import asks
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.text.cut.annotations import CURATED_FILES
from memd.text.cut.snippets import cut_snippet
from memd.text.tokens import asks_at_end, has_wide
from memd_client.escaping import OUTSIDE
from memd_client.hit_text import describe_currency, describe_session
from memd_client.messages import Hit

MAX_LINE_CHARS, MAX_WIDE_LINE_CHARS = 400, 160
"""Longest line that is shown whole; of a longer one, the part with the most matched words. The second limit is for
scripts whose characters are a token each."""

MAX_LINES = 3

_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s+(.*)")


WITHHELD = "withheld"


class Candidate(Struct, frozen=True):
    """A line that may answer a prompt.

    Attributes:
        line: How it is shown.
        features: What its probability depends on.
        probability: The probability that it answers the prompt.
        location: Where it is, with the tool that reads it.
        fault: Why it can't be an answer, in words, or "".
        lacks: The fault, or the evidence that was too little, in words.
    """

    line: ShownLine
    features: LineFeatures
    probability: float
    location: str
    fault: str
    lacks: str


def find_candidates(query: str, hits: Iterable[Hit], project: Project, model: str = "") -> list[Candidate]:
    """Return the lines of one query's explained hits as candidates; `model` made the vectors."""
    explained = [(hit, hit.explain) for hit in hits if hit.explain is not None]
    if not explained:
        return []
    terms = prompt_terms(explained[0][1]["words"], query, project.words)
    runs, is_question = quotable_runs(query), asks(query)
    return [
        candidate
        for hit, explain in explained
        for candidate in _judge_lines(hit, explain, terms, runs, project, model, is_question)
    ]


def decide(candidates: Sequence[Candidate]) -> HookDecision:
    """Return the confident matches, best first; else the location of the most likely line, if it is likely enough."""
    ranked = sorted(candidates, key=lambda candidate: -candidate.probability)
    confident: dict[bytes, ShownLine] = {}
    for candidate in ranked:
        if candidate.probability >= MIN_INJECTED and not candidate.fault:
            confident.setdefault(text_key(candidate.line.text), candidate.line)
    if confident:
        return HookDecision("sure", lines=tuple(confident.values())[:MAX_LINES])
    if not ranked:
        return HookDecision("not_sure")
    best = next((candidate for candidate in ranked if not candidate.fault), ranked[0])
    # A line of the project with an identifier or a quoted error of the prompt is worth reading, however long that is.
    is_quoted = best.features.is_exact and best.features.is_project
    location = "" if best.fault or (best.probability < MIN_NAMED and not is_quoted) else best.location
    lines = (best.line,) if location else ()
    return HookDecision("not_sure", "", lines, best.line.place, best.lacks, location)


def _judge_lines(
    hit: Hit,
    explain: Mapping[str, Any],
    terms: Sequence[PromptTerm],
    runs: frozenset[str],
    project: Project,
    model: str,
    is_question: bool,
) -> Iterator[Candidate]:
    """Yield the lines of an explained hit with their probabilities."""
    if hit.session is not None and explain["has_outside"]:
        hit = replace(hit, session=replace(hit.session, title=""))  # a model may have copied it
    lines, numbers, origins = hit.snippet.split("\n"), explain["lines"], explain["origins"]
    is_conversation = hit.session is not None or hit.source == OPENCLAW_SOURCE
    session = f"{hit.path if hit.session is None else hit.session.id}:" if is_conversation else ""
    is_project_file = project.is_path(hit.path if hit.session is None else hit.session.project)
    title = "" if hit.session is None else hit.session.title
    whole = line_evidence(terms, f"{title}\n{hit.snippet}", runs)
    quotable = runs if whole.is_exact else frozenset[str]()
    agreement = vector_agreement(hit.vector_score, model)
    total, heading = sum(not term.is_common for term in terms), ""
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        if found := _HEADING.match(line):
            heading = found[1].strip() if origins[at] != OUTSIDE else ""
            continue
        quoted = _quoted(lines[at:])
        if OUTSIDE in origins[at + 1 : at + len(quoted)]:
            quoted = quoted[:1]
        evidence = line_evidence(terms, "\n".join(quoted), quotable) if whole.share else whole
        features = LineFeatures(
            evidence.count,
            evidence.share,
            whole.share,
            evidence.names,
            evidence.is_exact,
            agreement,
            is_project_file or project.is_named(line),
            is_conversation,
            hit.path in CURATED_FILES,
            is_question,
        )
        chance = probability(features)
        text = " ".join(_cut(part, terms) for part in quoted) if chance >= MIN_INJECTED else ""
        messages = tuple(f"{session}{number}" for number in numbers[at : at + len(quoted)] if session)
        place, origin = f"{hit.path}#L{numbers[at]}", "" if is_conversation else origins[at]
        shown = ShownLine(text, place, _about(hit), quoted, messages, origin)
        fault = f"{WITHHELD}: {hit.origin_reason}" if origins[at] == OUTSIDE else _fault(hit, quoted)
        lacks = fault or _lack_of(evidence.count, total, chance)
        yield Candidate(shown, features, chance, _location(hit, numbers[at], heading), fault, lacks)


def _fault(hit: Hit, quoted: Sequence[str]) -> str:
    """Return why a line can't be an answer, in words; "" if it can."""
    if hit.superseded_by is not None:
        return "superseded by a later statement"
    is_question = quoted[-1].startswith("User: ") and asks_at_end(quoted[-1].rstrip())
    return "a question without its answer" if is_question else ""


def _lack_of(count: int, total: int, chance: float) -> str:
    """Return what a line with too little evidence shares with a prompt, in words."""
    if not total:
        return "the prompt has no distinctive word"
    return f"shares {count} of {total} distinctive words; {chance:.0%} likely to be the answer"


def _location(hit: Hit, line: int, heading: str) -> str:
    """Return the location of a line with the tool that reads it."""
    if hit.session is None:
        about = f"{hit.path}, '{heading}'" if heading else hit.path
        return f"{about}: memory_get, from line {line}"
    session = hit.session
    about = ", ".join(filter(None, (session.program, session.date, session.title and f"'{session.title}'")))
    return f"{about}: conversation_read {hit.path}#L{line}"


def _quoted(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the first of some lines, and the answer if it is a message of a user."""
    is_answered = lines[0].startswith("User: ") and "".join(lines[1:2]).startswith("Assistant: ")
    return tuple(lines[: 2 if is_answered else 1])


def _cut(line: str, terms: Sequence[PromptTerm]) -> str:
    """Return a line as it is shown: without its list mark, and only its best part if it is long."""
    text = _BULLET.sub("", line, count=1).strip()
    limit = MAX_WIDE_LINE_CHARS if has_wide(text) else MAX_LINE_CHARS
    forms = [form for term in terms for form in (term.form, *term.corrections)]
    return cut_snippet(text, 1, forms, limit).text.strip()


def _about(hit: Hit) -> str:
    """Return the day and the conversation of a hit, and whether it still holds."""
    facts = (hit.date, describe_session(hit.session), describe_currency(hit.currency))
    return ", ".join(filter(None, facts))
