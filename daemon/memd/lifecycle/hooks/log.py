"""The decisions of hooks in the log of recalls. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from memd.lifecycle.hooks.injection import HookDecision
from memd.lifecycle.recalls.recall import MAX_NAME_CHARS, Recall, Shown
from memd.text.redact.secrets import redact
from memd_client.hooks import HookLogEntry, HookParams

MAX_PLACES = 10

WAYS = {
    "prompt": "prompt",
    "session_start": "start",
    **dict.fromkeys(("before_tool", "after_tool", "after_failure"), "action"),
}
"""Ways of recalls by event; other events recall nothing."""

SILENT = ("indexed", "off", "excluded", "machine_prompt")
"""Decisions without a search, which are no recalls."""

SHOWN_PROMPT_CHARS, READ_PROMPT_CHARS = 60, 1_000
"""Characters of a prompt that are shown, and those that are read for them: enough to recognize a secret."""


def hook_recall(params: HookParams, decision: HookDecision, agents: Sequence[str]) -> Recall:
    """Return the entry for a decision, with the locations of what was injected."""
    is_recall = decision.code not in SILENT
    return Recall(
        way=WAYS.get(params.event, "hook") if is_recall else "hook",
        program=params.program[:MAX_NAME_CHARS],
        session=params.session_id[:MAX_NAME_CHARS],
        agents=tuple(agents),
        query=first_words(params.prompt or params.command or params.file),
        shown=tuple(
            Shown(line.place, agents[0], "strong", len(line.text)) for line in decision.lines[:MAX_PLACES]
        ),
        event=params.event,
        decision=decision.code,
        chars=len(decision.text),
        candidate=decision.candidate,
        lacks=decision.lacks,
    )


def hook_entries(recalls: Iterable[Recall], limit: int, session_id: str | None = None) -> list[HookLogEntry]:
    """Return the newest decisions among recalls, given oldest first, of all sessions or of one."""
    newest = (
        recall
        for recall in reversed(list(recalls))
        if recall.decision and session_id in (None, recall.session)
    )
    return [
        HookLogEntry(
            time_ms=recall.time_ms,
            program=recall.program,
            session_id=recall.session,
            event=recall.event,
            decision=recall.decision,
            chars=recall.chars,
            places=[shown.place for shown in recall.shown],
            prompt=recall.query,
            candidate=recall.candidate,
            lacks=recall.lacks,
        )
        for recall in islice(newest, limit)
    ]


def first_words(prompt: str) -> str:
    """Return the start of a prompt on one line, without secrets."""
    line = " ".join(redact(prompt.lstrip()[:READ_PROMPT_CHARS])[0].split())
    return line if len(line) <= SHOWN_PROMPT_CHARS else line[: SHOWN_PROMPT_CHARS - 1] + "…"
