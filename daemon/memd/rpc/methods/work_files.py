"""work_files: the files that the work on a subject touched, best first."""

from __future__ import annotations

from memd.lifecycle.work.files import find_files
from memd.rpc.call import Call
from memd_client.messages import WorkFilesParams, WorkFilesReply


async def handle(call: Call, params: WorkFilesParams) -> WorkFilesReply:
    """Return the files that the work on a subject touched, best first."""
    return await find_files(call.registry, params)
