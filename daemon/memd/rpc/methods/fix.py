"""fix: what fixed an error before."""

from __future__ import annotations

from memd.lifecycle.work.find_fixes import find_fixes
from memd.rpc.call import Call
from memd_client.messages import FixParams, FixReply


async def handle(call: Call, params: FixParams) -> FixReply:
    """Return what fixed an error before, best first."""
    return await find_fixes(call.registry, params)
