"""States of an agent: requests wait while it is opened and reopened, and are refused once it is closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from trio.testing import wait_all_tasks_blocked

from memd.agents.agent import (
    OPEN_TIMEOUT_S,
    REQUEST_GRACE_S,
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
    ProviderUnavailableError,
)
from memd_client.messages import EmbedParams, FilesParams, GetParams, SearchParams
from tests.support.agents import (
    CAN_LIST_FILES,
    AgentFixture,
    Pending,
    SlowRequest,
    jump,
    on_stopped_clock,
    open_files_below,
    opening_agent,
    running_agent,
)

NOTE = "# Harbor\n\nThe upload retries five times.\n"


async def ask_all(fixture: AgentFixture) -> dict[str, object]:
    """Return the answer to each request that waits until the agent is open, or its error, by name."""
    fixture.note("MEMORY.md", NOTE)
    agent = fixture.agent
    pending: dict[str, Pending[Any]] = {
        "search": fixture.begin(fixture.search, "upload retries"),
        "get": fixture.begin(fixture.get, "MEMORY.md"),
        "files": fixture.begin(agent.files, FilesParams()),
        "index": fixture.begin(agent.index, False, ignore_progress),
        "vacuum": fixture.begin(agent.vacuum),
        "embed": fixture.begin(agent.embed, EmbedParams(["a"])),
        "keep_vector": fixture.begin(agent.keep_vector, "a", "model", bytes(8)),
        "ask": fixture.begin(agent.ask, answer_at_once),
        "status": fixture.begin(agent.status, False),
    }
    await wait_all_tasks_blocked()
    assert [name for name, request in pending.items() if request.is_over] == []
    fixture.may_open.set()
    answers: dict[str, object] = {}
    for name, request in pending.items():
        try:
            answers[name] = await request.answer()
        except MemdError as error:
            answers[name] = error
    return answers


async def answer_at_once(config: AgentConfig, opened: OpenAgent) -> str:
    """Answer a request of another module."""
    await trio.lowlevel.checkpoint()
    return opened.agent_id


# --- opening ----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_requests_to_an_opening_agent_wait_until_it_is_open(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        assert fixture.is_in(AgentState.OPENING)

        answers = await ask_all(fixture)

        assert fixture.is_in(AgentState.OPEN)
    assert answers.pop("search") == ["MEMORY.md"]
    assert answers.pop("get") == NOTE
    assert isinstance(answers.pop("embed"), ProviderUnavailableError)
    assert answers.pop("keep_vector") is False
    assert answers.pop("ask") == "main"
    assert {name: type(answer).__name__ for name, answer in answers.items()} == {
        "files": "FilesReply",
        "index": "IndexedAgent",
        "vacuum": "VacuumedAgent",
        "status": "AgentStatus",
    }


@on_stopped_clock
async def test_reset_of_an_opening_agent_waits_until_it_is_open(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        reset = fixture.begin(fixture.agent.reset, False, ignore_progress)
        await wait_all_tasks_blocked()
        assert not reset.is_over

        fixture.may_open.set()

        assert (await reset.answer()).files == 1
        assert len(fixture.opened) == 2


@on_stopped_clock
async def test_events_of_an_opening_agent_request_no_sync_because_it_syncs_anyway(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert not fixture.agent.session_started("agent:main:main")
        assert not fixture.agent.compaction_done()
        assert fixture.used == []

        fixture.may_open.set()

        await fixture.agent.wait_settled()
        assert fixture.opened[0].text.syncing or fixture.opened[0].text.last_sync_ms is None
        assert await fixture.search("upload retries") == ["MEMORY.md"]


@on_stopped_clock
async def test_memory_of_an_opening_agent_is_listed_from_the_disk(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert list(fixture.agent.find_memory().files) == ["MEMORY.md"]


@on_stopped_clock
async def test_request_to_an_agent_that_opens_too_slowly_is_refused(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        search = fixture.begin(fixture.search, "upload")
        status = fixture.begin(fixture.agent.status, False)
        await wait_all_tasks_blocked()
        jump(OPEN_TIMEOUT_S - 0.1)
        await wait_all_tasks_blocked()
        assert not search.is_over

        jump(0.2)

        with pytest.raises(AgentReloadingError, match="agent main is being reopened"):
            await search.answer()
        assert [problem.code for problem in (await status.answer()).problems] == ["agent_reloading"]


@on_stopped_clock
async def test_cancelling_an_opening_agent_leaves_nothing_open(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.may_open.set()
        await trio.lowlevel.checkpoint()  # the index is being opened in a thread
        assert fixture.is_in(AgentState.OPENING)
    assert fixture.is_in(AgentState.CLOSED)
    assert open_files_below(tmp_path) == set()


@on_stopped_clock
async def test_cancelling_an_open_agent_leaves_nothing_open(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        assert open_files_below(tmp_path) or not CAN_LIST_FILES
    assert fixture.is_in(AgentState.CLOSED)
    assert open_files_below(tmp_path) == set()


@on_stopped_clock
async def test_agent_opened_again_has_its_rows(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert await fixture.search("upload retries") == ["MEMORY.md"]

    async with running_agent(tmp_path) as fixture:
        report = await fixture.agent.index(False, ignore_progress)
        assert (report.files, report.files_changed) == (1, 0)


# --- new settings -----------------------------------------------------------------------------------


@on_stopped_clock
async def test_requests_wait_while_an_agent_is_reopened_with_other_settings(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert await fixture.search("upload retries") == ["MEMORY.md"]
        other = replace(fixture.config, workspace=tmp_path / "other")
        other.workspace.mkdir()
        (other.workspace / "MEMORY.md").write_text("# Harbor\n\nThe download retries twice.\n")
        fixture.may_open = trio.Event()

        replaced = fixture.begin(fixture.agent.replace, other)
        await fixture.wait_tried(2)
        assert fixture.is_in(AgentState.REOPENING)
        text = fixture.begin(fixture.get, "MEMORY.md")
        await wait_all_tasks_blocked()
        assert not text.is_over
        assert not fixture.agent.session_started("agent:main:main")
        fixture.may_open.set()

        assert "download retries twice" in await text.answer()
        assert await fixture.search("upload retries five") == ["MEMORY.md"]
        await replaced.answer()
        assert fixture.agent.config is other
        with pytest.raises(IndexClosedError):
            await fixture.opened[0].index_file.read(lambda _: None)


@on_stopped_clock
async def test_replace_returns_once_the_agent_is_open(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        await fixture.agent.replace(fixture.config)
        assert fixture.agent.opened is fixture.opened[1]
        assert fixture.is_in(AgentState.OPEN)


@on_stopped_clock
async def test_reopening_lets_requests_in_progress_finish(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        replaced = fixture.begin(fixture.agent.replace, replace(fixture.config, workspace=tmp_path))
        await wait_all_tasks_blocked()
        jump(REQUEST_GRACE_S / 2)
        await wait_all_tasks_blocked()
        assert not replaced.is_over
        assert len(fixture.tries) == 1

        slow.may_end.set()

        assert await request.answer() == "workspace"
        await replaced.answer()
        assert len(slow.asked) == 1


@on_stopped_clock
async def test_reopening_cancels_requests_that_take_longer_than_the_grace(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        replaced = fixture.begin(fixture.agent.replace, fixture.config)
        await wait_all_tasks_blocked()

        jump(REQUEST_GRACE_S)

        with pytest.raises(AgentReloadingError, match="agent main is being reopened"):
            await request.answer()
        await replaced.answer()
        assert fixture.is_in(AgentState.OPEN)


@on_stopped_clock
async def test_reopening_waits_no_longer_than_twice_the_grace_for_a_request_that_can_not_be_cancelled(
    tmp_path: Path,
) -> None:
    slow = SlowRequest(shield=True)
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        replaced = fixture.begin(fixture.agent.replace, fixture.config)
        for _ in range(2):
            await wait_all_tasks_blocked()
            assert len(fixture.tries) == 1
            jump(REQUEST_GRACE_S)

        await replaced.answer()
        assert fixture.is_in(AgentState.OPEN)
        assert not request.is_over
        slow.may_end.set()
        with pytest.raises(IndexClosedError):  # its index is closed
            await request.answer()


@on_stopped_clock
async def test_settings_that_change_while_an_agent_is_reopened_are_applied_afterwards(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        configs = [replace(fixture.config, workspace=tmp_path / name) for name in ("first", "second")]
        fixture.may_open = trio.Event()
        first = fixture.begin(fixture.agent.replace, configs[0])
        await fixture.wait_tried(2)
        second = fixture.begin(fixture.agent.replace, configs[1])
        await wait_all_tasks_blocked()

        fixture.may_open.set()

        await first.answer()
        await second.answer()
        assert fixture.is_in(AgentState.OPEN)
        assert (await fixture.agent.status(deep=False)).workspace == str(tmp_path / "second")


@on_stopped_clock
async def test_index_that_is_lost_while_requests_may_finish_is_reopened_once_with_the_new_settings(
    tmp_path: Path,
) -> None:
    slow = SlowRequest(shield=True)
    async with running_agent(tmp_path) as fixture:
        fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        replaced = fixture.begin(fixture.agent.replace, replace(fixture.config, workspace=tmp_path))
        await wait_all_tasks_blocked()
        fixture.opened[0].index_file.discard(vectors=False)
        await fixture.wait_tried(2)
        await fixture.agent.wait_settled()

        slow.may_end.set()

        await replaced.answer()
        for _ in range(10):  # while a second reopening would be under way
            status = await fixture.agent.status(deep=False)
            assert (status.workspace, status.problems) == (str(tmp_path), [])
        assert len(fixture.tries) == 2


# --- closing ----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_closed_agent_answers_no_request(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        agent = fixture.agent
        await agent.close()
        assert fixture.is_in(AgentState.CLOSED)
        assert open_files_below(fixture.config.index_path.parent) == set()
        requests: list[Callable[[], Awaitable[object]]] = [
            lambda: agent.search(SearchParams("upload")),
            lambda: agent.get(GetParams("MEMORY.md")),
            lambda: agent.reset(False, ignore_progress),
            agent.vacuum,
        ]
        for request in requests:
            with pytest.raises(AgentReloadingError, match="agent main is closed"):
                await request()
        events: list[Callable[[], bool]] = [
            lambda: agent.session_started("agent:main:main"),
            agent.compaction_done,
        ]
        for event in events:
            with pytest.raises(AgentReloadingError, match="agent main is closed"):
                event()
        assert [problem.code for problem in (await agent.status(deep=False)).problems] == ["agent_reloading"]
        assert list(agent.find_memory().files) == ["MEMORY.md"]


@on_stopped_clock
async def test_closing_lets_requests_in_progress_finish_and_answers_the_waiting_ones(tmp_path: Path) -> None:
    slow = SlowRequest()
    async with running_agent(tmp_path) as fixture:
        request = fixture.begin(fixture.agent.ask, slow)
        await slow.begun.wait()
        closed = fixture.begin(fixture.agent.close)
        await wait_all_tasks_blocked()
        late = fixture.begin(fixture.search, "upload")
        await wait_all_tasks_blocked()
        assert not late.is_over

        slow.may_end.set()

        assert await request.answer() == "workspace"
        await closed.answer()
        with pytest.raises(AgentReloadingError, match="agent main is closed"):
            await late.answer()


@on_stopped_clock
async def test_failed_agent_is_closed_at_once(tmp_path: Path) -> None:
    async with opening_agent(tmp_path) as fixture:
        fixture.errors.append(IndexIOError("full"))
        fixture.may_open.set()
        await fixture.agent.wait_settled()
        await fixture.agent.close()
        assert fixture.is_in(AgentState.CLOSED)
        assert len(fixture.tries) == 1
