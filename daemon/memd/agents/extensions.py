"""sqlite-vec as agents' settings want it: loaded once for each way."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import trio

from memd.index.vectors.sqlite_vec import VectorExtension
from memd.settings.agents import AgentConfig


class Extensions:
    """sqlite-vec per setting: agents with the same `store.vector` share one."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[bool, str | None], VectorExtension] = {}

    def __call__(self, config: AgentConfig) -> VectorExtension:
        """Return the extension of an agent's settings; `load` has been awaited at start."""
        vector = config.settings.store.vector
        key = (vector.enabled, vector.extension_path)
        if key not in self._loaded:
            self._loaded[key] = VectorExtension(enabled=vector.enabled, path=vector.extension_path)
        return self._loaded[key]

    async def load(self, agents: Mapping[str, AgentConfig]) -> None:
        """Load and self-test each; a failure is remembered in it and costs no result."""
        async with trio.open_nursery() as nursery:
            for extension in set(map(self, agents.values())):
                nursery.start_soon(_in_thread, extension.load)


async def _in_thread(work: Callable[[], object]) -> None:
    """Run something that blocks."""
    await trio.to_thread.run_sync(work)
