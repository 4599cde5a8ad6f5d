"""Memory files as MCP resources: listed page by page, read, and subscribed to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import ClientSession, McpError
from mcp.types import ResourceUpdatedNotification, ServerNotification
from pydantic import AnyUrl

from tests.support.daemon import DaemonProcess
from tests.support.mcp_session import mcp_session, run_mcp_session
from tests.support.state_homes import StateHome, agents_config

NOTES = 130
"""More files than one page of the list."""

NOTICE_S = 120.0


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with many notes, two agents, and notes outside a workspace."""
    with StateHome() as home:
        outside = home.root / "notes"
        outside.mkdir()
        (outside / "house rules.md").write_text("# House\n\nShoes stay at the door.\n")
        sync = {"watchDebounceMs": 50}
        search = {
            "provider": "none",
            "extraPaths": [str(outside)],
            "sources": ["memory", "sessions"],
            "sync": sync,
        }
        home.configure(agents_config(home.state, "work", memory_search=search))
        for number in range(NOTES):
            home.note(f"memory/topic-{number:03}.md", f"# Topic {number}\n\nAbout {number}.\n")
        home.note("MEMORY.md", "# Work\n\nThe lease ends in June.\n", "work")
        with DaemonProcess(home) as process:
            yield process


def test_every_file_is_listed_once_over_all_pages(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        first = await session.list_resources()
        second = await session.list_resources(first.nextCursor)
        return first, second

    first, second = run_mcp_session(daemon, steps)

    assert len(first.resources) == 100
    assert second.nextCursor is None
    addresses = [str(each.uri) for each in [*first.resources, *second.resources]]
    assert len(set(addresses)) == len(addresses)
    assert "memory://work/MEMORY.md" in addresses
    assert sum(address.startswith("memory://main/memory/topic-") for address in addresses) == NOTES
    named = {each.name: each for each in [*first.resources, *second.resources]}
    assert named["memory/topic-007.md"].title == "Topic 7"
    assert named["memory/topic-007.md"].mimeType == "text/markdown"


def test_every_listed_file_can_be_read(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        page = await session.list_resources()
        page.resources += (await session.list_resources(page.nextCursor)).resources
        outside = [each for each in page.resources if each.name.endswith("house rules.md")]
        chosen = [*outside, page.resources[0], page.resources[-1]]
        return [(await session.read_resource(each.uri)).contents[0] for each in chosen], len(outside)

    contents, outside = run_mcp_session(daemon, steps)

    assert outside == 2, "each of both agents has it"
    assert contents[0].text == contents[1].text == "# House\n\nShoes stay at the door.\n"
    assert all(each.text and each.mimeType == "text/markdown" for each in contents)


def test_template_describes_the_addresses_of_files(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        return (await session.list_resource_templates()).resourceTemplates

    assert run_mcp_session(daemon, steps)[0].uriTemplate == "memory://{agent}/{+path}"
    assert run_mcp_session(daemon, steps, "--agent", "work")[0].uriTemplate == "memory://work/{+path}"


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("memory://main/memory/none.md", "file_missing"),
        ("memory://main/notes.txt", "path_refused"),
        ("memory://main/..%2F..%2Fstate%2Fopenclaw.json", "path_refused"),
        ("memory://main/%2Fetc%2Fpasswd", "path_refused"),
        ("memory://main/sessions/abc.jsonl", "path_refused"),
        ("memory://nobody/MEMORY.md", "agent_unknown"),
        ("memory://main", "path_refused"),
        ("file:///etc/passwd", "path_refused"),
    ],
)
def test_paths_that_get_refuses_cannot_be_read_as_resources(
    daemon: DaemonProcess, address: str, reason: str
) -> None:
    async def steps(session: ClientSession) -> Any:
        with pytest.raises(McpError) as refused:
            await session.read_resource(AnyUrl(address))
        return refused.value.error

    error = run_mcp_session(daemon, steps)

    assert error.data == {"code": reason}
    assert "\n" in error.message, "the way out stands below"


def test_single_agent_server_reads_no_other_agent(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        with pytest.raises(McpError, match="limited to the agent main"):
            await session.read_resource(AnyUrl("memory://work/MEMORY.md"))
        with pytest.raises(McpError, match="limited to the agent main"):
            await session.subscribe_resource(AnyUrl("memory://work/MEMORY.md"))

    run_mcp_session(daemon, steps, "--agent", "main")


def test_invalid_cursor_is_refused(daemon: DaemonProcess) -> None:
    async def steps(session: ClientSession) -> Any:
        with pytest.raises(McpError, match="list the resources again") as refused:
            await session.list_resources("bm90IG91cnM=")
        return refused.value.error.code

    assert run_mcp_session(daemon, steps) == -32602


def test_subscriber_is_notified_of_a_change_on_disk(daemon: DaemonProcess) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        if isinstance(message, ServerNotification) and isinstance(message.root, ResourceUpdatedNotification):
            told.put_nowait(str(message.root.params.uri))

    async def drive() -> str:
        async with mcp_session(daemon.home.environ(), on_message=hear) as session:
            await session.subscribe_resource(AnyUrl("memory://main/memory/topic-003.md"))
            daemon.home.note("memory/topic-004.md", "# Topic 4\n\nNobody asked for this one.\n")
            daemon.home.note("memory/topic-003.md", "# Topic 3\n\nIt says something else now.\n")
            async with asyncio.timeout(NOTICE_S):
                return await told.get()

    assert asyncio.run(drive()) == "memory://main/memory/topic-003.md"
