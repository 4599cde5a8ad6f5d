"""The decision whether a session needs a memory flush before compaction, and the prompts of the flush. Pure.

The settings may replace the prompts; the rules that protect existing notes, and the word that keeps the turn silent,
are always added.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from memd.lifecycle.notes.daily import local_time, note_path
from memd.lifecycle.notes.session_kinds import Kind
from memd.settings.lifecycle import Flush

Access = Literal["rw", "ro", "none"]

REASONS: dict[str, str] = {
    "tokens": "the context is about to be compacted",
    "transcript_size": "the transcript exceeds the size at which a flush is due",
    "off": "the settings turn the flush off (agents.defaults.compaction.memoryFlush.enabled)",
    "heartbeat": "a heartbeat is not a conversation",
    "cli_provider": "a model behind a command-line program keeps its own context",
    "no_workspace": "the agent has no workspace in this sandbox",
    "workspace_read_only": "the agent can't write to its workspace in this sandbox",
    "flushed_already": "a flush has run since the last compaction",
    "tokens_unknown": "the number of tokens in the context is unknown",
    "window_unknown": "the size of the context is unknown",
    "window_too_small": "the context is no larger than the reserve",
    "below_threshold": "the context has fewer tokens than the threshold",
}
"""Why a flush is due or not, by code; the first two mean that it is due."""

DUE_REASONS: frozenset[str] = frozenset({"tokens", "transcript_size"})


class SessionFigures(Struct, frozen=True):
    """The state of a session; None is unknown. `flushed_at_compaction` is the count at which it was last flushed."""

    total_tokens: int | None
    context_window: int | None
    compaction_count: int = 0
    flushed_at_compaction: int | None = None
    next_input_tokens: int = 0
    transcript_bytes: int | None = None
    kind: Kind = "main"
    cli_provider: bool = False
    workspace_access: Access = "rw"
    has_workspace: bool = True


class FlushDecision(Struct, frozen=True):
    """Whether to flush, why (a code of `REASONS`), and the number of tokens at which it is due (0: never)."""

    run: bool
    reason: str
    threshold_tokens: int

    @property
    def message(self) -> str:
        """The reason as a sentence."""
        return REASONS[self.reason]


def decide(settings: Flush, figures: SessionFigures) -> FlushDecision:
    """Return whether a session needs a flush now."""
    threshold = _threshold(settings, figures.context_window)
    reason = _against(settings, figures) or _by_size(settings, figures) or _by_tokens(figures, threshold)
    return FlushDecision(reason in DUE_REASONS, reason, threshold)


def _threshold(settings: Flush, context_window: int | None) -> int:
    kept_free = settings.reserve_tokens_floor + settings.soft_threshold_tokens
    return max(0, (context_window or 0) - kept_free)


def _against(settings: Flush, figures: SessionFigures) -> str:
    """Return why a flush is excluded regardless of size and tokens; "" if it isn't."""
    against = {
        "off": not settings.enabled,
        "heartbeat": figures.kind == "heartbeat",
        "cli_provider": figures.cli_provider,
        "no_workspace": figures.workspace_access == "none" or not figures.has_workspace,
        "workspace_read_only": figures.workspace_access == "ro",
        "flushed_already": figures.flushed_at_compaction == figures.compaction_count,
    }
    return next((reason for reason, holds in against.items() if holds), "")


def _by_size(settings: Flush, figures: SessionFigures) -> str:
    """Return `transcript_size` if the transcript is too large, else ""."""
    limit = settings.force_flush_transcript_bytes
    return "transcript_size" if 0 < limit <= (figures.transcript_bytes or 0) else ""


def _by_tokens(figures: SessionFigures, threshold: int) -> str:
    if not figures.total_tokens or figures.total_tokens < 0:
        return "tokens_unknown"
    if not figures.context_window or figures.context_window < 0:
        return "window_unknown"
    if threshold == 0:
        return "window_too_small"
    projected = figures.total_tokens + max(0, figures.next_input_tokens)
    return "tokens" if projected >= threshold else "below_threshold"


SILENT = "NO_REPLY"
"""The reply of an agent that hides a turn from its user."""

DATE = "YYYY-MM-DD"
"""Placeholder of the user's date in prompts."""

_TIME = "Current time:"

_PROMPT = (
    "This conversation is about to be compacted: what isn't written down now may be lost. Write down what should "
    "outlast it, in short entries that can be understood on their own: decisions and their reasons, preferences, "
    "facts about people and projects, open tasks. Leave out small talk, secrets and what memory holds already."
)

_SYSTEM = (
    "A silent turn of housekeeping before the context is compacted. Use it to save memories that should last, and "
    "nothing else: don't go on with the user's task."
)


class FlushPrompts(Struct, frozen=True):
    """Both prompts, and the path of the note in the workspace."""

    system: str
    user: str
    path: str


def flush_prompts(settings: Flush, now_ms: int, time_zone: str | None) -> FlushPrompts:
    """Return the prompts of the flush."""
    moment = local_time(now_ms, time_zone)
    date = moment.date().isoformat()
    path = note_path(moment.date())
    rules = (
        f"Write to `{path}` only, creating it if it is missing. Append below what it holds; never overwrite or "
        "shorten it. Don't edit MEMORY.md, USER.md, AGENTS.md, SOUL.md, TOOLS.md or any other file at the top of the "
        "workspace."
    )
    user = _with_date(settings.prompt, _PROMPT, date)
    system = _with_date(settings.system_prompt, _SYSTEM, date)
    silent = _with_silence(f"{user}\n\n{rules}")
    return FlushPrompts(_with_silence(f"{system}\n\n{rules}"), _timed(silent, format_time(moment)), path)


def _with_date(configured: str | None, usual: str, date: str) -> str:
    """Return the configured prompt or the default one, with the date filled in."""
    return ((configured or "").strip() or usual).replace(DATE, date)


def _with_silence(prompt: str) -> str:
    """Return a prompt with the rule for a silent reply."""
    if SILENT in prompt:
        return prompt
    rule = f"If there is nothing to store, or once it is stored, reply with {SILENT} alone: the user sees none of this."
    return f"{prompt}\n\n{rule}"


def _timed(prompt: str, time: str) -> str:
    """Return a prompt with the current time, unless it has one."""
    return prompt if _TIME in prompt else f"{prompt}\n\n{_TIME} {time}"


def format_time(moment: datetime) -> str:
    """Return a time as `2026-01-16 14:30 (Europe/Prague, UTC+01:00)`."""
    shift = f"{moment:%z}"
    offset = "UTC" if shift == "+0000" else f"UTC{shift[:3]}:{shift[3:5]}"
    zone = getattr(moment.tzinfo, "key", offset)
    return f"{moment:%Y-%m-%d %H:%M} ({offset if zone in (offset, 'UTC') else f'{zone}, {offset}'})"
