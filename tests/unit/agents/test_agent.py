"""States of an agent: requests wait while it is reopened, and get its error if it fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.agents.agent import MAX_RETRY_S, MIN_RETRY_S, REQUEST_GRACE_S, Agent, AgentState
from memd.agents.open_agent import OpenAgent
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings, MemorySearch
from memd_client.errors import AgentReloadingError, IndexCorruptError, IndexIOError, MemdError
from memd_client.messages import Hit, PendingChanges, SearchParams, SearchReply

CONFIG = AgentConfig("main", Path("/w"), MemorySearch(), Path("/i"), is_default=True)
OTHER = replace(CONFIG, workspace=Path("/other"))


class FakeOpenAgent:
    """An open agent whose only hit is its workspace."""

    def __init__(self, config: AgentConfig, takes_s: float) -> None:
        self.config = config
        self.index_file = self
        self.search = SimpleNamespace(search=self._search)
        self.is_lost = False
        self.ended = False
        self.takes_s = takes_s
        self._lost = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Serve until cancelled."""
        try:
            task_status.started()
            await trio.sleep_forever()
        finally:
            self.ended = True

    async def wait_lost(self) -> MemdError:
        """Wait for `lose`."""
        await self._lost.wait()
        return IndexCorruptError("lost")

    async def _search(self, _: SearchParams) -> SearchReply:
        """Return the workspace, or raise that the index is lost."""
        await trio.sleep(self.takes_s)
        if self.is_lost:
            raise IndexCorruptError("lost")
        hit = Hit(str(self.config.workspace), 1, 1, 1.0, None, None, "", "memory", "")
        return SearchReply("main", [hit], "keyword", None, False, 0.1, "none", "", 1, PendingChanges())

    def lose(self) -> None:
        """Lose the index."""
        self.is_lost = True
        self._lost.set()


class Opener:
    """Opens the agent or fails, as configured."""

    def __init__(self, *failures: Exception, takes_s: float = 0.0) -> None:
        self.failures = list(failures)
        self.takes_s = takes_s
        self.opened: list[FakeOpenAgent] = []
        self.tried_at: list[float] = []
        self.counted: list[int] = []

    async def __call__(self, config: AgentConfig, failures: int) -> OpenAgent:
        await trio.sleep(0.1)
        self.tried_at.append(trio.current_time())
        self.counted.append(failures)
        if self.failures:
            raise self.failures.pop(0)
        self.opened.append(FakeOpenAgent(config, self.takes_s))
        return cast(OpenAgent, self.opened[-1])


@asynccontextmanager
async def running(opener: Opener) -> AsyncIterator[tuple[Agent, trio.Nursery]]:
    """Run an agent inside the block; afterwards all open agents are closed."""
    async with trio.open_nursery() as nursery:
        agent = Agent(CONFIG, opener, daemon=DaemonSettings, clock=lambda: 0)
        nursery.start_soon(agent.run)
        await agent.wait_settled()
        yield agent, nursery
        nursery.cancel_scope.cancel()
    assert all(each.ended for each in opener.opened)
    assert agent.state is AgentState.CLOSED


async def search(agent: Agent) -> str:
    """Return the workspace that was searched."""
    return (await agent.search(SearchParams(query="x"))).hits[0].path


async def test_requests_wait_while_an_agent_is_reopened_with_other_settings(
    autojump_clock: MockClock,
) -> None:
    opener = Opener()
    async with running(opener) as (agent, nursery):
        assert await search(agent) == "/w"
        nursery.start_soon(agent.replace, OTHER)
        await wait_all_tasks_blocked()
        assert agent.state is AgentState.REOPENING
        assert await search(agent) == "/other"
        assert [each.ended for each in opener.opened] == [True, False]


async def test_reopening_lets_requests_in_progress_finish_and_cancels_slow_ones(
    autojump_clock: MockClock,
) -> None:
    opener = Opener(takes_s=REQUEST_GRACE_S / 2)
    outcomes: list[str] = []
    async with running(opener) as (agent, nursery):

        async def record() -> None:
            try:
                outcomes.append(await search(agent))
            except AgentReloadingError as error:
                outcomes.append(error.code)

        nursery.start_soon(record)
        await wait_all_tasks_blocked()
        await agent.replace(OTHER)
        assert outcomes == ["/w"]

        opener.opened[-1].takes_s = 100
        nursery.start_soon(record)
        await wait_all_tasks_blocked()
        await agent.replace(CONFIG)
        assert outcomes == ["/w", "agent_reloading"]


async def test_an_agent_that_fails_to_open_reports_the_error_and_is_retried_with_back_off(
    autojump_clock: MockClock,
) -> None:
    opener = Opener(*(IndexIOError(f"full {number}") for number in range(9)))
    async with running(opener) as (agent, _):
        with pytest.raises(IndexIOError, match="full 0"):
            await search(agent)
        assert [problem.code for problem in (await agent.status(deep=False)).problems] == ["index_io"]

        await trio.sleep(10 * MAX_RETRY_S)

        assert await search(agent) == "/w"
        waits = [round(later - earlier, 3) for earlier, later in pairwise(opener.tried_at)]
        assert waits[0] == pytest.approx(MIN_RETRY_S + 0.1)
        assert waits == sorted(waits)
        assert waits[-1] == pytest.approx(MAX_RETRY_S + 0.1)
        assert (opener.counted, agent.failures) == (list(range(10)), 0)


async def test_new_settings_are_applied_at_once_after_a_failure(autojump_clock: MockClock) -> None:
    async with running(Opener(IndexIOError("full"))) as (agent, _):
        assert agent.state is AgentState.FAILED
        began = trio.current_time()
        await agent.replace(OTHER)
        assert await search(agent) == "/other"
        assert trio.current_time() - began < MIN_RETRY_S


async def test_an_internal_error_closes_the_agent_until_the_retry(autojump_clock: MockClock) -> None:
    async with running(Opener(ZeroDivisionError())) as (agent, _):
        with pytest.raises(MemdError, match="defect"):
            await search(agent)
        await trio.sleep(MIN_RETRY_S + 1)
        assert await search(agent) == "/w"


@pytest.mark.parametrize("takes_s", [0.0, 1.0])
async def test_a_lost_index_is_reopened_and_its_requests_are_repeated(
    autojump_clock: MockClock, takes_s: float
) -> None:
    opener = Opener(takes_s=takes_s)
    async with running(opener) as (agent, nursery):
        nursery.start_soon(search, agent)  # in progress while the index is lost
        await wait_all_tasks_blocked()
        opener.opened[0].lose()
        assert await search(agent) == "/w"
        assert len(opener.opened) == 2


async def test_a_closed_agent_answers_no_request(autojump_clock: MockClock) -> None:
    async with running(Opener()) as (agent, _):
        await agent.close()
        with pytest.raises(AgentReloadingError):
            await search(agent)
        with pytest.raises(AgentReloadingError):
            agent.session_started("k")
