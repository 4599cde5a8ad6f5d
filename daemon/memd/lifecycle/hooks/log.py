"""The latest decisions of hooks, without the text of memory. In RAM: no log event and no file has any of it."""

from __future__ import annotations

from collections import deque
from itertools import islice

from memd.lifecycle.hooks.injection import HookDecision
from memd.system.clock import Clock, wall_clock_ms
from memd.text.redact.secrets import redact
from memd_client.hooks import HookLogEntry, HookParams

MAX_ENTRIES = 500
"""Decisions kept, in RAM."""

MAX_PLACES = 10

MAX_NAME_CHARS = 200
"""Longest name of a program or session that is kept; they come from the client."""

SHOWN_PROMPT_CHARS, READ_PROMPT_CHARS = 60, 1_000
"""Characters of a prompt that are shown, and those that are read for them: enough to recognize a secret."""


class HookLog:
    """The latest decisions, newest first."""

    def __init__(self, clock: Clock = wall_clock_ms) -> None:
        self._clock = clock
        self._entries: deque[HookLogEntry] = deque(maxlen=MAX_ENTRIES)

    def __repr__(self) -> str:
        return f"<HookLog of {len(self._entries)} decisions>"

    def add(self, params: HookParams, decision: HookDecision) -> None:
        """Record a decision and the places of what was injected."""
        self._entries.appendleft(
            HookLogEntry(
                time_ms=self._clock(),
                program=params.program[:MAX_NAME_CHARS],
                session_id=params.session_id[:MAX_NAME_CHARS],
                event=params.event,
                decision=decision.code,
                chars=len(decision.text),
                places=[line.place for line in decision.lines[:MAX_PLACES]],
                prompt=first_words(params.prompt),
                candidate=decision.candidate,
                lacks=decision.lacks,
            )
        )

    def newest(self, limit: int, session_id: str | None = None) -> list[HookLogEntry]:
        """Return the newest decisions, of all sessions or of one."""
        return list(islice((each for each in self._entries if session_id in (None, each.session_id)), limit))


def first_words(prompt: str) -> str:
    """Return the start of a prompt on one line, without secrets."""
    line = " ".join(redact(prompt.lstrip()[:READ_PROMPT_CHARS])[0].split())
    return line if len(line) <= SHOWN_PROMPT_CHARS else line[: SHOWN_PROMPT_CHARS - 1] + "…"
