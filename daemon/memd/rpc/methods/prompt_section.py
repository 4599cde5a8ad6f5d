"""prompt_section: the section of a system prompt about memory tools."""

from __future__ import annotations

from memd.lifecycle.notes.session_kinds import CITATION_MODES, KINDS
from memd.rpc.call import Call
from memd.rpc.params import check_word
from memd_client.tooling import PromptSectionParams, PromptSectionReply


async def handle(call: Call, params: PromptSectionParams) -> PromptSectionReply:
    """Return the section for a model's tools; empty without tools, or if the agent's memory is turned off."""
    check_word("prompt_section", "citations", params.citations, CITATION_MODES)
    check_word("prompt_section", "session_kind", params.session_kind, KINDS)
    return call.lifecycle(params.agent).tools.prompt_section(params)
