"""hook_log: the newest decisions of `hook`."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.hooks import HookLogParams, HookLogReply

MAX_ENTRIES = 1_000
"""Limit of entries per reply."""


async def handle(call: Call, params: HookLogParams) -> HookLogReply:
    """Return the newest decisions."""
    if not 1 <= params.limit <= MAX_ENTRIES:
        raise wrong("hook_log", "limit", f"must be from 1 to {MAX_ENTRIES}")
    return HookLogReply(entries=call.daemon.hooks.log.newest(params.limit, params.session_id))
