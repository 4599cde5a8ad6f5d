"""Settings of the hooks that run in other agents' programs."""

from __future__ import annotations

from typing import Annotated

import msgspec

from memd.settings.fields import AtLeast1, Setting


class HooksSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The text that hooks give to other programs."""

    enabled: Annotated[
        bool, Setting("Whether installed hooks add memory to prompts and to the start of sessions.")
    ] = True
    actions: Annotated[
        bool,
        Setting("Whether hooks add what memory has on a command, an edit or an error that an agent is at."),
    ] = True
    silent_at_actions: Annotated[
        tuple[str, ...],
        Setting(
            "Programs whose hooks add nothing at commands, edits and errors, such as `gemini`.",
            default="none",
        ),
    ] = ()
    max_tokens: Annotated[
        AtLeast1, Setting("Limit of the text that is added to one prompt.", unit="tokens")
    ] = 300
    agent: Annotated[
        str | None,
        Setting(
            "The agent whose memory hooks use, unless a hook names one.",
            default="the default agent, and `shared` if it exists",
        ),
    ] = None
