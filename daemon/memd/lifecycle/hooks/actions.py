"""What is added at a command, an edit or a failure of an agent, and its text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from memd.agents.agent import Agent
from memd.lifecycle.hooks.injection import HookDecision, ShownLine, inject
from memd_client.hooks import HookParams

ACTION_EVENTS: Final = ("before_tool", "after_tool", "after_failure")

MAX_ACTION_CHARS: Final = 600
"""Longest text that is added at an action, with its marks."""


class Advice(NamedTuple):
    """What is added at an action: a sentence above, the lines, and the subject that is named once a session."""

    heading: str
    lines: tuple[ShownLine, ...]
    subject: str


FindAdvice: TypeAlias = Callable[[Sequence[Agent], HookParams], Awaitable[Advice | None]]
"""Returns what memory has on an action; None unless it is sure."""


def write_advice(advice: Advice) -> HookDecision:
    """Return the text of an advice with the lines that fit."""
    lines = list(advice.lines)
    while lines:
        text, shown = inject(advice.heading, lines, MAX_ACTION_CHARS)
        if len(text) <= MAX_ACTION_CHARS:
            return HookDecision("injected", text, tuple(shown))
        lines.pop()
    return HookDecision(
        "not_sure", candidate=advice.lines[0].place, lacks=f"longer than {MAX_ACTION_CHARS} characters"
    )
