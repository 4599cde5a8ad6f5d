"""forget: find or forget a text everywhere, list receipts, or undo."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import ForgetParams, ForgetReply


async def handle(call: Call, params: ForgetParams) -> ForgetReply:
    """Carry out one action."""
    return await call.daemon.forgets(call.registry).answer(params)
