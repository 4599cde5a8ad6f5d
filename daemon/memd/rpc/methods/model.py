"""model: pull, list or remove models on disk, or what one needs."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.messages import ModelParams, ModelReply


async def handle(call: Call, params: ModelParams) -> ModelReply:
    """Find, download or convert a model and return its checked file; or list, describe or remove models."""
    if params.action == "list":
        return await call.registry.library.list_all()
    if params.action == "info":
        return await call.registry.library.describe(params.ref)
    if not params.ref.strip():
        raise wrong("model", "ref", "must not be empty")
    if params.action == "remove":
        return await call.registry.library.remove(params.ref, force=params.force, progress=call.progress)
    return await call.registry.library.pull(params.ref, call.progress)
