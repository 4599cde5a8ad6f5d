"""session_handoff: a digest of a session for another program."""

from __future__ import annotations

from memd.lifecycle.handoff.service import hand_off
from memd.rpc.call import Call
from memd_client.messages import SessionHandoffParams, SessionHandoffReply


async def handle(call: Call, params: SessionHandoffParams) -> SessionHandoffReply:
    """Return the digest, and the command that starts the other program with it."""
    return await hand_off(call.registry, params)
