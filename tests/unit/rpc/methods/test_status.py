"""status: what is going on, whatever is wrong with an agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memd.rpc.methods import status
from memd.rpc.metrics import rss_bytes
from memd_client.errors import AgentUnknownError, IndexIOError
from memd_client.messages import StatusParams
from tests.support.agents import BlockingRegistry, config_in
from tests.support.indexes import EXTENSION
from tests.support.registry import FakeRegistry
from tests.unit.rpc.methods.calling import call_of, run


def test_the_daemon_and_all_agents_are_reported(memory: BlockingRegistry, tmp_path: Path) -> None:
    reply = memory.run(status.handle, call_of(memory.registry), StatusParams())
    assert [row.agent for row in reply.agents] == ["main", "other"]
    assert (reply.version, reply.pid, reply.socket, reply.connections) == ("9.9", os.getpid(), "/run/s", 3)
    assert (reply.state_dir, reply.config_path, reply.sqlite_vec) == (
        str(tmp_path / "state"),
        str(tmp_path / "state" / "openclaw.json"),
        EXTENSION.version,
    )
    assert 0 <= reply.uptime_ms < 60_000
    assert reply.rss_bytes > 1_000_000


def test_one_agent_is_reported_alone(memory: BlockingRegistry) -> None:
    call = call_of(memory.registry)
    reply = memory.run(status.handle, call, StatusParams(agent="other"))
    assert [row.agent for row in reply.agents] == ["other"]
    with pytest.raises(AgentUnknownError):
        memory.run(status.handle, call, StatusParams(agent="nobody"))


def test_an_agent_that_can_not_be_opened_is_a_row_with_its_problem(tmp_path: Path) -> None:
    configs = [config_in(tmp_path, name, workspace=tmp_path / name) for name in ("main", "other")]
    configs[0].index_path.mkdir(parents=True)  # a folder in the place of the file
    with BlockingRegistry(tmp_path, *configs) as memory:
        reply = memory.run(status.handle, call_of(memory.registry), StatusParams())
    assert [[problem.code for problem in row.problems] for row in reply.agents] == [["index_io"], []]


@pytest.mark.parametrize(
    ("failure", "code"), [(IndexIOError("disk full"), "index_io"), (KeyError("secret"), "internal")]
)
@pytest.mark.parametrize("agent", [None, "main"])
def test_an_agent_that_fails_is_a_row_with_its_problem(
    agent: str | None, failure: Exception, code: str
) -> None:
    memory = FakeRegistry()
    memory.main.failure = failure
    reply = run(status.handle(call_of(memory), StatusParams(agent=agent)))
    assert [problem.code for problem in reply.agents[0].problems] == [code]
    assert "secret" not in str(reply)
    assert all(not row.problems for row in reply.agents[1:])


def test_an_agent_that_hangs_is_a_row_with_its_problem() -> None:
    memory = FakeRegistry()
    memory.main.hang_status = True
    reply = run(status.handle(call_of(memory), StatusParams()))
    assert [[p.code for p in row.problems] for row in reply.agents] == [["deadline_exceeded"], []]
    assert "5 s" in reply.agents[0].problems[0].message


def test_ram_in_use_is_reported_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr("pathlib.Path.read_text", missing)
    assert rss_bytes() > 1_000_000


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        (StatusParams(deep=True), {"version": "9.9"}),
        (StatusParams(), None),
        (StatusParams(agent="main", deep=True), None),
    ],
)
def test_the_installation_is_in_a_deep_status_of_all_agents_alone(
    params: StatusParams, wanted: dict[str, Any] | None
) -> None:
    async def examine() -> dict[str, Any]:
        return {"version": "9.9"}

    call = call_of()
    call.daemon.examine = examine

    assert run(status.handle(call, params)).installation == wanted
