"""prompt_section: the section of a system prompt about memory tools."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.tooling import PromptSectionParams, PromptSectionReply


async def handle(call: Call, params: PromptSectionParams) -> PromptSectionReply:
    """Return the section for a model's tools; empty without tools, or if the agent's memory is turned off."""
    return call.lifecycle(params.agent).tools.prompt_section(params)
