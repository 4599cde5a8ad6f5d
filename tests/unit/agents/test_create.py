"""Agents that memd creates itself: their folders, and what is said if the settings don't include them."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from memd_client.errors import AgentUnknownError
from tests.support.agents import config_in, registry_of


async def test_agent_that_the_settings_lack_in_the_end_is_named(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    registry = registry_of(tmp_path, config_in(tmp_path))
    reloads: list[str] = []
    registry.reload = lambda: reloads.append("reload")
    with pytest.raises(AgentUnknownError, match="agent ops was created, but the settings do not include it"):
        await registry.create(["ops"])
    assert (tmp_path / "state" / "agents" / "ops").is_dir()
    assert (tmp_path / "state" / "workspace-ops").is_dir()
    assert reloads == ["reload"]


async def test_creating_no_agent_reloads_nothing(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, config_in(tmp_path))
    registry.reload = lambda: pytest.fail("there is nothing to reload")
    await registry.create([])
