"""Real agents for the methods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents import BlockingAgent, BlockingRegistry, config_in


@pytest.fixture
def host(tmp_path: Path) -> Iterator[BlockingAgent]:
    """An open agent."""
    with BlockingAgent(tmp_path) as host:
        yield host


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[BlockingRegistry]:
    """The agents `main` and `other`, each with a note."""
    configs = [config_in(tmp_path, name, workspace=tmp_path / name) for name in ("main", "other")]
    with BlockingRegistry(tmp_path, *configs) as memory:
        for name in memory.agents:
            memory.note("MEMORY.md", f"# Memory of {name}\n\nThe port is 8443.\n", name)
        yield memory
