"""flush_done: a session wrote down what should last."""

from __future__ import annotations

from memd.lifecycle.flush_state import MOST_KEY_CHARS
from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.sessions import FlushDoneParams, FlushDoneReply


async def handle(call: Call, params: FlushDoneParams) -> FlushDoneReply:
    """Record the cycle as done, start a sync and don't wait for it.

    Raises:
        BadParamsError: The session key is empty, a text too long, or the count negative.
        AgentUnknownError: There is no such agent.
    """
    if not params.session_key.strip():
        raise BadParamsError("flush_done: `session_key` must not be empty", data={"field": "session_key"})
    for name in ("session_key", "session_id"):
        if len(getattr(params, name)) > MOST_KEY_CHARS:
            raise BadParamsError(
                f"flush_done: `{name}` must have at most {MOST_KEY_CHARS} characters", data={"field": name}
            )
    if (params.compaction_count or 0) < 0:
        raise BadParamsError(
            "flush_done: `compaction_count` must not be negative", data={"field": "compaction_count"}
        )
    return await call.life(params.agent).flushes.done(params)
