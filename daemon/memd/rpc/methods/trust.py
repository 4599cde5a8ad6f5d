"""trust: the lines that are withheld from models, and what the user released of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

import trio

from memd.agents.open_agent import OpenAgent
from memd.index.origins import find_outside, load_lines
from memd.index.transcripts import load_line_maps
from memd.rpc.call import Call
from memd.system.sqlite import Database
from memd.text.trust.origins import OUTSIDE
from memd_client.errors import FileMissingError
from memd_client.messages import TrustParams, TrustReply, WithheldLine


async def handle(call: Call, params: TrustParams) -> TrustReply:
    """Return the withheld lines of an agent's memory, after changing what is released if requested."""
    return await call.registry.agent(params.agent).perform(partial(_answer, params=params))


async def _answer(opened: OpenAgent, params: TrustParams) -> TrustReply:
    await opened.text.sync()
    path = params.path
    if path is not None and path not in opened.text.rows:
        raise FileMissingError(f"{path} is not indexed", data={"path": path})
    if path is not None and params.release is not None:
        change = partial(opened.allowed.change, path, params.release)
        await trio.to_thread.run_sync(change, limiter=opened.disk)
        opened.rows.expire(path)
        await opened.text.sync()

    def find(db: Database) -> list[WithheldLine]:
        return list(islice(_find_withheld(path, db), params.limit))

    released = await trio.to_thread.run_sync(opened.allowed.counts, limiter=opened.disk)
    return TrustReply(opened.agent_id, await opened.index_file.read(find), released)


def _find_withheld(wanted: str | None, db: Database) -> Iterator[WithheldLine]:
    """Yield the withheld lines of files as they were judged, the newest file first (blocking)."""
    for path, time_ms, origins in find_outside(db):
        if wanted not in (None, path):
            continue
        numbers = load_line_maps(db, [path]).get(path, ())
        for row, line in enumerate(load_lines(db, path), 1):
            if origins.lowest(row, row) == OUTSIDE:
                number = numbers[row - 1] if row <= len(numbers) else row
                yield WithheldLine(path, number, origins.reason(row, row), line, time_ms)
