"""What searches returned for generated queries: judged by place, summarized, compared. Pure."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memd.cli.evaluation.notes import NoteKind, text_key
from memd.cli.evaluation.queries import EvalQuery, QueryKind, QueryPlace, Wording

if TYPE_CHECKING:
    from memd_client.messages import Hit, SearchReply

MIN_COPY_TOKENS = 5
"""A shorter text elsewhere is not a copy of the place: the same few words may occur anywhere."""

RESAMPLES = 1_000
"""Resamples of the bootstrap: enough for a 95 % interval."""


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The result of one query.

    Attributes:
        query: The query.
        is_first: Whether the first hit is at one of its places.
        is_found: Whether any hit is.
        is_shown: Whether a snippet of such a hit shows the text that the query was made from.
        is_refused: Whether the search abstained.
        took_ms: The daemon's time.
        characters: Characters of all snippets.
    """

    query: EvalQuery
    is_first: bool
    is_found: bool
    is_shown: bool
    is_refused: bool
    took_ms: float
    characters: int


@dataclass(frozen=True, slots=True)
class QualityFigures:
    """Shares (0 to 1) of some queries, their times in milliseconds, and characters of an answer on average."""

    queries: int
    first: float
    found: float
    shown: float
    refused: float
    p50_ms: float
    p95_ms: float
    characters: float


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """A difference of shares and its 95 % interval."""

    value: float
    low: float
    high: float


Share = Callable[[QueryOutcome], bool]

SHARES: dict[str, Share] = {
    "first": lambda outcome: outcome.is_first,
    "found": lambda outcome: outcome.is_found,
    "shown": lambda outcome: outcome.is_shown,
    "refused": lambda outcome: outcome.is_refused,
}
"""The shares that two settings are compared by."""


def judge(query: EvalQuery, reply: SearchReply) -> QueryOutcome:
    """Return the outcome of a query."""
    keys = [[text_key(text) for text in place.texts] for place in query.places]
    snippets = [text_key(hit.snippet) for hit in reply.hits]
    at = [_is_at(hit, snippet, query.places, keys) for hit, snippet in zip(reply.hits, snippets, strict=True)]
    shown = [any(key in snippet for each in keys for key in each) for snippet in snippets]
    return QueryOutcome(
        query,
        is_first=bool(at) and at[0],
        is_found=any(at),
        is_shown=any(is_at and is_shown for is_at, is_shown in zip(at, shown, strict=True)),
        is_refused=reply.abstained,
        took_ms=reply.took_ms,
        characters=sum(len(hit.snippet) for hit in reply.hits),
    )


def _is_at(hit: Hit, snippet: str, places: Sequence[QueryPlace], keys: Sequence[Sequence[str]]) -> bool:
    """Return whether a hit overlaps one of the places, or is a copy of one elsewhere."""
    for place, each in zip(places, keys, strict=True):
        is_near = hit.start_line <= place.last_line and place.first_line <= hit.end_line
        if hit.path == place.path and is_near:
            return True
        if each[0].count(" ") > MIN_COPY_TOKENS and each[0] in snippet:
            return True
    return False


def summarize(outcomes: Sequence[QueryOutcome]) -> QualityFigures:
    """Return the figures of some outcomes, at least one."""
    times = sorted(outcome.took_ms for outcome in outcomes)
    shares = {name: _share(outcomes, share) for name, share in SHARES.items()}
    return QualityFigures(
        queries=len(outcomes),
        p50_ms=percentile(times, 0.5),
        p95_ms=percentile(times, 0.95),
        characters=sum(outcome.characters for outcome in outcomes) / len(outcomes),
        **shares,
    )


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of ordered values by nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def group(
    outcomes: Iterable[QueryOutcome], kinds: Iterable[str], kind_of: Callable[[QueryOutcome], str]
) -> dict[str, list[QueryOutcome]]:
    """Return outcomes by kind, in the order of `kinds` and without the kinds that have none."""
    groups: dict[str, list[QueryOutcome]] = {kind: [] for kind in kinds}
    for outcome in outcomes:
        groups[kind_of(outcome)].append(outcome)
    return {kind: each for kind, each in groups.items() if each}


def compare(
    now: Sequence[QueryOutcome], other: Sequence[QueryOutcome], share: Share, seed: int = 0
) -> ShareDifference:
    """Return how much a share of the same queries grew, with a paired bootstrap interval.

    The wordings of one query are resampled together, as they are not independent of each other.
    """
    changes: dict[str, list[int]] = defaultdict(list)
    for before, after in zip(now, other, strict=True):
        changes[before.query.origin].append(int(share(after)) - int(share(before)))
    pairs = [(sum(each), len(each)) for _, each in sorted(changes.items())]
    if not any(change for change, _ in pairs):
        return ShareDifference(0.0, 0.0, 0.0)
    choose = random.Random(seed).choices
    means = sorted(_mean(choose(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return ShareDifference(_mean(pairs), percentile(means, 0.025), percentile(means, 0.975))


def _mean(pairs: Sequence[tuple[int, int]]) -> float:
    """Return the mean change of clusters, each with the sum of its changes and their number."""
    return sum(change for change, _ in pairs) / sum(count for _, count in pairs)


def _share(outcomes: Sequence[QueryOutcome], share: Share) -> float:
    return sum(map(share, outcomes)) / len(outcomes)


def groups_of(outcomes: Sequence[QueryOutcome]) -> Mapping[str, Mapping[str, list[QueryOutcome]]]:
    """Return outcomes by kind of file, kind of query, and wording."""
    return {
        "file_kinds": group(outcomes, NoteKind, lambda outcome: outcome.query.file_kind),
        "query_kinds": group(outcomes, QueryKind, lambda outcome: outcome.query.kind),
        "wordings": group(outcomes, Wording, lambda outcome: outcome.query.wording),
    }
