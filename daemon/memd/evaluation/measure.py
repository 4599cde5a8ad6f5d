"""Runs queries against a daemon, judges the replies by place, and compares two measurements of the same queries."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memd.evaluation.notes import NoteKind, NoteLine, text_key
from memd.evaluation.queries import EvalQuery, QueryKind, Wording
from memd_client.usage import MEASURING

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import AgentStatus, Hit, SearchReply

LOCAL_PROVIDERS = frozenset({"", "none", "local"})
"""Providers that send nothing to another program."""

MIN_COPY_WORDS = 5
"""A shorter text elsewhere is not a copy of the place: the same few words may occur anywhere."""

RESAMPLES = 1_000
"""Resamples of the bootstrap: enough for a 95 % interval."""

SHARES = ("first", "found", "shown", "refused")
"""The first hit is at a place of the query; any hit is; the snippet of such a hit shows the answer; there are none."""


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The result of one query: the `SHARES` that it counts in, the daemon's time, and characters of all snippets."""

    query: EvalQuery
    shares: frozenset[str]
    took_ms: float
    characters: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """The outcomes of all queries, and how they were searched for: the modes and the embedder of the last reply."""

    outcomes: list[QueryOutcome]
    modes: list[str]
    provider: str
    model: str


class Difference(NamedTuple):
    """A difference of shares and its 95 % interval."""

    value: float
    low: float
    high: float


def remote_provider(state: AgentStatus | SearchReply) -> str:
    """Return the provider outside of this machine that a query may be sent to; empty if there is none."""
    names = [state.provider]
    names += [each.provider for each in (state.filling, state.fallback) if each is not None]
    return next((name for name in names if name not in LOCAL_PROVIDERS), "")


def measure(
    client: Client,
    agent: str,
    queries: Sequence[EvalQuery],
    show: Callable[[int, int], None],
    *,
    allow_remote: bool,
    keywords_only: bool = False,
) -> Measurement:
    """Run queries one after the other.

    Unless `allow_remote`, the rest are searched for by keywords alone if a reply names a provider outside of this
    machine, which the next query would be sent to.
    """
    outcomes: list[QueryOutcome] = []
    modes: set[str] = set()
    provider = model = ""
    for done, query in enumerate([queries[0], *queries]):
        reply = client.search(query.text, agent=agent, lexical_only=keywords_only, caller=MEASURING)
        keywords_only = keywords_only or (not allow_remote and bool(remote_provider(reply)))
        if done:  # the first search may load the model
            outcomes.append(judge(query, reply))
            modes.add(reply.mode)
            show(done, len(queries))
        if reply.mode != "keyword":
            provider, model = reply.provider, reply.model
    return Measurement(outcomes, sorted(modes), provider, model)


def judge(query: EvalQuery, reply: SearchReply) -> QueryOutcome:
    """Return the outcome of a query."""
    answer = text_key(query.answer)
    matches = [hit for hit in reply.hits if _is_at_place(hit, query)]
    shares = {
        "first": bool(matches) and matches[0] is reply.hits[0],
        "found": bool(matches),
        "shown": any(answer in text_key(hit.snippet) for hit in matches),
        "refused": reply.abstained,
    }
    characters = sum(len(hit.snippet) for hit in reply.hits)
    return QueryOutcome(query, frozenset(filter(shares.get, shares)), reply.took_ms, characters)


def _is_at_place(hit: Hit, query: EvalQuery) -> bool:
    """Return whether a hit overlaps the chunk of a line that answers a query, or is a copy of the answer elsewhere."""
    for line in query.lines:
        is_near = hit.start_line <= line.chunk.end_line and line.chunk.start_line <= hit.end_line
        if is_near and hit.path == line.note.path:
            return True
    key = text_key(query.answer)
    return key.count(" ") > MIN_COPY_WORDS and key in text_key(hit.snippet)


def summarize(outcomes: Sequence[QueryOutcome]) -> dict[str, float]:
    """Return the figures of outcomes, at least one: shares from 0 to 1, milliseconds, and characters on average."""
    times = sorted(outcome.took_ms for outcome in outcomes)
    return {
        "queries": len(outcomes),
        **{name: sum(name in each.shares for each in outcomes) / len(outcomes) for name in SHARES},
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
        "characters": sum(outcome.characters for outcome in outcomes) / len(outcomes),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of ordered values by nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def groups_of(outcomes: Sequence[QueryOutcome]) -> dict[str, dict[str, list[QueryOutcome]]]:
    """Return outcomes by kind of file, kind of query, and wording, without empty groups."""
    groups: dict[str, dict[str, list[QueryOutcome]]] = {
        "file_kinds": {
            kind: [each for each in outcomes if each.query.file_kind is kind] for kind in NoteKind
        },
        "query_kinds": {kind: [each for each in outcomes if each.query.kind is kind] for kind in QueryKind},
        "wordings": {kind: [each for each in outcomes if each.query.wording is kind] for kind in Wording},
    }
    return {name: {kind: group for kind, group in kinds.items() if group} for name, kinds in groups.items()}


def compare(now: Sequence[QueryOutcome], other: Sequence[QueryOutcome], share: str) -> Difference:
    """Return how much a share of the same queries grew, with a paired bootstrap interval.

    Queries from the same line are resampled together, as they are not independent of each other.
    """
    changes: dict[NoteLine, list[int]] = defaultdict(list)
    for before, after in zip(now, other, strict=True):
        changes[before.query.lines[0]].append((share in after.shares) - (share in before.shares))
    clusters = [(sum(each), len(each)) for each in changes.values()]
    choose = random.Random(0).choices
    means = sorted(_mean(choose(clusters, k=len(clusters))) for _ in range(RESAMPLES))
    return Difference(_mean(clusters), percentile(means, 0.025), percentile(means, 0.975))


def _mean(clusters: Sequence[tuple[int, int]]) -> float:
    """Return the mean change in clusters, each with the sum of its changes and their number."""
    return sum(change for change, _ in clusters) / sum(count for _, count in clusters)
