"""capture_facts: store lasting statements of the user as facts."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.facts import CaptureFactsParams, CaptureFactsReply


async def handle(call: Call, params: CaptureFactsParams) -> CaptureFactsReply:
    """Return the stored facts, and the reasons for the other messages."""
    return await call.lifecycle(params.agent).facts.capture(params)
