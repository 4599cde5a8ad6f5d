"""The daemon's progress as MCP has it: one number that only grows, whatever the stages are."""

from __future__ import annotations

from memd_client.messages import Progress

Step = tuple[float, float | None, str]
"""How far it is, of how much (None where it isn't known), and what is being done."""


class Steps:
    """The stages of one request, laid end to end."""

    def __init__(self) -> None:
        self._stage = ""
        self._before = 0
        self._last = -1

    def next(self, progress: Progress) -> Step | None:
        """Return what to tell of a progress; None where it is no news."""
        if progress.stage != self._stage:
            self._stage = progress.stage
            self._before = max(self._last, 0)
        reached = self._before + progress.done
        if reached <= self._last:
            return None
        self._last = reached
        total = float(self._before + progress.total) if progress.total else None
        return float(reached), total, f"{progress.stage} {progress.detail}".strip()
