"""Which sessions were flushed in which compaction cycle, as a small JSON file beside the index.

It outlives restarts: a flush that was done is not asked for again. What it holds can be lost without harm, at the
price of one flush more a session. Blocks: for a thread.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from pathlib import Path

import msgspec
import structlog

from memd.system.state_file import NotRegularFileError, load_whole, replace_whole

log = structlog.get_logger(__name__)

MOST_SESSIONS = 1_000
"""Sessions remembered; beyond them, those that said nothing for the longest time are forgotten."""

MOST_KEY_CHARS = 512
"""The longest key or id of a session. Those of OpenClaw have about fifty characters."""

MOST_BYTES = 16_000_000
"""A larger file is not ours: a session takes about 200 bytes, and 15,000 with the strangest key and id there can be."""

FORMAT = 1

ASIDE = ".corrupt"
"""Ends the name of a file that could not be understood; the newest one stays."""


class Cycle(msgspec.Struct, frozen=True):
    """How often a session was compacted, and at which of these counts it was last flushed."""

    compactions: int = 0
    flushed_at: int | None = None
    session_id: str = ""

    def count(self, told: int | None) -> int:
        """Return how often a caller says it was compacted; what is remembered where it doesn't say."""
        return self.compactions if told is None else told


class _File(msgspec.Struct):
    """What the file holds; sessions by their key, the one that said something last at the end."""

    format: int
    sessions: dict[str, Cycle]


_decode = msgspec.json.Decoder(_File, strict=True).decode


class FlushState:
    """The cycles of one agent's sessions. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sessions: OrderedDict[str, Cycle] | None = None

    def __repr__(self) -> str:
        known = "not read" if self._sessions is None else f"{len(self._sessions)} sessions"
        return f"<FlushState {self.path.name}: {known}>"

    def find(self, session_key: str, session_id: str = "") -> Cycle:
        """Return how a session stands; one that isn't known begins."""
        cycle = self._known().get(session_key, Cycle())
        if session_id and cycle.session_id and session_id != cycle.session_id:
            return Cycle(session_id=session_id)
        return cycle

    def keep(self, session_key: str, cycle: Cycle) -> None:
        """Remember how a session stands, on disk too where that can be written."""
        known = self._known()
        known[session_key] = cycle
        known.move_to_end(session_key)
        while len(known) > MOST_SESSIONS:
            known.popitem(last=False)
        self._write()

    def forget(self, session_key: str) -> None:
        """Forget a session: the next one of its key begins anew."""
        if self._known().pop(session_key, None) is not None:
            self._write()

    def _known(self) -> OrderedDict[str, Cycle]:
        """Return what is remembered, read from the file the first time."""
        if self._sessions is None:
            self._sessions = OrderedDict(self._read())
        return self._sessions

    def _read(self) -> dict[str, Cycle]:
        """Return what the file holds; nothing where there is none or it can't be understood."""
        try:
            held = _decode(load_whole(self.path, MOST_BYTES, through_link=False))
            if held.format != FORMAT:
                raise ValueError("it has another format")
            return dict(list(held.sessions.items())[-MOST_SESSIONS:])
        except FileNotFoundError:
            pass
        except NotRegularFileError as error:
            self._set_aside(error)
        except OSError as error:
            log.warning("lifecycle.flush_state_unread", file=str(self.path), reason=_reason(error))
        except (ValueError, msgspec.MsgspecError, RecursionError) as error:
            self._set_aside(error)
        return {}

    def _set_aside(self, error: Exception) -> None:
        """Rename a file that can't be understood, and say so."""
        aside = self.path.with_name(self.path.name + ASIDE)
        with contextlib.suppress(OSError):
            os.replace(self.path, aside)
        log.warning("lifecycle.flush_state_set_aside", file=str(self.path), reason=_reason(error))

    def _write(self) -> None:
        """Replace the file whole; where that fails, what is remembered stays in memory until the next time."""
        try:
            replace_whole(self.path, msgspec.json.encode(_File(FORMAT, dict(self._known()))))
        except OSError as error:
            log.warning("lifecycle.flush_state_unwritten", file=str(self.path), reason=_reason(error))


def _reason(error: Exception) -> str:
    """Return why, without what the file holds."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "it is damaged" if isinstance(error, msgspec.MsgspecError) else str(error)
