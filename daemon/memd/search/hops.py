"""A second look for questions that nest relations: what the best line names leads to the line that answers.

"Which city is the employer of Ann's sister based in?" shares words with "Ann's sister is Clara" alone. Looking for
*Clara* finds where she works, and looking for that company finds its city.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from memd.index.files import load_texts
from memd.index.keyword import find_few
from memd.index.snapshot import Snapshot
from memd.search.query import Query
from memd.search.relevance import WeighedTerm, weigh_terms
from memd.search.retrieve import Candidates, LinkedLine
from memd.text.cut.chunking import HEADING
from memd.text.query.keywords import plan_match
from memd.text.query.relations import has_text, link_names, nests_relations, starts_with
from memd.text.query.word_forms import fold
from memd.text.tokens import asks_at_end

MAX_CHUNKS_READ = 8
"""Candidates in which the best line is searched for, those with most of the query's terms."""

MAX_FIRST_LINES = 3
"""Most lines of the first look whose names are followed."""

MIN_BEST_SHARE = 0.6
MIN_QUERY_SHARE = 0.3
"""Shares of the best line's value and of the whole query's that such a line needs."""

MAX_NAMES = 4
"""Most names of a line that are looked up."""

MAX_CHUNKS_WITH_NAME = 12
"""Most chunks of a name that is followed: a more frequent one leads anywhere."""

MAX_LINES = (2, 2)
"""Most lines that each further look adds."""


def follow_names(snapshot: Snapshot, query: Query, candidates: Candidates) -> Candidates:
    """Return the candidates with the lines to which the best lines' names lead, if the query nests relations."""
    if query.is_broad or query.uses_reference_formula or not nests_relations(query.text):
        return candidates
    terms = weigh_terms(snapshot, query, candidates.corrections, list(candidates.by_keyword))
    sources = _best_lines(snapshot, candidates, terms)
    best = fold(sources[0].text) if sources else ""
    missing = {word: weight for word, weight in _weights(terms).items() if not has_text(best, word)}
    known = fold(query.text)
    linked: dict[str, LinkedLine] = {}
    for most in MAX_LINES:
        found: dict[str, LinkedLine] = {}
        for line in sources:
            names = [name for name in link_names(line.text) if not has_text(known, fold(name))][:MAX_NAMES]
            known = fold("\n".join([known, *names]))
            others = {other.text: other for name in names for other in _lines_with(snapshot, query, name)}
            others = {
                text: other for text, other in others.items() if text != line.text and text not in linked
            }
            if others:
                linked[line.text] = line
                found |= others
        values = {text: _value(text, missing) for text in found}
        cosines = candidates.by_vector
        sources = sorted(
            found.values(),
            key=lambda line: (-values[line.text], -cosines.get(line.chunk, 0.0), line.chunk, line.start),
        )[:most]
        linked |= {line.text: line for line in sources}
    if not linked:
        return candidates
    scores = dict.fromkeys((line.chunk for line in linked.values()), 0.0) | candidates.by_keyword
    return replace(candidates, by_keyword=scores, linked=tuple(linked.values()))


def _best_lines(snapshot: Snapshot, candidates: Candidates, terms: Sequence[WeighedTerm]) -> list[LinkedLine]:
    """Return the lines that have most of the query's terms, the best first."""
    weights = _weights(terms)
    covered = {
        key: sum(weights[fold(term.word)] for term in terms if key in term.matching)
        for key in candidates.by_keyword
    }
    first = sorted(covered, key=lambda key: (-covered[key], key))[:MAX_CHUNKS_READ]
    lines = {line.text: line for line in _lines_of(load_texts(snapshot.db, first))}
    values = {text: _value(text, weights) for text in lines}
    whole = sum(weights[fold(term.word)] for term in terms if term.chunks)
    enough = max(MIN_QUERY_SHARE * whole, MIN_BEST_SHARE * max(values.values(), default=0.0))
    best = sorted(lines, key=lambda text: -values[text])[:MAX_FIRST_LINES]
    return [lines[text] for text in best if values[text] >= enough]


def _weights(terms: Sequence[WeighedTerm]) -> dict[str, float]:
    """Return the weights of terms, folded; squared, because the rarest word identifies the first line."""
    return {fold(term.word): term.weight**2 for term in terms}


def _value(line: str, weights: Mapping[str, float]) -> float:
    """Return the sum of the weights of the words that a line has."""
    folded = fold(line)
    return sum(weight for word, weight in weights.items() if has_text(folded, word))


def _lines_with(snapshot: Snapshot, query: Query, name: str) -> list[LinkedLine]:
    """Return the lines that have a name, if few chunks have it and none has it as an ordinary word."""
    match = plan_match(name, snapshot.languages()).strict
    ids = find_few(snapshot.db, match, MAX_CHUNKS_WITH_NAME, query.limits.scope) if match is not None else []
    texts = load_texts(snapshot.db, ids)
    ordinary = name.lower()
    if ordinary != name and any(starts_with(text, ordinary) for text in texts.values()):
        return []
    return [line for line in _lines_of(texts) if starts_with(line.text, name)]


def _lines_of(texts: Mapping[int, str]) -> Iterator[LinkedLine]:
    for key, text in texts.items():
        start = 0
        for line in text.split("\n"):
            # Questions and headings state nothing.
            if not asks_at_end(line.rstrip()) and HEADING.match(line) is None:
                yield LinkedLine(key, start, start + len(line), line)
            start += len(line) + 1
