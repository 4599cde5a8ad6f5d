"""prompt_section: what a system prompt says of memory."""

from __future__ import annotations

from memd.lifecycle.citations import MODES
from memd.lifecycle.session_kinds import KINDS
from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.tooling import PromptSectionParams, PromptSectionReply


async def handle(call: Call, params: PromptSectionParams) -> PromptSectionReply:
    """Return the section for the tools a model has; empty without any, or where the agent's memory is turned off.

    Raises:
        BadParamsError: `citations` or `session_kind` is unknown.
        AgentUnknownError: There is no such agent.
    """
    if params.citations is not None and params.citations not in MODES:
        raise BadParamsError(
            f"prompt_section: `citations` must be one of {', '.join(MODES)}", data={"field": "citations"}
        )
    if params.session_kind is not None and params.session_kind not in KINDS:
        raise BadParamsError(
            f"prompt_section: `session_kind` must be one of {', '.join(KINDS)}",
            data={"field": "session_kind"},
        )
    return call.life(params.agent).tools.prompt_section(params)
