"""flush_check: whether what should last is to be written down now, before a session is compacted."""

from __future__ import annotations

from memd.lifecycle.flush import ACCESSES
from memd.lifecycle.flush_state import MOST_KEY_CHARS
from memd.lifecycle.session_kinds import KINDS
from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.sessions import FlushCheckParams, FlushCheckReply

FIGURES = (
    "total_tokens",
    "context_window",
    "next_input_tokens",
    "transcript_bytes",
    "compaction_count",
)


async def handle(call: Call, params: FlushCheckParams) -> FlushCheckReply:
    """Decide, and prepare the turn where one is due.

    Raises:
        BadParamsError: The session key is empty, a text too long, a figure negative, or a word unknown.
        AgentUnknownError: There is no such agent.
    """
    if not params.session_key.strip():
        raise BadParamsError("flush_check: `session_key` must not be empty", data={"field": "session_key"})
    for name in ("session_key", "session_id"):
        if len(getattr(params, name)) > MOST_KEY_CHARS:
            raise BadParamsError(
                f"flush_check: `{name}` must have at most {MOST_KEY_CHARS} characters", data={"field": name}
            )
    for name in FIGURES:
        if (getattr(params, name) or 0) < 0:
            raise BadParamsError(f"flush_check: `{name}` must not be negative", data={"field": name})
    for name, words in (("kind", KINDS), ("workspace_access", ACCESSES)):
        if getattr(params, name) not in (*words, None):
            raise BadParamsError(
                f"flush_check: `{name}` must be one of {', '.join(words)}", data={"field": name}
            )
    return await call.life(params.agent).flushes.check(params)
