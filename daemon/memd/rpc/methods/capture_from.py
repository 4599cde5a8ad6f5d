"""capture_from: what is worth keeping of what the user says in a conversation."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.facts import CaptureFromParams, CaptureFromReply

MAX_MESSAGES = 1_000
"""More messages than that are a transcript, which is indexed instead."""


async def handle(call: Call, params: CaptureFromParams) -> CaptureFromReply:
    """Return what was kept, and why the rest was not."""
    if len(params.messages) > MAX_MESSAGES:
        raise wrong("capture_from", "messages", f"may hold at most {MAX_MESSAGES}")
    return await call.lifecycle(params.agent).facts.capture(params)
