"""Records of what is wrong or missing in a reply. Times are milliseconds."""

from __future__ import annotations

from memd_client.schema import Record


class Problem(Record, frozen=True):
    """A problem, and a hint what to do about it.

    Attributes:
        code: An error code.
        message: What is wrong, on which object.
        hint: What to do.
    """

    code: str
    message: str
    hint: str


class Degradation(Record, frozen=True):
    """Why a reply is incomplete, and since when (epoch milliseconds).

    Attributes:
        code: An error code.
        reason: Why, as a sentence.
        since_ms: Since when, epoch ms.
        hint: What to do.
    """

    code: str
    reason: str
    since_ms: int
    hint: str


class EmptyResult(Record, frozen=True):
    """Why a search has no hits, and what to do; `min_score` in the hint is the request's parameter.

    Attributes:
        code: See no hits.
        message: Why, as a sentence.
        hint: What to do.
    """

    code: str
    message: str
    hint: str


class Fallback(Record, frozen=True):
    """The configured provider that failed, why, and since when (epoch milliseconds).

    Attributes:
        provider: The configured provider that cannot be used.
        code: An error code.
        reason: Why, as a sentence.
        since_ms: Since when, epoch ms.
    """

    provider: str
    code: str
    reason: str
    since_ms: int


class SkippedFile(Record, frozen=True):
    """A file that is not in the index, and why.

    Attributes:
        path: Path relative to the workspace, as in a hit.
        reason: Why it is not indexed, or how much of it is.
    """

    path: str
    reason: str
