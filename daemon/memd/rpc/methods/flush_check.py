"""flush_check: whether a session should run a memory flush before it is compacted."""

from __future__ import annotations

from memd.lifecycle.flush.check import ACCESSES
from memd.lifecycle.notes.session_kinds import KINDS
from memd.rpc.call import Call
from memd.rpc.params import check_count, check_filled, check_word
from memd_client.sessions import FlushCheckParams, FlushCheckReply

FIGURES = (
    "total_tokens",
    "context_window",
    "next_input_tokens",
    "transcript_bytes",
    "compaction_count",
)


async def handle(call: Call, params: FlushCheckParams) -> FlushCheckReply:
    """Return the decision, with the prompts if a flush is due."""
    check_filled("flush_check", "session_key", params.session_key)
    for name in FIGURES:
        check_count("flush_check", name, getattr(params, name))
    check_word("flush_check", "kind", params.kind, KINDS)
    check_word("flush_check", "workspace_access", params.workspace_access, ACCESSES)
    return await call.lifecycle(params.agent).flushes.check(params)
