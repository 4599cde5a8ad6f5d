"""cancel: stop a request of this connection."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import CancelParams, CancelReply


async def handle(call: Call, params: CancelParams) -> CancelReply:
    """Cancel a request, which fails with `cancelled`. An unknown or ended request is no error."""
    return CancelReply(cancelled=call.cancel(params.id))
