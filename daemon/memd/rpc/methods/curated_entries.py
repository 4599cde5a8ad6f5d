"""curated_entries: entries of `MEMORY.md` and `USER.md` with triggers or projects."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import check_projects, check_word, wrong
from memd.sync.listing import DEFAULT_LIMITS, LISTED_FILES
from memd_client.messages import CuratedEntriesParams, CuratedEntriesReply

MAX_ENTRIES = 512


async def handle(call: Call, params: CuratedEntriesParams) -> CuratedEntriesReply:
    """Return entries, the most important first."""
    check_word("curated_entries", "kind", params.kind, DEFAULT_LIMITS)
    check_projects("curated_entries", params.active_projects)
    if params.limit is not None and not 1 <= params.limit <= MAX_ENTRIES:
        raise wrong("curated_entries", "limit", f"must be from 1 to {MAX_ENTRIES}")
    if params.paths is not None and not set(params.paths) <= set(LISTED_FILES):
        raise wrong("curated_entries", "paths", f"must be among {', '.join(LISTED_FILES)}")
    return await call.registry.agent(params.agent).curated_entries(params)
