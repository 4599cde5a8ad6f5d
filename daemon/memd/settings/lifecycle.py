"""An agent's settings apart from search: citations, time zone, flush, session notes, facts.

`Place` is the key of a setting or group in openclaw.json; settings below `agents.defaults` there may also be in an
agent's own entry. In memd's own settings the keys are those of `LifecycleSettings`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from memd.settings.fields import REFUSED, AtLeast0, AtLeast1, Derived, Place, Setting, Settings

Citations = Literal["auto", "on", "off"]

RESERVE_TOKENS_FLOOR = 20_000


class Flush(Settings, frozen=True, kw_only=True):
    """The step before compaction in which an agent writes notes.

    It is due `soft_threshold_tokens` before `reserve_tokens_floor`, which is one level up in a file.
    """

    enabled: Annotated[bool, Setting("Whether an agent writes notes before compaction.")] = True
    soft_threshold_tokens: Annotated[
        AtLeast0, Setting("Distance from the reserve at which the flush is due.", unit="tokens")
    ] = 4_000
    force_flush_transcript_bytes: Annotated[
        AtLeast0,
        Setting(
            "Size of the transcript at which the flush is also due, in bytes or as `2mb`; 0: never.",
            unit="bytes",
        ),
    ] = 2 * 1024 * 1024
    prompt: Annotated[
        str | None,
        Setting("The prompt for the agent; `YYYY-MM-DD` becomes today's date.", default="memd's own"),
        REFUSED,
    ] = None
    system_prompt: Annotated[
        str | None, Setting("The text for its system prompt.", default="memd's own"), REFUSED
    ] = None
    reserve_tokens_floor: Annotated[int, Derived()] = RESERVE_TOKENS_FLOOR


class Compaction(Settings, frozen=True, kw_only=True):
    """The steps before OpenClaw compacts a context."""

    reserve_tokens_floor: Annotated[
        AtLeast0,
        Setting("Tokens of the context kept free; the flush is due before.", unit="tokens"),
        REFUSED,
    ] = RESERVE_TOKENS_FLOOR
    memory_flush: Flush = Flush()


class SessionNote(Settings, frozen=True, kw_only=True):
    """The note that is written when a session ends."""

    enabled: Annotated[bool, Setting("Whether a note is written when a session ends.")] = True
    messages: Annotated[AtLeast1, Setting("Number of last messages in the note.")] = 15
    slug_model: Annotated[
        str | None,
        Setting(
            "`provider/model` of `models.providers` that chooses the note's name; default: words of the conversation."
        ),
    ] = None


class FactsSettings(Settings, frozen=True, kw_only=True):
    """Facts added to prompts and captured from messages, both off by default."""

    auto_capture: Annotated[
        bool,
        Setting(
            "Whether facts are captured from users' messages; OpenClaw's plugin has its own `autoCapture`."
        ),
    ] = False
    auto_recall: Annotated[
        bool,
        Setting("Whether facts are added to prompts; OpenClaw's plugin has its own `autoRecall`."),
    ] = False
    capture_max_chars: Annotated[
        AtLeast1, Setting("Longest message from which facts are captured.", unit="characters")
    ] = 500
    recall_limit: Annotated[AtLeast1, Setting("Maximum number of facts added to one prompt.")] = 3
    recall_min_score: Annotated[
        float, msgspec.Meta(ge=0, le=1), Setting("Minimum similarity of a fact to a prompt, 0 to 1.")
    ] = 0.3


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """An agent's settings apart from search."""

    citations: Annotated[
        Citations,
        Setting("Whether an agent's answers name their sources: `auto` does so in direct chats."),
        Place("memory.citations"),
    ] = "auto"
    time_zone: Annotated[
        str | None,
        Setting(
            "The user's time zone, which determines today's date.",
            default="the machine's",
        ),
        Place("agents.defaults.userTimezone"),
    ] = msgspec.field(name="userTimezone", default=None)
    compaction: Annotated[Compaction, Place("agents.defaults.compaction")] = Compaction()
    session_note: Annotated[SessionNote, Place("hooks.internal.entries.session-memory")] = SessionNote()
    facts: Annotated[FactsSettings, Place("plugins.entries.memory-lancedb.config")] = FactsSettings()

    @property
    def flush(self) -> Flush:
        """The settings of the flush, with `reserve_tokens_floor` set."""
        floor = self.compaction.reserve_tokens_floor
        return msgspec.structs.replace(self.compaction.memory_flush, reserve_tokens_floor=floor)
