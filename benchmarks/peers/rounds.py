"""Measurements of the sides, in rounds in which each takes a turn."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.peers.child import ChildError, ProcessRun
from benchmarks.peers.contest import Contest
from benchmarks.peers.endpoint import EndpointProcess
from benchmarks.peers.memd_system import MemdSystem
from benchmarks.peers.notes import PLANTED, planted_name
from benchmarks.peers.system import ComparedSystem, ProcessSearch

WARM_UP = ("which words come before all others", "what is asked twice", "how does one begin")
"""Queries of the first searches, which load what later ones need; only the first is timed, separately."""


PASSES = 4
"""How often memd repeats queries until it has all vectors."""


class SearchTurn(NamedTuple):
    """Medians of one side in one round, in milliseconds."""

    whole: float
    bare: float
    served: float
    fetched: float
    cpu: float


class WarmRound(NamedTuple):
    """One round of searches in running processes."""

    turns: dict[str, SearchTurn]
    cached: float
    request: float


def first_search(side: ComparedSystem) -> float:
    """Return the milliseconds of the first search, and search a little more."""
    took = [side.search(query).ms for query in WARM_UP]
    return took[0]


def warm_rounds(
    contest: Contest, endpoint: EndpointProcess, queries: Sequence[str], rounds: int
) -> list[WarmRound]:
    """Search with all sides, with different queries in each round."""
    share = len(queries) // rounds
    return [
        warm_round(contest, endpoint, queries[number * share : (number + 1) * share])
        for number in range(rounds)
    ]


def warm_round(contest: Contest, endpoint: EndpointProcess, queries: Sequence[str]) -> WarmRound:
    """Search with all sides, then repeat the queries with memd."""
    turns = contest.each(lambda side: search_new(side, endpoint, queries))
    again = contest.each(lambda side: search_known(side, endpoint, queries))
    request = median(endpoint.round_trips(list(queries)))
    return WarmRound(turns, again[MemdSystem.name], request)


def search_new(side: ComparedSystem, endpoint: EndpointProcess, queries: Sequence[str]) -> SearchTurn:
    """Search with queries that are new to a side."""
    whole, bare, served, fetched = [], [], [], 0
    before_ms = side.processor_ms()
    for query in queries:
        begin = len(endpoint.requests())
        took_ms = side.search(query).ms
        requests = query_requests(side, endpoint, begin)
        if not requests:
            raise ChildError(f"fetched no vector for {query!r}")
        whole.append(took_ms)
        served.append(sum(requests))
        bare.append(took_ms - sum(requests))
        fetched += len(requests)
    cpu_ms = (side.processor_ms() - before_ms) / len(queries)
    return SearchTurn(median(whole), median(bare), median(served), fetched / len(queries), cpu_ms)


def search_known(side: ComparedSystem, endpoint: EndpointProcess, queries: Sequence[str]) -> float:
    """Repeat memd's queries and return the median in milliseconds; 0 for other sides.

    On a busy machine a search may have skipped the comparison of lines, which the next one then does: queries are
    repeated until no vector is fetched.
    """
    if side.name != MemdSystem.name:
        return 0.0
    took_ms = 0.0
    for _ in range(PASSES):
        begin = len(endpoint.requests())
        took_ms = median(side.search(query).ms for query in queries)
        if not query_requests(side, endpoint, begin):
            break
    return took_ms


def query_requests(side: ComparedSystem, endpoint: EndpointProcess, begin: int) -> list[float]:
    """Return the endpoint's milliseconds for a side's queries since a request."""
    asked = endpoint.requests(begin)
    return [request.ms for request in asked if request.caller == side.name and request.is_query]


def find_planted(side: ComparedSystem) -> int:
    """Return how many planted notes their queries find."""
    return sum(is_found(side.search(query), planted_name(name)) for name, (_, query) in PLANTED.items())


def is_found(answer: ProcessSearch, name: str) -> bool:
    """Return whether a note is among the hits, by its file name."""
    return any(path.rpartition("/")[2] == name for path in answer.paths)


def search_from_shell(contest: Contest, rounds: int) -> list[dict[str, ProcessRun]]:
    """Search with every side's command for a planted note in each round."""
    queries = [query for _, query in PLANTED.values()]
    return [
        contest.each(lambda side, number=number: side.shell(queries[number % len(queries)]).run)  # type: ignore[misc]
        for number in range(rounds)
    ]
