"""`memctl agents`: who there is, one line each."""

from __future__ import annotations

import json
from dataclasses import replace

from memd_client.messages import AgentStatus, Problem
from tests.unit.cli.stage import MAIN, OUTAGE, memctl, status_of

WORK = replace(
    MAIN,
    agent="work",
    workspace="/home/ann/work",
    provider="none",
    model="",
    files_pending=2,
    chunks_pending=1200,
    degraded=OUTAGE,
    problems=[Problem("file_unreadable", "memory/x.md is not UTF-8.", "Save it as UTF-8.")],
)
CLOSED = AgentStatus("old", workspace="/home/ann/old", problems=[Problem("index_io", "no room", "")])

TABLE = """\
agent            state  files  chunks  pending        embeds  problems                     workspace
main             ready     54   1,300        -  local minilm         -  /home/ann/.openclaw/workspace
work   needs attention     54   1,300    1,202    words only         2                 /home/ann/work
old    needs attention      0       0        -    words only         1                  /home/ann/old
"""


def test_each_agent_is_a_line() -> None:
    ran = memctl("agents", status=status_of(MAIN, WORK, CLOSED))

    assert (ran.code, ran.err) == (0, "")
    assert [line.split() for line in ran.out.splitlines()] == [line.split() for line in TABLE.splitlines()]
    assert len({len(line) for line in ran.out.splitlines()}) == 1


def test_no_agents_are_a_note() -> None:
    ran = memctl("agents", status=status_of())

    assert (ran.code, ran.out) == (0, "")
    assert "openclaw.json" in ran.err


def test_json_has_the_figures_apart() -> None:
    document = json.loads(memctl("agents", "--json", status=status_of(WORK)).out)

    assert document == {
        "agents": [
            {
                "agent": "work",
                "state": "needs attention",
                "files": 54,
                "chunks": 1300,
                "files_pending": 2,
                "chunks_pending": 1200,
                "provider": "none",
                "model": "",
                "problems": 2,
                "workspace": "/home/ann/work",
            }
        ]
    }
