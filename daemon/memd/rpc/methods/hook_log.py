"""hook_log: the newest decisions of `hook`."""

from __future__ import annotations

from memd.lifecycle.hooks.log import hook_entries
from memd.rpc.call import Call
from memd.rpc.params import match_prefix
from memd_client.hooks import HookLogParams, HookLogReply


async def handle(call: Call, params: HookLogParams) -> HookLogReply:
    """Return the newest decisions."""
    recalls, session_id = await call.daemon.recalls.read(), params.session_id
    if session_id is not None:
        ids = (recall.session for recall in recalls if recall.decision)
        session_id = match_prefix("hook_log", "session_id", session_id, ids)
    return HookLogReply(entries=hook_entries(recalls, params.limit, session_id))
