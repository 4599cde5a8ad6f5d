"""What is measured of the sides, in rounds in which each has its turn."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.peers.child import ChildError, Run
from benchmarks.peers.contest import Contest
from benchmarks.peers.endpoint import Endpoint
from benchmarks.peers.memd_side import MemdSide
from benchmarks.peers.notes import PLANTED, planted_name
from benchmarks.peers.side import Answer, Side

WARM_UP = ("which words come before all others", "what is asked twice", "how does one begin")
"""Questions of which only the first is timed, and apart: a first search loads what later ones find loaded."""


PASSES = 4
"""How often memd is asked the same again until it has all vectors."""


class Turn(NamedTuple):
    """Medians of one side's searches in one round, in milliseconds."""

    whole: float
    bare: float
    served: float
    fetched: float
    cpu: float


class WarmRound(NamedTuple):
    """One round of warm searches."""

    turns: dict[str, Turn]
    cached: float
    request: float


def first_search(side: Side) -> float:
    """Return what the first search takes, in milliseconds, and search a little more."""
    took = [side.search(question).ms for question in WARM_UP]
    return took[0]


def warm_rounds(
    contest: Contest, endpoint: Endpoint, questions: Sequence[str], rounds: int
) -> list[WarmRound]:
    """Let all sides answer different questions in each round."""
    share = len(questions) // rounds
    return [
        warm_round(contest, endpoint, questions[number * share : (number + 1) * share])
        for number in range(rounds)
    ]


def warm_round(contest: Contest, endpoint: Endpoint, questions: Sequence[str]) -> WarmRound:
    """Let all sides answer some questions, and memd once more."""
    turns = contest.each(lambda side: ask_anew(side, endpoint, questions))
    again = contest.each(lambda side: ask_again(side, endpoint, questions))
    request = median(endpoint.round_trips(list(questions)))
    return WarmRound(turns, again[MemdSide.name], request)


def ask_anew(side: Side, endpoint: Endpoint, questions: Sequence[str]) -> Turn:
    """Ask questions that a side doesn't know yet."""
    whole, bare, served, fetched = [], [], [], 0
    before_ms = side.processor_ms()
    for question in questions:
        begin = len(endpoint.requests())
        took_ms = side.search(question).ms
        requests = questions_of(side, endpoint, begin)
        if not requests:
            raise ChildError(f"fetched no vector for {question!r}")
        whole.append(took_ms)
        served.append(sum(requests))
        bare.append(took_ms - sum(requests))
        fetched += len(requests)
    cpu_ms = (side.processor_ms() - before_ms) / len(questions)
    return Turn(median(whole), median(bare), median(served), fetched / len(questions), cpu_ms)


def ask_again(side: Side, endpoint: Endpoint, questions: Sequence[str]) -> float:
    """Ask memd what it was asked before; return the median in milliseconds. Of others it isn't asked: 0.

    On a busy machine a search may have gone without a closer look at its hits, which the next one then takes: it is
    asked until it fetches nothing more.
    """
    if side.name != MemdSide.name:
        return 0.0
    took_ms = 0.0
    for _ in range(PASSES):
        begin = len(endpoint.requests())
        took_ms = median(side.search(question).ms for question in questions)
        if not questions_of(side, endpoint, begin):
            break
    return took_ms


def questions_of(side: Side, endpoint: Endpoint, begin: int) -> list[float]:
    """Return the milliseconds the endpoint took for each of a side's short texts, from a request on."""
    asked = endpoint.requests(begin)
    return [request.ms for request in asked if request.caller == side.name and request.is_question]


def find_planted(side: Side) -> int:
    """Return how many of the planted notes the questions to them find."""
    return sum(is_found(side.search(question), planted_name(name)) for name, (_, question) in PLANTED.items())


def is_found(answer: Answer, name: str) -> bool:
    """Tell whether a note is among an answer's hits; sides name it by its path in the workspace or its full one."""
    return any(path.rpartition("/")[2] == name for path in answer.paths)


def ask_shell(contest: Contest, rounds: int) -> list[dict[str, Run]]:
    """Let every side's command answer a question about a planted note in each round."""
    questions = [question for _, question in PLANTED.values()]
    return [
        contest.each(lambda side, number=number: side.shell(questions[number % len(questions)]).run)  # type: ignore[misc]
        for number in range(rounds)
    ]
