"""One agent's place: requests wait while what serves it changes, and are told why where nothing does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from memd.agents.agent import AgentMemory
from memd.agents.slot import FIRST_RETRY_S, GRACE_S, LAST_RETRY_S, AgentSlot
from memd.settings.agents import AgentConfig
from memd.settings.schema import MemorySearch
from memd_client.errors import AgentReloadingError, IndexCorruptError, IndexIOError, MemdError
from memd_client.messages import SearchParams

CONFIG = AgentConfig("main", Path("/w"), MemorySearch(), Path("/i"), is_default=True)
QUESTION = SearchParams(query="x")


class Served:
    """What serves an agent: answers with the workspace it was opened for."""

    def __init__(self, config: AgentConfig, takes_s: float) -> None:
        self.config = config
        self.index_file = self
        self.is_lost = False
        self.ended = False
        self._takes_s = takes_s
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

    async def search(self, _: SearchParams) -> str:
        """Return where it looked, or that it is lost."""
        await trio.sleep(self._takes_s)
        if self.is_lost:
            raise IndexCorruptError("lost")
        return str(self.config.workspace)

    def lose(self) -> None:
        """Lose the index."""
        self.is_lost = True
        self._lost.set()


class Opener:
    """Opens what serves an agent."""

    def __init__(self, *failures: Exception, takes_s: float = 0.0) -> None:
        self.failures = list(failures)
        self.takes_s = takes_s
        self.opened: list[Served] = []
        self.tried_at: list[float] = []

    async def __call__(self, config: AgentConfig) -> AgentMemory:
        """Open, or fail."""
        await trio.sleep(0.1)
        self.tried_at.append(trio.current_time())
        if self.failures:
            raise self.failures.pop(0)
        self.opened.append(Served(config, self.takes_s))
        return cast(AgentMemory, self.opened[-1])


def run(script: Callable[[AgentSlot, trio.Nursery], Awaitable[Any]], opener: Opener) -> None:
    """Run a test with a place that is served, on a clock that jumps over waiting."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            slot = AgentSlot(CONFIG, opener)
            nursery.start_soon(slot.run)
            await slot.wait_settled()
            await script(slot, nursery)
            nursery.cancel_scope.cancel()
        assert all(each.ended for each in opener.opened)

    trio.run(main, clock=MockClock(autojump_threshold=0))


def moved(workspace: str) -> AgentConfig:
    """Return settings with another workspace."""
    return replace(CONFIG, workspace=Path(workspace))


def test_requests_wait_while_an_agent_is_opened_with_other_settings() -> None:
    opener = Opener()
    answers: list[str] = []

    async def script(slot: AgentSlot, nursery: trio.Nursery) -> None:
        async def ask() -> None:
            answers.append(cast(str, await slot.search(QUESTION)))

        await ask()
        nursery.start_soon(slot.replace, moved("/other"))
        await wait_all_tasks_blocked()
        await ask()

        assert answers == ["/w", "/other"]
        assert [each.ended for each in opener.opened] == [True, False]

    run(script, opener)


def test_a_request_in_flight_may_end_and_one_that_takes_long_is_stopped() -> None:
    opener = Opener(takes_s=GRACE_S / 2)

    async def script(slot: AgentSlot, nursery: trio.Nursery) -> None:
        answers: list[str] = []

        async def ask() -> None:
            try:
                answers.append(cast(str, await slot.search(QUESTION)))
            except AgentReloadingError as error:
                answers.append(error.code)

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        await slot.replace(moved("/other"))
        assert answers == ["/w"]

        opener.opened[-1]._takes_s = 100
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        await slot.replace(CONFIG)
        assert answers == ["/w", "agent_reloading"]

    run(script, opener)


def test_an_agent_that_cant_be_opened_says_why_and_is_tried_ever_more_seldom() -> None:
    failures = [IndexIOError(f"full {number}") for number in range(9)]
    opener = Opener(*failures)

    async def script(slot: AgentSlot, _: trio.Nursery) -> None:
        with pytest.raises(IndexIOError, match="full 0"):
            await slot.search(QUESTION)
        assert [problem.code for problem in (await slot.status(deep=False)).problems] == ["index_io"]

        await trio.sleep(10 * LAST_RETRY_S)

        assert cast(str, await slot.search(QUESTION)) == "/w"
        waits = [round(later - earlier, 3) for earlier, later in pairwise(opener.tried_at)]
        assert waits[0] == pytest.approx(FIRST_RETRY_S + 0.1)
        assert waits == sorted(waits)
        assert waits[-1] == pytest.approx(LAST_RETRY_S + 0.1)

    run(script, opener)


def test_a_defect_closes_the_agent_until_it_is_tried_again() -> None:
    opener = Opener(ZeroDivisionError())

    async def script(slot: AgentSlot, _: trio.Nursery) -> None:
        with pytest.raises(MemdError, match="defect"):
            await slot.search(QUESTION)
        await trio.sleep(FIRST_RETRY_S + 1)
        assert cast(str, await slot.search(QUESTION)) == "/w"

    run(script, opener)


def test_a_lost_index_is_opened_anew_and_the_question_asked_again() -> None:
    opener = Opener()

    async def script(slot: AgentSlot, _: trio.Nursery) -> None:
        opener.opened[0].lose()
        assert cast(str, await slot.search(QUESTION)) == "/w"
        assert len(opener.opened) == 2

    run(script, opener)


def test_an_agent_that_was_given_up_answers_no_more() -> None:
    async def script(slot: AgentSlot, _: trio.Nursery) -> None:
        await slot.give_up()
        with pytest.raises(AgentReloadingError):
            await slot.search(QUESTION)
        with pytest.raises(AgentReloadingError):
            slot.session_started("k")

    run(script, Opener())
