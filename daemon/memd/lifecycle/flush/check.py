"""Whether a session is so near compaction that memory has to be written first, and the prompts of that turn. Pure.

Prompts of the settings say what a user wants written down; the rules that keep memory whole, and the word that keeps
the turn silent, are always added.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memd.lifecycle.notes.daily import local_time, note_path
from memd.lifecycle.notes.session_kinds import Kind
from memd.settings.lifecycle import Flush

Access = Literal["rw", "ro", "none"]

ACCESSES: tuple[str, ...] = ("rw", "ro", "none")

REASONS: dict[str, str] = {
    "tokens": "the context is about to be compacted",
    "transcript_size": "the transcript has grown so large that what is in it should be written down",
    "off": "the settings turn the flush off (agents.defaults.compaction.memoryFlush.enabled)",
    "heartbeat": "a heartbeat is no conversation",
    "cli_provider": "a provider that is a command line keeps its own context",
    "no_workspace": "the agent has no workspace to write to here",
    "workspace_read_only": "the agent can't write to its workspace here",
    "flushed_already": "it was done since the last compaction",
    "tokens_unknown": "it isn't known how many tokens the context holds",
    "window_unknown": "it isn't known how many tokens the context can hold",
    "window_too_small": "the context holds no more than what is kept free",
    "below_threshold": "there is room left in the context",
}
"""Why a flush is due or not, by code; the first two say that it is."""

DUE: frozenset[str] = frozenset({"tokens", "transcript_size"})


@dataclass(frozen=True, slots=True)
class SessionFigures:
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


@dataclass(frozen=True, slots=True)
class FlushDecision:
    """Whether to flush, why (a code of `REASONS`), and from how many tokens on it is due; 0: never for tokens."""

    run: bool
    reason: str
    threshold_tokens: int

    @property
    def message(self) -> str:
        """The reason in a sentence."""
        return REASONS[self.reason]


def decide(settings: Flush, figures: SessionFigures) -> FlushDecision:
    """Return whether a session is to be flushed now."""
    threshold = _threshold(settings, figures.context_window)
    reason = _against(settings, figures) or _by_size(settings, figures) or _by_tokens(figures, threshold)
    return FlushDecision(reason in DUE, reason, threshold)


def _threshold(settings: Flush, context_window: int | None) -> int:
    kept_free = settings.reserve_tokens_floor + settings.soft_threshold_tokens
    return max(0, (context_window or 0) - kept_free)


def _against(settings: Flush, figures: SessionFigures) -> str:
    """Return why there is no flush whatever the figures say, "" if nothing is against one."""
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
    """Return `transcript_size` where the transcript is too large, else ""."""
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
"""What an agent answers where its user shall see nothing."""

DATE = "YYYY-MM-DD"
"""Stands for the user's date in prompts."""

_TIME = "Current time:"

_PROMPT = (
    "This conversation is about to be compacted: what isn't written down now may be lost. Write down what should "
    "outlast it, in short entries that can be understood by themselves: decisions and their reasons, preferences, "
    "facts about people and projects, open tasks. Leave out small talk, secrets and what memory holds already."
)

_SYSTEM = (
    "A silent turn of housekeeping before the context is compacted. Use it to save memories that should last, and "
    "nothing else: don't go on with the user's task."
)


@dataclass(frozen=True, slots=True)
class FlushPrompts:
    """Both prompts, and the note they speak of, relative to the workspace."""

    system: str
    user: str
    path: str


def flush_prompts(settings: Flush, now_ms: int, time_zone: str | None) -> FlushPrompts:
    """Return the prompts of the turn."""
    moment = local_time(now_ms, time_zone)
    date = moment.date().isoformat()
    path = note_path(moment.date())
    rules = (
        f"Write to `{path}` only, making it where it is missing. Append below what it holds; never overwrite or "
        "shorten it. Don't edit MEMORY.md, USER.md, AGENTS.md, SOUL.md, TOOLS.md or any other file at the top of the "
        "workspace."
    )
    user = _with_date(settings.prompt, _PROMPT, date)
    system = _with_date(settings.system_prompt, _SYSTEM, date)
    silent = _with_silence(f"{user}\n\n{rules}")
    return FlushPrompts(_with_silence(f"{system}\n\n{rules}"), _timed(silent, told_time(moment)), path)


def _with_date(configured: str | None, usual: str, date: str) -> str:
    """Return a prompt of the settings, or ours if there is none, with the date in it."""
    return ((configured or "").strip() or usual).replace(DATE, date)


def _with_silence(prompt: str) -> str:
    """Return a prompt that tells how to answer nothing."""
    if SILENT in prompt:
        return prompt
    rule = f"If there is nothing to store, or once it is stored, reply with {SILENT} alone: the user sees none of this."
    return f"{prompt}\n\n{rule}"


def _timed(prompt: str, time: str) -> str:
    """Return a prompt that tells the time, once."""
    return prompt if _TIME in prompt else f"{prompt}\n\n{_TIME} {time}"


def told_time(moment: datetime) -> str:
    """Return a moment for a reader: `2026-01-16 14:30 (Europe/Prague, UTC+01:00)`."""
    shift = f"{moment:%z}"
    offset = "UTC" if shift == "+0000" else f"UTC{shift[:3]}:{shift[3:5]}"
    zone = getattr(moment.tzinfo, "key", offset)
    return f"{moment:%Y-%m-%d %H:%M} ({offset if zone in (offset, 'UTC') else f'{zone}, {offset}'})"
