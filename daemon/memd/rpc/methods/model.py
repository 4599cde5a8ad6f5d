"""model: pull, list or remove models on disk."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.messages import ModelParams, ModelReply


async def handle(call: Call, params: ModelParams) -> ModelReply:
    """Find, download or convert a model and return its checked file; or list models; or remove one."""
    if params.action == "list":
        return await call.registry.library.list_all()
    if params.action not in ("pull", "remove"):
        raise wrong("model", "action", "must be pull, list or remove")
    if not params.ref.strip():
        raise wrong("model", "ref", "must not be empty")
    if params.action == "remove":
        return await call.registry.library.remove(params.ref, force=params.force, progress=call.progress)
    return await call.registry.library.pull(params.ref, call.progress)
