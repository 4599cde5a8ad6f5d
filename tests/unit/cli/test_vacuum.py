"""`memctl vacuum`: sizes before and after, and an exit code that tells."""

from __future__ import annotations

import json

from memd_client.messages import Problem, VacuumedAgent, VacuumReply
from memd_client.wire import to_wire
from tests.unit.cli.stage import memctl

DONE = VacuumedAgent("main", 5_000_000, 2_000_000, 31, 812.0)


def test_sizes_before_and_after_stand_in_a_row() -> None:
    ran = memctl("vacuum", vacuum=VacuumReply([DONE]))
    assert ran.code == 0
    assert [word for word in ("main", "5.00 MB", "2.00 MB", "31", "812 ms") if word not in ran.out] == []


def test_json_is_the_reply() -> None:
    ran = memctl("vacuum", "--json", vacuum=VacuumReply([DONE]))
    assert json.loads(ran.out) == to_wire(VacuumReply([DONE]))


def test_an_agents_error_is_told_and_exits_1() -> None:
    broken = VacuumedAgent("work", 0, 0, 0, 0.0, Problem("index_io", "No space left.", "Free some space."))
    ran = memctl("vacuum", vacuum=VacuumReply([DONE, broken]))
    assert ran.code == 1
    assert "Free some space." in ran.out
