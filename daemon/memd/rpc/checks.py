"""What a request's parameters must be beyond their types, and the one shape in which it is said."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memd_client.errors import BadParamsError
from memd_client.messages import SearchAgentsParams, SearchParams

MOST_COUNT = 2**53
"""What every client's numbers hold exactly, JavaScript's too."""


MAX_PROJECT_CHARACTERS = 4_096
"""Of a project's key: a path's longest."""

MAX_RESULTS = 1000
"""More hits than this no reader reads, and with full snippets they would near the frame's limit."""

SOURCES = ("memory", "sessions")


def wrong(request: str, field: str, reason: str) -> BadParamsError:
    """Return what is wrong with a parameter."""
    return BadParamsError(f"{request}: `{field}` {reason}", data={"field": field})


def check_filled(request: str, field: str, text: str) -> None:
    """Raise unless a text says something."""
    if not text.strip():
        raise wrong(request, field, "must not be empty")


def check_count(request: str, field: str, number: int | None) -> None:
    """Raise where a number that is given is negative, or so large that one more would not fit the wire."""
    if (number or 0) < 0:
        raise wrong(request, field, "must not be negative")
    if (number or 0) > MOST_COUNT:
        raise wrong(request, field, "must be at most 2**53")


def check_projects(request: str, keys: Sequence[str] | None) -> None:
    """Raise if a key of an active project is empty, too long, or not text."""
    for key in keys or ():
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_PROJECT_CHARACTERS:
            expected = f"must be keys of 1 to {MAX_PROJECT_CHARACTERS} characters"
            raise wrong(request, "active_projects", expected)


def check_word(request: str, field: str, word: str | None, known: Collection[str]) -> None:
    """Raise where a word that is given is none of those there are."""
    if word is not None and word not in known:
        raise wrong(request, field, f"must be one of {', '.join(known)}")


def check_search(request: str, params: SearchParams | SearchAgentsParams) -> None:
    """Raise if a number of a search is out of its range, or a source unknown."""
    if params.max_results is not None and not 1 <= params.max_results <= MAX_RESULTS:
        raise wrong(request, "max_results", f"must be from 1 to {MAX_RESULTS}")
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong(request, "deadline_ms", "must be at least 1")
    if params.min_score is not None and not params.min_score == params.min_score:
        raise wrong(request, "min_score", "must be a number")
    if params.sources is not None and (not params.sources or not set(params.sources) <= set(SOURCES)):
        raise wrong(request, "sources", f"must be one or more of {', '.join(SOURCES)}")
    check_projects(request, params.active_projects)
