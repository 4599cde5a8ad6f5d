"""hook_log: the newest decisions of `hook`."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import match_prefix
from memd_client.hooks import HookLogParams, HookLogReply

MAX_ENTRIES = 1_000
"""Limit of entries per reply."""


async def handle(call: Call, params: HookLogParams) -> HookLogReply:
    """Return the newest decisions."""
    log, session_id = call.daemon.hooks.log, params.session_id
    if session_id is not None:
        ids = (entry.session_id for entry in log.newest(MAX_ENTRIES))
        session_id = match_prefix("hook_log", "session_id", session_id, ids)
    return HookLogReply(entries=log.newest(params.limit, session_id))
