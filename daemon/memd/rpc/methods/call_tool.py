"""call_tool: a model's call of a memory tool."""

from __future__ import annotations

from memd.lifecycle.notes.session_kinds import KINDS
from memd.rpc.call import Call
from memd.rpc.params import check_projects, check_word, wrong
from memd_client.tooling import CallToolParams, CallToolReply


async def handle(call: Call, params: CallToolParams) -> CallToolReply:
    """Execute a call, or describe its mistake: no input of a model is an error of the request."""
    check_word("call_tool", "session_kind", params.session_kind, KINDS)
    check_projects("call_tool", params.active_projects)
    if params.deadline_ms is not None and params.deadline_ms < 1:
        raise wrong("call_tool", "deadline_ms", "must be at least 1")
    return await call.lifecycle(params.agent).tools.call(params)
