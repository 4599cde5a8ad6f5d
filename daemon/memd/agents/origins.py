"""Whose words the lines of files are, as the files are on disk now."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from memd.agents.open_agent import OpenAgent
from memd.index.origins import load_origins
from memd.sync.text.changes import has_same_stat
from memd.text.trust.origins import ORIGINS, OUTSIDE, UNKNOWN, LineOrigins, Reason
from memd_client.errors import MemdError
from memd_client.messages import GetReply, OriginLines

SYNC_WAIT_S = 1.0
"""How long a request waits until changed files are indexed."""

_CHANGED = LineOrigins(
    b"", OUTSIDE, (Reason(1, 2**31 - 1, "the file has changed since its lines were judged"),)
)


async def current_origins(opened: OpenAgent, paths: Collection[str]) -> dict[str, LineOrigins]:
    """Return the origins of the lines of files; changed files are indexed before, if that is done in time.

    If not, a file with outside lines is outside as a whole, because its lines may have moved.
    """
    changed = set[str]()
    with suppress(MemdError):
        disk, behind = await opened.text.scan_in_thread()
        if behind:
            behind = await opened.text.catch_up(disk, behind, SYNC_WAIT_S, patient=True)
            rows = opened.text.rows
            changed = {file.path for file in behind.read if not has_same_stat(rows.get(file.path), file)}
    origins = await opened.index_file.read(partial(load_origins, paths=paths))
    return {
        path: _CHANGED if path in changed and lines.has(OUTSIDE) else lines for path, lines in origins.items()
    }


async def with_origins(opened: OpenAgent, reply: GetReply, first_row: int) -> GetReply:
    """Return lines with their origins in runs, given the number of the first one in the text."""
    origins = (await current_origins(opened, [reply.path])).get(reply.path, UNKNOWN)
    numbers = reply.line_numbers or range(reply.from_line, reply.from_line + reply.lines)
    runs = groupby(enumerate(numbers, first_row), lambda row: origin_of(origins, row[0]))
    lines = ((origin, [number for _, number in run]) for origin, run in runs)
    return replace(reply, origins=[OriginLines(run[0], run[-1], *origin) for origin, run in lines])


def origin_of(origins: LineOrigins, line: int) -> tuple[str, str]:
    """Return the origin of a line, and why it is outside."""
    return ORIGINS[origins.lowest(line, line)], origins.reason(line, line)
