"""Every setting of an agent beside its search: citations, time zone, flush, session notes, facts.

`Place` says where OpenClaw has a setting or a group in openclaw.json; what is below `agents.defaults` there may also be
in an agent's own entry. In memd's own places the keys are those of `Life`.
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
        AtLeast0, Setting("How long before the reserve it is due.", unit="tokens")
    ] = 4_000
    force_flush_transcript_bytes: Annotated[
        AtLeast0,
        Setting(
            "It is due as well once the transcript is this large, in bytes or as `2mb`; 0: never.",
            unit="bytes",
        ),
    ] = 2 * 1024 * 1024
    prompt: Annotated[
        str | None,
        Setting("The prompt for the agent; `YYYY-MM-DD` becomes today.", default="memd's own"),
        REFUSED,
    ] = None
    system_prompt: Annotated[
        str | None, Setting("The text for its system prompt.", default="memd's own"), REFUSED
    ] = None
    reserve_tokens_floor: Annotated[int, Derived()] = RESERVE_TOKENS_FLOOR


class Compaction(Settings, frozen=True, kw_only=True):
    """What happens before OpenClaw compacts a context."""

    reserve_tokens_floor: Annotated[
        AtLeast0,
        Setting("The part of the context kept free; the flush is due before it.", unit="tokens"),
        REFUSED,
    ] = RESERVE_TOKENS_FLOOR
    memory_flush: Flush = Flush()


class SessionNote(Settings, frozen=True, kw_only=True):
    """The note a session leaves when it ends."""

    enabled: Annotated[bool, Setting("Whether a session that ends leaves a note.")] = True
    messages: Annotated[AtLeast1, Setting("How many of its last messages the note has.")] = 15
    slug_model: Annotated[
        str | None,
        Setting(
            "`provider/model` of `models.providers` that names the note; without it, words of the conversation do."
        ),
    ] = None


class Facts(Settings, frozen=True, kw_only=True):
    """Facts brought to a prompt, and taken from what users say: both off by default."""

    auto_capture: Annotated[
        bool,
        Setting(
            "Whether facts are taken from what users say; OpenClaw's plugin has an `autoCapture` of its own."
        ),
    ] = False
    auto_recall: Annotated[
        bool,
        Setting("Whether facts are brought to a prompt; OpenClaw's plugin has an `autoRecall` of its own."),
    ] = False
    capture_max_chars: Annotated[
        AtLeast1, Setting("Longest text a fact is taken from.", unit="characters")
    ] = 500
    recall_limit: Annotated[AtLeast1, Setting("Most facts brought to one prompt.")] = 3
    recall_min_score: Annotated[
        float, msgspec.Meta(ge=0, le=1), Setting("How near a fact must be to a prompt, 0 to 1.")
    ] = 0.3


class Life(Settings, frozen=True, kw_only=True):
    """All of them, of one agent."""

    citations: Annotated[
        Citations,
        Setting("Whether an agent's answers name their sources: `auto` does so in direct chats."),
        Place("memory.citations"),
    ] = "auto"
    time_zone: Annotated[
        str | None,
        Setting(
            "The user's time zone, which decides what today is.",
            default="the machine's",
        ),
        Place("agents.defaults.userTimezone"),
    ] = msgspec.field(name="userTimezone", default=None)
    compaction: Annotated[Compaction, Place("agents.defaults.compaction")] = Compaction()
    session_note: Annotated[SessionNote, Place("hooks.internal.entries.session-memory")] = SessionNote()
    facts: Annotated[Facts, Place("plugins.entries.memory-lancedb.config")] = Facts()

    @property
    def flush(self) -> Flush:
        """The settings of the flush, with the part of the context kept free."""
        floor = self.compaction.reserve_tokens_floor
        return msgspec.structs.replace(self.compaction.memory_flush, reserve_tokens_floor=floor)
