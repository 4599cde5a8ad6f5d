"""Request on lines of origin `outside`: which hooks withhold, and which the user released."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from memd_client.limits import AgentId, Path
from memd_client.schema import Record

ReleasedLines = Annotated[list[Annotated[str, Meta(max_length=1_000_000)]], Meta(max_length=100_000)]


class TrustParams(Record, frozen=True):
    """List withheld lines, or change which lines of a file are released.

    Attributes:
        path: Only lines of this file; None: of all files.
        agent: The agent's id; None: the default agent.
        release: Texts of lines of the file to release; an empty list takes back all its releases; None: change nothing.
        limit: The most lines to return, 1 to 100,000.

    Returns:
        `lines`, those of the newest file first, each with `path`, `line`, `reason` and `text`; `released`, the number
        of released lines by path.

    Raises:
        FileMissingError: The index has no file of that path.
        AgentUnknownError: No agent has that id.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    path: Path | None = None
    agent: AgentId | None = None
    release: ReleasedLines | None = None
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1_000


class WithheldLine(Record, frozen=True):
    """A line that no hook and no start-up context shows.

    Attributes:
        path: Path of its file.
        line: Its number in the file.
        reason: Why it is outside.
        text: The line; text of other people.
        time_ms: When the file changed last.
    """

    path: str
    line: int
    reason: str
    text: str
    time_ms: int


class TrustReply(Record, frozen=True):
    """The withheld lines of an agent's memory.

    Attributes:
        agent: The agent's id.
        lines: The lines, those of the newest file first.
        released: The number of released lines by path.
    """

    agent: str
    lines: list[WithheldLine]
    released: dict[str, int] = field(default_factory=dict)
