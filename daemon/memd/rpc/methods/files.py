"""files: list the memory files of an agent, in pages."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.messages import FilesParams, FilesReply


async def handle(call: Call, params: FilesParams) -> FilesReply:
    """Return files, newest first."""
    return await call.registry.agent(params.agent).files(params)
