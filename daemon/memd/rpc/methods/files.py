"""files: list the memory files of an agent, in pages."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_count, check_sources, wrong
from memd_client.messages import FilesParams, FilesReply

MAX_FILES = 1_000
"""Limit of files per reply; a client that needs more requests further pages."""


async def handle(call: Call, params: FilesParams) -> FilesReply:
    """Return files, newest first."""
    check_count("files", "offset", params.offset)
    if not 1 <= params.limit <= MAX_FILES:
        raise wrong("files", "limit", f"must be from 1 to {MAX_FILES}")
    check_sources("files", params.sources)
    return await call.registry.agent(params.agent).files(params)
