"""how: the invocations of a command that succeeded here."""

from __future__ import annotations

from memd.lifecycle.work.how import find_invocations
from memd.rpc.call import Call
from memd_client.messages import HowParams, HowReply


async def handle(call: Call, params: HowParams) -> HowReply:
    """Return the invocations of a command that succeeded here, best first."""
    return await find_invocations(call.registry, params)
