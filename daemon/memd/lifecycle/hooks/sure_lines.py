"""The lines of hits that are surely about a prompt. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memd.lifecycle.hooks.evidence import LineEvidence, TellingWord, line_evidence, telling_words, text_key
from memd.lifecycle.hooks.injection import ShownLine
from memd.lifecycle.hooks.project import Project
from memd.text.cut.snippets import cut_snippet
from memd.text.query.dates import day_of_note
from memd.text.tokens import has_wide
from memd_client.messages import Hit

MAX_LINE_CHARS, MAX_WIDE_LINE_CHARS = 400, 160
"""Longest line that is shown whole; of a longer one, the part with the most matched words. The second limit is for
scripts whose characters are a token each."""

MIN_WORDS, MIN_SHARE = 2, 0.39
"""Telling words of a sure line about the session's project, and their share of the prompt's."""

MIN_SINGLE_SHARE = 0.51
"""Share from which one telling word is enough in a line about the project."""

MIN_OTHER_WORDS, MIN_OTHER_SHARE = 3, 0.6
"""The same of a line that doesn't name the project."""

MIN_OTHER_TALK_SHARE = 0.75
"""The share of a line of a conversation that was held elsewhere."""

MIN_NAMED_SHARE = 0.5
"""Share from which two words of a line that doesn't name the project are enough, if both are names."""

MIN_RELATIVE_WEIGHT = 0.65
"""Lines with less of the best line's weight are left out."""

MAX_LINES = 3

_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*#{1,6}\s")


def sure_lines(query: str, hits: Iterable[Hit], project: Project) -> list[ShownLine]:
    """Return the lines of explained hits that are surely about a query in a session's project, best first."""
    found: dict[bytes, tuple[float, ShownLine]] = {}
    for hit in hits:
        if hit.superseded_by is not None or hit.explain is None:
            continue
        words = telling_words(
            ((word["word"], word["weight"]) for word in hit.explain["words"]), query, project.words
        )
        if words:
            for weight, line in _sure_lines_of(hit, words, project):
                found.setdefault(text_key(line.text), (weight, line))
    ranked = sorted(found.values(), key=lambda each: -each[0])
    least = MIN_RELATIVE_WEIGHT * ranked[0][0] if ranked else 0.0
    return [line for weight, line in ranked if weight >= least][:MAX_LINES]


def _sure_lines_of(
    hit: Hit, words: Sequence[TellingWord], project: Project
) -> Iterator[tuple[float, ShownLine]]:
    """Yield the sure lines of a hit with their weights."""
    lines = hit.snippet.split("\n")
    is_talk = hit.session is not None or hit.source == "sessions"
    has_places = not is_talk and hit.end_line - hit.start_line == len(lines) - 1
    is_project_file = project.is_path(hit.path if hit.session is None else hit.session.project)
    for at, line in enumerate(lines):
        if not line.strip() or _HEADING.match(line):
            continue
        evidence = line_evidence(words, line)
        is_project = is_project_file or project.is_named(line)
        if not _is_sure(evidence, is_project=is_project, is_talk=is_talk):
            continue
        text = _shown_text(line, lines[at + 1 :], words)
        if text:
            place = f"{hit.path}#L{hit.start_line + at}" if has_places else hit.citation
            yield evidence.weight, ShownLine(text, place, _about(hit))


def _is_sure(evidence: LineEvidence, *, is_project: bool, is_talk: bool) -> bool:
    """Return whether a line with some evidence is about the prompt.

    Conversations are full of requests: a line of one needs more words than a line of a note.
    """
    count, share = evidence.count, evidence.share
    if is_project and not is_talk:
        return share >= (MIN_SHARE if count >= MIN_WORDS else MIN_SINGLE_SHARE) and count > 0
    if count >= MIN_OTHER_WORDS:
        return share >= (MIN_OTHER_SHARE if is_project or not is_talk else MIN_OTHER_TALK_SHARE)
    return not is_talk and count >= MIN_WORDS and evidence.names >= MIN_WORDS and share >= MIN_NAMED_SHARE


def _shown_text(line: str, following: Sequence[str], words: Sequence[TellingWord]) -> str:
    """Return a line as it is shown: without its list mark, and a user's message with the answer to it."""
    text = _cut(_BULLET.sub("", line, count=1).strip(), words)
    if not line.startswith("User: "):
        return text
    answer = next((each for each in following if each.strip()), "")
    if answer.startswith("Assistant: "):
        return f"{text} {_cut(answer.strip(), words)}"
    return "" if text.endswith(("?", "？")) else text


def _cut(text: str, words: Sequence[TellingWord]) -> str:
    limit = MAX_WIDE_LINE_CHARS if has_wide(text) else MAX_LINE_CHARS
    return cut_snippet(text, 1, [word.form for word in words], limit).text.strip()


def _about(hit: Hit) -> str:
    """Return the date and the session of a hit."""
    if hit.session is not None:
        session = hit.session
        return ", ".join(filter(None, (session.program, session.title, session.date)))
    day = day_of_note(hit.path)
    return "" if day is None else day.isoformat()
