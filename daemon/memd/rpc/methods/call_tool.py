"""call_tool: a model's call of a memory tool."""

from __future__ import annotations

from memd.lifecycle.session_kinds import KINDS
from memd.rpc.call import Call
from memd.rpc.checks import check_projects, check_word, wrong
from memd_client.tooling import CallToolParams, CallToolReply


async def handle(call: Call, params: CallToolParams) -> CallToolReply:
    """Carry out a call, or say what a right one would be: nothing a model wrote is an error of the request.

    Raises:
        BadParamsError: `session_kind` is unknown, `deadline_ms` below 1, or a project's key too long.
        AgentUnknownError: There is no such agent.
        DeadlineExceededError: There was no answer in time.
        MemdError: The memory can't answer.
    """
    check_word("call_tool", "session_kind", params.session_kind, KINDS)
    check_projects("call_tool", params.active_projects)
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong("call_tool", "deadline_ms", "must be at least 1")
    return await call.life(params.agent).tools.call(params)
