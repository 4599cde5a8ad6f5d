"""hook: an event of a session in another program, answered with what its model should know."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.hooks import HookParams, HookReply


async def handle(call: Call, params: HookParams) -> HookReply:
    """Return the text to add, or why there is none."""
    reply = await call.daemon.hooks.answer(call.registry, params)
    call.daemon.meter.count("memd_hooks_total", params.event, reply.decision)
    return reply
