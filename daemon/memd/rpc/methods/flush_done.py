"""flush_done: a session wrote down what should last."""

from __future__ import annotations

from memd.lifecycle.flush_state import MOST_KEY_CHARS
from memd.rpc.call import Call
from memd.rpc.checks import check_count, check_filled, check_length
from memd_client.sessions import FlushDoneParams, FlushDoneReply


async def handle(call: Call, params: FlushDoneParams) -> FlushDoneReply:
    """Record the cycle as done, start a sync and don't wait for it.

    Raises:
        BadParamsError: The session key is empty, a text too long, or the count negative.
        AgentUnknownError: There is no such agent.
    """
    check_filled("flush_done", "session_key", params.session_key)
    for name in ("session_key", "session_id"):
        check_length("flush_done", name, getattr(params, name), MOST_KEY_CHARS)
    check_count("flush_done", "compaction_count", params.compaction_count)
    return await call.life(params.agent).flushes.done(params)
