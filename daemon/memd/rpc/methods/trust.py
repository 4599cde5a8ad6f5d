"""trust: the lines that are withheld from models, and what the user released of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from memd.agents.open_agent import OpenAgent
from memd.index.origins import find_outside
from memd.rpc.call import Call
from memd.system.sqlite import Database
from memd.text.cut.annotations import hide_annotations
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
        opened.allowed.change(path, params.release)
        opened.rows.expire(path)
        await opened.text.sync()

    def find(db: Database) -> list[WithheldLine]:
        lines = _find_withheld(opened, path, db)
        return [line for line, _ in zip(lines, range(params.limit), strict=False)]

    return TrustReply(opened.agent_id, await opened.index_file.read(find), opened.allowed.counts())


def _find_withheld(opened: OpenAgent, wanted: str | None, db: Database) -> Iterator[WithheldLine]:
    """Yield the withheld lines of files as they were judged, the newest file first (blocking)."""
    disk = opened.sources.find()
    for path, time_ms, origins in find_outside(db):
        if path not in disk.files or wanted not in (None, path):
            continue
        file = opened.sources.load(disk.files[path])
        for row, line in enumerate(hide_annotations(file.text).split("\n"), 1):
            if origins.lowest(row, row) == OUTSIDE:
                number = file.line_map[row - 1] if file.line_map else row
                yield WithheldLine(path, number, origins.reason(row, row), line, time_ms)
