"""Requests of an open agent: what each answers from its files and its index."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from memd.agents.agent import LOOK_TIMEOUT_S
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings, Sync
from memd.sources.capacity import limits_of
from memd.sync.text.text_sync import ignore_progress
from memd_client.errors import (
    FileMissingError,
    MemoryDisabledError,
    PathRefusedError,
)
from memd_client.messages import FilesParams, GetParams, SearchParams
from tests.support.agents import config_in, jump, on_stopped_clock, running_agent
from tests.support.transcripts import TranscriptHome, header, message

NOTE = "# Harbor\n\nThe upload retries five times.\n"
OTHER_NOTE = "# Bakery\n\nThe oven needs an hour to get warm.\n"


def with_conversations(folder: Path) -> AgentConfig:
    """Return an agent with one conversation with OpenClaw."""
    home = TranscriptHome(folder / "state")
    home.write_file(
        "s1", [header("s1"), message("user", "Is the ferry late?"), message("assistant", "By an hour.")]
    )
    return config_in(folder, sources=("memory", "sessions"))


# --- search -----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_search_finds_what_was_written_and_changed_a_moment_ago(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        note = fixture.note("memory/harbor.md", NOTE)
        assert await fixture.search("upload retries") == ["memory/harbor.md"]
        note.write_text(NOTE.replace("upload", "download"))
        reply = await fixture.agent.search(SearchParams("download retries"))
        assert "download retries five times" in reply.hits[0].snippet
        note.unlink()
        assert await fixture.search("download retries") == []
        assert fixture.used == ["main"] * 3


@on_stopped_clock
async def test_search_without_hits_has_a_reason(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        reply = await fixture.agent.search(SearchParams("upload"))
        assert reply.empty is not None
        assert (reply.empty.code, str(fixture.workspace) in reply.empty.hint) == ("no_notes", True)
        fixture.note("MEMORY.md", NOTE)
        reply = await fixture.agent.search(SearchParams("zeppelin"))
        assert reply.empty is not None
        assert reply.empty.code == "no_match"
        assert (await fixture.agent.search(SearchParams("upload retries"))).empty is None


@on_stopped_clock
async def test_search_in_an_unknown_project_names_the_known_ones(tmp_path: Path) -> None:
    config = with_conversations(tmp_path)
    async with running_agent(tmp_path, config) as fixture:
        fixture.note("MEMORY.md", NOTE)
        reply = await fixture.agent.search(SearchParams("upload", project="zeppelin"))
        assert reply.empty is not None
        assert (reply.empty.code, reply.empty.hint) == (
            "project_unknown",
            "No conversation names its project.",
        )


@on_stopped_clock
async def test_search_without_hits_waits_for_changes_of_other_machines(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.look = trio.Event()
        await fixture.agent.index(False, ignore_progress)
        search = fixture.begin(fixture.agent.search, SearchParams("upload retries"))
        await wait_all_tasks_blocked(0.05)  # it has found nothing, and waits
        fixture.note("MEMORY.md", NOTE)
        fixture.look.set()
        reply = await search.answer()
        assert [hit.path for hit in reply.hits] == ["MEMORY.md"]


@on_stopped_clock
async def test_search_does_not_wait_long_for_changes_of_other_machines(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.look = trio.Event()
        search = fixture.begin(fixture.agent.search, SearchParams("upload retries"))
        while not search.is_over:
            await wait_all_tasks_blocked(0.01)
            jump(LOOK_TIMEOUT_S)
        reply = await search.answer()
        assert reply.empty is not None
        assert reply.empty.code == "remote_pending"


@on_stopped_clock
async def test_search_with_hits_does_not_wait_for_changes_of_other_machines(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        fixture.look = trio.Event()
        assert await fixture.search("upload retries") == ["MEMORY.md"]


# --- reading ----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_get_returns_lines_as_they_are_on_disk(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("memory/harbor.md", NOTE)
        whole = await fixture.agent.get(GetParams("memory/harbor.md"))
        assert (whole.text, whole.total_lines, whole.truncated) == (NOTE, 3, False)
        part = await fixture.agent.get(GetParams("memory/harbor.md", from_line=3, lines=1))
        assert (part.text, part.from_line) == ("The upload retries five times.", 3)
        absolute = await fixture.agent.get(GetParams(f"{fixture.workspace}/memory/harbor.md"))
        assert (absolute.path, absolute.text) == ("memory/harbor.md", NOTE)


@on_stopped_clock
async def test_get_refuses_what_is_not_memory(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        fixture.note("secret.txt", "secret")
        for path in ("secret.txt", "../outside.md", "/etc/passwd"):
            with pytest.raises(PathRefusedError):
                await fixture.get(path)
        with pytest.raises(FileMissingError) as caught:
            await fixture.get("memory/2026-01-01.md")
        assert caught.value.data["path"] == "memory/2026-01-01.md"


@on_stopped_clock
async def test_get_reads_a_conversation_only_if_it_may(tmp_path: Path) -> None:
    async with running_agent(tmp_path, with_conversations(tmp_path)) as fixture:
        path = "sessions/s1.jsonl"
        reply = await fixture.agent.get(GetParams(path, include_conversations=True))
        assert (reply.path, reply.text) == (path, "User: Is the ferry late?\nAssistant: By an hour.")
        assert reply.line_numbers == [2, 3]
        with pytest.raises(PathRefusedError):
            await fixture.get(path)


@on_stopped_clock
async def test_files_are_listed_as_they_are_on_disk(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("memory/2026-01-16.md", NOTE)
        await fixture.search("upload")
        fixture.note("memory/2026-01-17.md", OTHER_NOTE)
        reply = await fixture.agent.files(FilesParams())
        assert [(row.path, row.title, row.date) for row in reply.files] == [
            ("memory/2026-01-17.md", "", "2026-01-17"),
            ("memory/2026-01-16.md", "Harbor", "2026-01-16"),
        ]
        assert [row.chunks > 0 for row in reply.files] == [False, True]
        page = await fixture.agent.files(FilesParams(offset=1, limit=1))
        assert ([row.path for row in page.files], page.total) == (["memory/2026-01-16.md"], 2)


@on_stopped_clock
async def test_memory_is_listed_as_it_is_on_disk(tmp_path: Path) -> None:
    async with running_agent(tmp_path, with_conversations(tmp_path)) as fixture:
        fixture.note("MEMORY.md", NOTE)
        assert list(fixture.agent.find_memory().files) == ["MEMORY.md"]
        fixture.note("memory/bakery.md", OTHER_NOTE)
        assert set(fixture.agent.find_memory().files) == {"MEMORY.md", "memory/bakery.md"}


# --- events -----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_start_of_a_session_requests_one_sync(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        await fixture.agent.index(False, ignore_progress)
        assert fixture.agent.session_started("agent:main:one")
        assert not fixture.agent.session_started("agent:main:one")
        assert fixture.agent.session_started("agent:main:two")
        assert fixture.used == ["main"] * 3


@on_stopped_clock
async def test_start_of_a_session_requests_no_sync_if_the_settings_say_so(tmp_path: Path) -> None:
    config = config_in(tmp_path, sync=Sync(watch=False, on_session_start=False))
    async with running_agent(tmp_path, config) as fixture:
        assert not fixture.agent.session_started("agent:main:one")


@pytest.mark.parametrize("event", ["session_started", "compaction_done"])
@on_stopped_clock
async def test_event_has_the_notes_indexed_without_a_search(tmp_path: Path, event: str) -> None:
    async with running_agent(tmp_path) as fixture:
        await fixture.agent.index(False, ignore_progress)
        fixture.note("MEMORY.md", NOTE)
        asked = (
            fixture.agent.compaction_done()
            if event == "compaction_done"
            else fixture.agent.session_started("a")
        )
        assert asked
        while not (await fixture.agent.status(deep=False)).files:
            await wait_all_tasks_blocked()


# --- status -----------------------------------------------------------------------------------------


@on_stopped_clock
async def test_status_describes_an_open_agent(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        await fixture.agent.index(False, ignore_progress)
        fixture.note("memory/bakery.md", OTHER_NOTE)
        status = await fixture.agent.status(deep=False)
        assert (status.agent, status.workspace) == ("main", str(fixture.workspace))
        assert (status.files, status.chunks, status.files_pending) == (1, 1, 1)
        assert (status.provider, status.vectors, status.watch) == ("none", 0, "off")
        assert status.last_sync_ms is not None
        assert (status.problems, status.checks) == ([], [])


@on_stopped_clock
async def test_deep_status_checks_each_part(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        status = await fixture.agent.status(deep=True)
        assert [(check.name, check.ok) for check in status.checks] == [
            ("embeddings", True),
            ("keyword index", True),
            ("vectors", True),
            ("files", True),
        ]


@on_stopped_clock
async def test_status_names_a_missing_workspace(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.workspace.rmdir()
        status = await fixture.agent.status(deep=True)
        assert [row.code for row in status.problems] == ["workspace_missing"]
        assert [check.name for check in status.checks if not check.ok] == ["files"]


@on_stopped_clock
async def test_limits_are_those_of_the_current_settings(tmp_path: Path) -> None:
    daemon = DaemonSettings(max_agent_files=7)
    async with running_agent(tmp_path, daemon=daemon) as fixture:
        assert fixture.agent.limits == limits_of(daemon)


# --- memory that is turned off ----------------------------------------------------------------------


@on_stopped_clock
async def test_agent_whose_memory_is_off_answers_nothing_but_its_status(tmp_path: Path) -> None:
    config = config_in(tmp_path, enabled=False)
    async with running_agent(tmp_path, config) as fixture:
        fixture.note("MEMORY.md", NOTE)
        agent = fixture.agent
        for request in (
            fixture.search("upload"),
            fixture.get("MEMORY.md"),
            agent.files(FilesParams()),
            agent.index(False, ignore_progress),
            agent.list_sources(),
            agent.erase_deleted(),
        ):
            with pytest.raises(MemoryDisabledError, match="memory search is off for agent main"):
                await request
        with pytest.raises(MemoryDisabledError):
            agent.session_started("agent:main:main")
        with pytest.raises(MemoryDisabledError):
            agent.compaction_done()
        status = await agent.status(deep=False)
        assert (status.enabled, status.files) == (False, 0)
        assert fixture.used == []


@on_stopped_clock
async def test_reset_of_an_agent_whose_memory_is_off_is_refused_and_keeps_its_index(tmp_path: Path) -> None:
    async with running_agent(tmp_path, config_in(tmp_path, enabled=False)) as fixture:
        with pytest.raises(MemoryDisabledError):
            await fixture.agent.reset(True, ignore_progress)
        assert len(fixture.opened) == 1
