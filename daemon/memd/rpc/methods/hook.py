"""hook: an event of a session in another program, answered with what its model should know."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_filled, check_word
from memd_client.hooks import EVENTS, HookParams, HookReply


async def handle(call: Call, params: HookParams) -> HookReply:
    """Return the text to add, or why there is none."""
    check_filled("hook", "program", params.program)
    check_word("hook", "event", params.event, EVENTS)
    check_filled("hook", "session_id", params.session_id)
    return await call.daemon.hooks.answer(call.registry, params)
