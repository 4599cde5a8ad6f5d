"""cancel: stop a request of this connection."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import CancelParams, CancelReply


async def handle(call: Call, params: CancelParams) -> CancelReply:
    """Stop a request; it answers `cancelled` itself. One that is over, or never was, is no error."""
    return CancelReply(cancelled=call.cancel(params.id))
