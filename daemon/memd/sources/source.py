"""The interface of a source of transcripts, and its contract."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Protocol

from memd.sources.discover import SourceFile
from memd.sources.read import FileText
from memd_client.messages import Problem, SkippedFile

PREFIX = "sessions/"
"""Prefix of every transcript's index path."""


@dataclass(slots=True)
class Transcripts:
    """Result of one scan: an agent's transcripts, and those left out with their reasons.

    Attributes:
        found: Transcripts by index path: `sessions/<session id>.jsonl` in both stores, and `sessions/<file name>` for
            rotated files.
        left_out: Number of sessions that are not memory, by kind.
        skipped: Transcripts that can't be indexed, each with the reason.
        problems: Problems of a whole store, each with a hint.
        eras: Number of transcripts in each store, `jsonl` and `sqlite`; none is counted twice.
        kinds: Kinds of sessions that are not memory, by id: `cron`, `heartbeat`, `subagent`, `dreaming`, `internal`.
        by_key: By session key, the path of the transcript that was written last under it.
        complete: Whether all stores could be scanned; if not, missing transcripts count as unknown, not as deleted.
    """

    found: dict[str, SourceFile] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    eras: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    by_key: dict[str, str] = field(default_factory=dict)
    complete: bool = True

    def leave_out(self, session_id: str, kind: str) -> None:
        """Count a session as not memory, once."""
        if session_id not in self.kinds:
            self.kinds[session_id] = kind
            self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def skip(self, path: str, reason: str) -> None:
        """Record a transcript that can't be indexed."""
        self.skipped.append(SkippedFile(path.encode("utf-8", "replace").decode("utf-8"), reason))


class SessionSource(Protocol):
    """A store of an agent's transcripts.

    All methods block and are thread-safe. Nothing is ever written to the store, and no lock or transaction remains
    open in it between two calls.
    """

    def find(self) -> Transcripts:
        """Return the current transcripts.

        This runs inside every search: it checks names, sizes and times, and reads a transcript's first lines at most
        once. Unreadable ones are in `skipped` or `problems`. While a store is busy, the previous result is returned.
        The object belongs to the caller.

        Raises:
            FileUnreadableError: The process has no file descriptors left.
        """

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text: one line per message, without scaffolding and secrets.

        If the transcript has only grown since its last load, only the addition is read; the result is the same as that
        of a full load. `line_map` has the line of the file, or the number of the event, for each line of the text, and
        `hash` covers everything that was read.

        Args:
            found: The transcript as `find` returned it; it may have changed since.

        Raises:
            FileMissingError: It no longer exists.
            FileUnreadableError: It can't be read, is too big, became a link, or changes while it is read.
        """

    def close(self) -> None:
        """Release connections and RAM. A closed source opens again at the next call."""


def path_of(session_id: str) -> str:
    """Return the index path of a session's transcript."""
    return f"{PREFIX}{session_id}.jsonl"


_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}")


def name_of_session(session_id: str) -> str:
    """Return a session's id as the last part of an index path, which is also a valid file name."""
    if _SAFE.fullmatch(session_id):
        return session_id
    digest = hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:16]
    return re.sub(r"[^A-Za-z0-9_-]", "-", session_id)[:80] + "-" + digest
