"""Why a path can't be read as memory, and which paths may have been meant."""

from __future__ import annotations

import os

from memd.sync.disk.discover import Discovery
from memd.sync.disk.rules import describe_refusal, is_memory_path
from memd.text.query.near_paths import find_near_paths
from memd_client.errors import FileMissingError, MemdError, PathRefusedError


def refusal_of(path: str, disk: Discovery, workspace: str) -> MemdError:
    """Return why a path that is not among the files can't be read (blocking: looks for the file)."""
    shown = path[:200]
    for skipped in disk.skipped:
        if path == skipped.path or path.startswith(f"{skipped.path}/"):
            return PathRefusedError(f"{shown} is left out: {skipped.reason}", data={"path": shown})
    if not is_memory_path(path):
        return PathRefusedError(f"{shown!r} is refused: {describe_refusal(path)}", data={"path": shown})
    if disk.beyond_limits and os.path.lexists(os.path.join(workspace, path)):
        return PathRefusedError(
            f"{shown} is left out: the agent has more files than its limits allow",
            hint="Narrow `extraPaths`, or raise `max_agent_files` and `max_agent_mb` in memd.toml.",
            data={"path": shown},
        )
    near = find_near_paths(path, disk.files)
    if not near:
        return FileMissingError(f"there is no {shown}", data={"path": shown})
    hint = f"Did you mean {_either(near)}?"
    return FileMissingError(f"there is no {shown}", hint=hint, data={"path": shown, "near": near})


def _either(names: list[str]) -> str:
    """Return names as a choice: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
