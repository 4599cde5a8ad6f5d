"""capture_facts: store lasting statements of the user as facts."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.facts import CaptureFactsParams, CaptureFactsReply

MAX_MESSAGES = 1_000
"""Limit of messages; longer conversations are transcripts, which are indexed."""


async def handle(call: Call, params: CaptureFactsParams) -> CaptureFactsReply:
    """Return the stored facts, and the reasons for the other messages."""
    if len(params.messages) > MAX_MESSAGES:
        raise wrong("capture_facts", "messages", f"may hold at most {MAX_MESSAGES}")
    return await call.lifecycle(params.agent).facts.capture(params)
