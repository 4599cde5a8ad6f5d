"""The programs of docs/clients.md and docs/node.md run unchanged against one daemon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.blocking_node_client import node_client_project
from tests.support.daemon import DaemonProcess
from tests.support.node import node, run_node
from tests.support.programs import programs, running
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.tree import DOCS

PYTHON = programs(DOCS / "clients.md", "python")
NODE = programs(DOCS / "node.md", "js")

SAID = {
    "blocking": "memory/gateway.md#L1 The staging gateway listens on port 8443.\n",
    "asyncio": "keyword 1\n",
    "unsent": "keyword\n",
    "errors": "there is no agent 'nobody' known agents: main\n",
    "prompt": "agent The staging gateway listens on port 8443.\n",
    "callback": "text 1 1\n",
    "progress": "text 1 1\n1 files\n",
}
"""What each program of docs/clients.md prints; `events` has a test of its own."""

NODE_SAID = {
    "search": SAID["blocking"],
    "errors": "no memory now: there is no agent 'nobody' (agent_unknown). known agents: main\n",
}

NOTE, TEXT = "memory/gateway.md", "The staging gateway listens on port 8443.\n"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    settings = KEYWORD_ONLY
    with StateHome(settings) as home:
        home.note(NOTE, TEXT)
        with DaemonProcess(home) as daemon:
            yield daemon


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the Node client and every program of its page."""
    where = node_client_project(tmp_path_factory.mktemp("node"))
    for name, program in NODE.items():
        (where / f"{name}.js").write_text(program)
    return where


def environ(daemon: DaemonProcess) -> dict[str, str]:
    return {**daemon.home.environ(), "PYTHONUNBUFFERED": "1"}


def change_note(daemon: DaemonProcess) -> None:
    """Change a note so that the daemon has a sync to report."""
    note = daemon.home.workspace() / NOTE
    note.write_text(note.read_text() + "\n")
    with daemon.client() as client:
        client.search("gateway")


def test_every_block_of_the_pages_is_a_program_with_a_test() -> None:
    assert PYTHON.keys() == SAID.keys() | {"events"}
    assert NODE.keys() == NODE_SAID.keys() | {"events"}
    assert (DOCS / "clients.md").read_text().count("```python\n") == len(PYTHON)
    assert (DOCS / "node.md").read_text().count("```js\n") == len(NODE)


@pytest.mark.parametrize("name", SAID)
def test_a_program_of_the_python_clients_prints_what_it_promises(daemon: DaemonProcess, name: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PYTHON[name]],
        env={**os.environ, **environ(daemon)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (ended.stderr, ended.stdout) == ("", SAID[name])


def test_the_asyncio_program_is_one_of_trio_as_the_page_says(daemon: DaemonProcess) -> None:
    program = (
        PYTHON["asyncio"]
        .replace("memd_client.aio", "memd_client.trio")
        .replace("AsyncioClient", "TrioClient")
    )
    program = program.replace("asyncio.run(main())", "trio.run(main)").replace("asyncio", "trio")
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environ(daemon)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (ended.stderr, ended.stdout) == ("", SAID["asyncio"])


@pytest.mark.parametrize("name", NODE_SAID)
def test_a_program_of_the_node_client_prints_what_it_promises(
    daemon: DaemonProcess, project: Path, name: str
) -> None:
    ended = run_node([f"{name}.js"], cwd=project, environ=environ(daemon))

    assert (ended.stderr, ended.stdout) == ("", NODE_SAID[name])


def test_the_program_of_the_python_client_prints_events(daemon: DaemonProcess, tmp_path: Path) -> None:
    with running([sys.executable, "-c", PYTHON["events"]], tmp_path, environ(daemon)) as program:
        kind, agent, at_ms, data = program.line_after(lambda: change_note(daemon)).split(maxsplit=3)

    assert (kind, agent, at_ms.isdigit()) == ("sync", "main", True)
    assert "'files_changed': 1" in data


def test_the_program_of_the_node_client_prints_events_until_ctrl_c(
    daemon: DaemonProcess, project: Path
) -> None:
    with running([node(), "events.js"], project, environ(daemon)) as program:
        line = program.line_after(lambda: change_note(daemon))
        rest = program.ended_by(signal.SIGINT)

    assert line.startswith("sync main ")
    assert rest.endswith("no more events\n")
