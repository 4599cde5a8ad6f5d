"""`memctl reset`: asks first, passes on what is wanted, and tells what came of it."""

from __future__ import annotations

from memd_client.messages import Problem, ResetReply
from tests.unit.cli.stage import indexed, memctl


def test_what_is_wanted_reaches_the_daemon() -> None:
    ran = memctl("reset", "--agent", "main", "--vectors", "--yes", reset=ResetReply([indexed()]))
    assert ran.code == 0
    assert "main" in ran.out
    assert ran.client.calls == [("reset", {"agent": "main", "vectors": True})]


def test_without_a_terminal_to_ask_on_nothing_is_dropped() -> None:
    ran = memctl("reset", reset=ResetReply([indexed()]))
    assert ran.code == 2
    assert "--yes" in ran.err
    assert ran.client.calls == []


def test_an_agents_error_exits_1() -> None:
    broken = indexed(error=Problem("index_io", "No space left.", "Free some space."))
    ran = memctl("reset", "--yes", reset=ResetReply([broken]))
    assert ran.code == 1
    assert "Free some space." in ran.out
