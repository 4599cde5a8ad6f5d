"""An agent whose index is lost, that can't be opened, or whose tasks crash: what it answers, and how it recovers."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from memd.agents.agent import (
    MAX_RETRY_S,
    MAX_TRIES,
    MIN_RETRY_S,
    AgentState,
)
from memd.agents.open_agent import OpenAgent
from memd.settings.agents import AgentConfig
from memd.sync.text.text_sync import ignore_progress
from memd_client.errors import (
    AgentReloadingError,
    IndexClosedError,
    IndexIOError,
    MemdError,
)
from memd_client.messages import EmbedParams, FilesParams, GetParams, SearchParams
from tests.support.agents import (
    SlowRequest,
    config_in,
    jump,
    on_stopped_clock,
    open_files_below,
    opening_agent,
    running_agent,
)

NOTE = "# Harbor\n\nThe upload retries five times.\n"


async def answer_at_once(config: AgentConfig, opened: OpenAgent) -> str:
    """Answer a request of another module."""
    await trio.lowlevel.checkpoint()
    return opened.agent_id


# --- a lost index -----------------------------------------------------------------------------------


def lose_by_deleting(index: Path) -> None:
    """Delete an open index."""
    index.unlink()


def lose_by_replacing(index: Path) -> None:
    """Put another file in the place of an open index."""
    other = index.with_name("other")
    other.write_bytes(index.read_bytes())
    os.replace(other, index)


def lose_by_truncating(index: Path) -> None:
    """Cut an open index off."""
    os.truncate(index, 100)


@pytest.mark.parametrize("lose", [lose_by_deleting, lose_by_replacing, lose_by_truncating])
@on_stopped_clock
async def test_index_lost_under_an_open_agent_is_reopened_for_the_next_request(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert await fixture.search("upload retries") == ["MEMORY.md"]

        lose(fixture.config.index_path)

        assert await fixture.search("upload retries") == ["MEMORY.md"]
        assert len(fixture.opened) == 2
        assert fixture.agent.failures == 0


@on_stopped_clock
async def test_damaged_index_that_was_rebuilt_is_a_problem_of_the_status(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        await fixture.search("upload")
        lose_by_truncating(fixture.config.index_path)
        assert [problem.code for problem in (await fixture.agent.status(deep=False)).problems] == [
            "index_corrupt"
        ]


@on_stopped_clock
async def test_discarded_index_is_reopened_without_a_request(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.opened[0].index_file.discard(vectors=False)
        await fixture.wait_tried(2)
        await fixture.agent.wait_settled()
        assert fixture.agent.opened is fixture.opened[1]


@on_stopped_clock
async def test_request_whose_index_is_lost_meanwhile_is_repeated(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        fixture.config.index_path.unlink()

        slow.may_end.set()

        assert await request.answer() == "workspace"
        assert len(slow.asked) == 2


@on_stopped_clock
async def test_request_that_waits_while_its_index_is_lost_is_repeated(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        fixture.opened[0].index_file.discard(vectors=False)
        await fixture.wait_tried(2)
        await fixture.agent.wait_settled()
        slow.may_end.set()
        assert await request.answer() == "workspace"
        assert len(slow.asked) == 2


@on_stopped_clock
async def test_request_whose_index_is_lost_each_time_fails(tmp_path: Path) -> None:
    asked = []

    async def lose(_: object, opened: object) -> None:
        asked.append(opened)
        current = fixture.opened[-1].index_file
        current.discard(vectors=False)
        await current.read(lambda _: None)

    async with running_agent(tmp_path) as fixture:
        with pytest.raises(IndexClosedError):
            await fixture.agent.ask(lose)
        assert asked == fixture.opened[:MAX_TRIES]


# --- failures ---------------------------------------------------------------------------------------


@on_stopped_clock
async def test_agent_that_can_not_be_opened_answers_every_request_with_the_error(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    config.index_path.parent.mkdir(parents=True)
    config.index_path.mkdir()  # a folder in the place of the file
    async with running_agent(tmp_path, config) as fixture:
        agent = fixture.agent
        assert fixture.is_in(AgentState.FAILED)
        assert agent.failures == 1
        error = agent.error
        assert isinstance(error, MemdError)
        requests: list[Callable[[], Awaitable[object]]] = [
            lambda: agent.search(SearchParams("upload")),
            lambda: agent.get(GetParams("MEMORY.md")),
            lambda: agent.files(FilesParams()),
            lambda: agent.index(False, ignore_progress),
            lambda: agent.reset(False, ignore_progress),
            lambda: agent.embed(EmbedParams(["a"])),
            lambda: agent.keep_vector("a", "model", bytes(8)),
            lambda: agent.ask(answer_at_once),
            agent.vacuum,
        ]
        for request in requests:
            with pytest.raises(type(error)) as caught:
                await request()
            assert caught.value is not error  # each has its own traceback
            assert caught.value.message == error.message
        events: list[Callable[[], bool]] = [
            lambda: agent.session_started("agent:main:main"),
            agent.compaction_done,
        ]
        for event in events:
            with pytest.raises(type(error)):
                event()
        status = await agent.status(deep=False)
        assert [(row.code, row.message) for row in status.problems] == [(error.code, error.message)]
        assert (status.files, status.workspace) == (0, str(config.workspace))
        assert not agent.find_memory().is_missing


@on_stopped_clock
async def test_agent_is_opened_at_the_next_attempt_once_the_cause_is_gone(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    config.index_path.parent.parent.mkdir()
    config.index_path.parent.write_text("a file in the place of the folder")
    async with running_agent(tmp_path, config) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert fixture.is_in(AgentState.FAILED)
        config.index_path.parent.unlink()

        jump(MIN_RETRY_S)
        await fixture.wait_tried(2)

        with pytest.raises(MemdError):  # until it is open
            await fixture.search("upload retries")
        await fixture.wait_open()
        assert await fixture.search("upload retries") == ["MEMORY.md"]
        assert fixture.agent.failures == 0


@on_stopped_clock
async def test_attempts_to_open_are_repeated_with_a_back_off_that_doubles(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.errors += [IndexIOError(f"full {number}") for number in range(9)]
        fixture.may_open.set()
        for number in range(1, 10):
            await fixture.wait_tried(number)
            await wait_all_tasks_blocked()
            assert fixture.is_in(AgentState.FAILED)
            with pytest.raises(IndexIOError, match=f"full {number - 1}"):
                await fixture.search("upload")
            pause_s = min(MIN_RETRY_S * 2 ** (number - 1), MAX_RETRY_S)
            jump(pause_s - 0.1)
            await wait_all_tasks_blocked()
            assert len(fixture.tries) == number
            jump(0.1)
        await fixture.wait_tried(10)
        assert [failures for _, failures in fixture.tries] == list(range(10))
        waits = [later - earlier for (earlier, _), (later, _) in pairwise(fixture.tries)]
        assert waits == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60])


@on_stopped_clock
async def test_new_settings_are_applied_at_once_after_a_failure(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.errors.append(IndexIOError("full"))
        fixture.may_open.set()
        await fixture.agent.wait_settled()
        assert fixture.is_in(AgentState.FAILED)
        await fixture.agent.replace(replace(fixture.config, workspace=tmp_path))
        assert (await fixture.agent.status(deep=False)).workspace == str(tmp_path)


@on_stopped_clock
async def test_internal_error_while_opening_is_answered_until_the_retry(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.errors.append(ZeroDivisionError())
        fixture.may_open.set()
        await fixture.agent.wait_settled()
        with pytest.raises(MemdError, match="agent main stopped because of an internal error"):
            await fixture.search("upload")
        assert [row.code for row in (await fixture.agent.status(deep=False)).problems] == ["internal"]


@on_stopped_clock
async def test_task_that_crashes_closes_the_agent_until_the_retry(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()

        def crash() -> None:
            raise ZeroDivisionError

        fixture.opened[0].sources.find = crash  # type: ignore[method-assign, assignment]
        assert fixture.agent.compaction_done()

        with pytest.raises(AgentReloadingError):
            await request.answer()
        assert fixture.is_in(AgentState.FAILED)
        assert fixture.agent.failures == 1
        with pytest.raises(MemdError, match="agent main stopped because of an internal error"):
            await fixture.search("upload")
        assert open_files_below(fixture.config.index_path.parent) == set()

        jump(MIN_RETRY_S)
        await fixture.wait_tried(2)
        await fixture.wait_open()
        assert await fixture.search("upload retries") == ["MEMORY.md"]
