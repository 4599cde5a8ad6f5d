"""What a source of transcripts is, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from memd.sync.disk.discover import Found
from memd.sync.disk.read import FileText
from memd.system.units import size
from memd_client.errors import FileUnreadableError
from memd_client.messages import Problem, Skipped

PREFIX = "sessions/"
"""How the index path of every transcript begins."""


@dataclass(slots=True)
class Transcripts:
    """An agent's transcripts at one moment, and what was left out and why.

    Attributes:
        found: By index path: `sessions/<session id>.jsonl`, whichever era keeps the session, and
            `sessions/<file name>` for what was rotated away.
        left_out: How many sessions are no memory, by their kind.
        skipped: Transcripts that can't be taken, each with its reason.
        problems: What is wrong with a whole store of transcripts, each with the way out.
        eras: How many transcripts are found in each era, `jsonl` and `sqlite`; none is counted twice.
        kinds: The sessions that are no memory, by their id: `cron`, `heartbeat`, `subagent`, `dreaming`, `internal`.
        by_key: By session key, the path of the transcript that was written last under it.
        complete: Whether that is all there is; not, where a store can't be looked at just now. Then what isn't found
            isn't gone.
    """

    found: dict[str, Found] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    eras: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    def leave_out(self, session_id: str, kind: str) -> None:
        """Count a session as no memory, once."""
        if session_id not in self.kinds:
            self.kinds[session_id] = kind
            self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def skip(self, path: str, reason: str) -> None:
        """List a transcript that can't be taken."""
        self.skipped.append(Skipped(path.encode("utf-8", "replace").decode("utf-8"), reason))


class SessionSource(Protocol):
    """One place that keeps an agent's conversations.

    All methods block and may be called from any thread, also from several at once. Nothing is ever written to
    the place, and no lock or transaction is held there between two calls.
    """

    def find(self) -> Transcripts:
        """Return the transcripts there are now.

        This runs inside every search: it looks at names, sizes and times, and reads a transcript's first lines at
        most once. What can't be read is in `skipped` or `problems`. While a store is busy, what was found last
        time is returned. The object belongs to the caller.

        Raises:
            FileUnreadableError: No file descriptor is left to look with.
        """

    def load(self, found: Found) -> FileText:
        """Return a transcript's talk: one line a message, without scaffolding and without secrets.

        The text of a transcript that has only grown since its last load is made from what was added; it equals the
        text of a whole load in every case. `line_map` has the line of the file, or the number of the event,
        for each line of the text, and `hash` covers all that was read.

        Args:
            found: The transcript as `find` returned it; it may have changed since.

        Raises:
            FileMissingError: It is gone.
            FileUnreadableError: It can't be read, is too big, became a link, or doesn't hold still.
        """

    def close(self) -> None:
        """Let go of connections and memory. A closed source opens again at the next call."""


def path_of(session_id: str) -> str:
    """Return the index path of a session's transcript."""
    return f"{PREFIX}{session_id}.jsonl"


RESTORE = "Restore it from a backup; until then it is left out and everything else is searched."
"""What to do about a damaged transcript."""


def unreadable(path: str, why: str, reason: str, hint: str | None = None) -> FileUnreadableError:
    """Return the error of a transcript that can't be read."""
    return FileUnreadableError(f"{path} {why}", hint=hint, data={"path": path, "reason": reason})


def being_written(path: str) -> FileUnreadableError:
    """Return the error of a transcript that changes while it is read."""
    return unreadable(
        path,
        "is being written to; it is read again with the next change",
        "moving",
        "Nothing to do: the next search or sync reads it.",
    )


def describe_size(size_bytes: int, limit_bytes: int) -> str:
    """Return why a transcript is left out that is too big."""
    return f"too big: {size(size_bytes)}, the limit is {size(limit_bytes)}"
