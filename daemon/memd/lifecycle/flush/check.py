"""Whether a session is so near compaction that what should last has to be written down first.

Pure: figures in, a decision with its reason out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    """How a session stands. None is what isn't known.

    Attributes:
        total_tokens: What its context holds.
        context_window: What it can hold.
        compaction_count: How often it was compacted.
        flushed_at_compaction: The count at which it was last flushed.
        next_input_tokens: What the coming turn adds.
        transcript_bytes: The size of its transcript.
        kind: What kind of session it is.
        cli_provider: Whether its model is behind a command line of its own.
        workspace_access: What its sandbox allows.
        has_workspace: Whether there is a folder.
    """

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
class Decision:
    """Whether to flush, why (a code of `REASONS`), and from how many tokens on it is due; 0: never for tokens."""

    run: bool
    reason: str
    threshold_tokens: int

    @property
    def message(self) -> str:
        """The reason in a sentence."""
        return REASONS[self.reason]


def decide(settings: Flush, figures: SessionFigures) -> Decision:
    """Return whether a session is to be flushed now."""
    threshold = _threshold(settings, figures.context_window)
    reason = _against(settings, figures) or _by_size(settings, figures) or _by_tokens(figures, threshold)
    return Decision(reason in DUE, reason, threshold)


def _threshold(settings: Flush, context_window: int | None) -> int:
    """Return from how many tokens on a flush is due, 0 for never."""
    kept_free = settings.reserve_tokens_floor + settings.soft_threshold_tokens
    return max(0, (context_window or 0) - kept_free)


def _against(settings: Flush, figures: SessionFigures) -> str:
    """Return why there is no flush whatever the figures say, "" where nothing is against one."""
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
    """Return what the number of tokens says."""
    if not figures.total_tokens or figures.total_tokens < 0:
        return "tokens_unknown"
    if not figures.context_window or figures.context_window < 0:
        return "window_unknown"
    if threshold == 0:
        return "window_too_small"
    projected = figures.total_tokens + max(0, figures.next_input_tokens)
    return "tokens" if projected >= threshold else "below_threshold"
