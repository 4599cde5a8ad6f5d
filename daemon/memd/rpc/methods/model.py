"""model: make a model ready on disk."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import BadParamsError
from memd_client.messages import ModelParams, ModelReply


async def handle(call: Call, params: ModelParams) -> ModelReply:
    """Find, download or convert a model and return its file, checked.

    Raises:
        BadParamsError: `ref` is empty.
        ModelMissingError, ModelInvalidError, DownloadFailedError, ChecksumMismatchError: As they say.
    """
    if not params.ref.strip():
        raise BadParamsError("model: `ref` must not be empty", data={"field": "ref"})
    return await call.memory.pull_model(params.ref, call.progress)
