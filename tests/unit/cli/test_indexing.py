"""`memctl index`, `reset` and `vacuum`: output, confirmation and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable

from memd_client.messages import (
    IndexedAgent,
    IndexReply,
    Problem,
    Progress,
    ResetReply,
    SkippedFile,
    VacuumedAgent,
    VacuumReply,
)
from memd_client.schema import to_wire
from tests.unit.cli.memctl_runner import OUTAGE, indexed, memctl

TABLE = """\
agent  files  chunks  changed  removed  embedded  reused    took
main      54   1,300        2        0        31   1,269  812 ms
研究       0       0        0        0         0       0  9.0 ms
"""

TABLE_WITH_NOTICES = """\
agent  files  chunks  changed  removed  embedded  reused    took
main      54   1,300        2        0        31   1,269  812 ms

main
  problem     The index can't be written: no space left. (index_io)
              hint: Free some space.
  degraded    The embedding provider openai answered 401. (for 3 h, provider_failed)
              hint: Correct search.endpoint.apiKey.
  skipped     1 file
              memory/link.md: symbolic link
"""


def clock(*seconds: float) -> Callable[[], float]:
    """Return a monotonic clock that returns these times in turn."""
    times = iter(seconds)
    return lambda: next(times)


def test_success_prints_one_row_per_agent() -> None:
    empty = indexed("研究", files=0, chunks=0, files_changed=0, embedded=0, reused=0, took_ms=9.0)

    ran = memctl("index", index=IndexReply([indexed(), empty]))

    assert (ran.code, ran.out, ran.err) == (0, TABLE, "")
    assert ran.client.closed


def test_agent_error_is_shown_with_its_hint_and_exits_with_1() -> None:
    broken = indexed(
        error=Problem("index_io", "The index can't be written: no space left.", "Free some space."),
        degraded=OUTAGE,
        skipped=[SkippedFile("memory/link.md", "symbolic link")],
    )

    ran = memctl("index", index=IndexReply([broken]))

    assert (ran.code, ran.out) == (1, TABLE_WITH_NOTICES)


def test_agent_and_force_are_sent_to_the_daemon() -> None:
    ran = memctl("index", "--agent", "main", "--force", index=IndexReply([indexed()]))

    assert ran.client.calls == [("index", {"agent": "main", "force": True})]


def test_index_without_agents_prints_a_note() -> None:
    ran = memctl("index", index=IndexReply([]))

    assert (ran.code, ran.out) == (0, "no agents to index\n")


def test_progress_on_a_pipe_is_one_line_per_second_and_the_end_once() -> None:
    progress = [
        Progress(1, "text", 1, 1300, "main: memory/a.md"),
        Progress(1, "text", 2, 1300, "main: memory/b.md"),
        Progress(1, "embedding", 1, 0, "main"),
        Progress(1, "text", 600, 1300, "main: memory/c.md"),
        Progress(1, "text", 1300, 1300, "main: memory/d.md"),
        Progress(1, "text", 1300, 1300, "main: memory/d.md"),
        Progress(1, "text", 7, 9, "work: memory/odd: name.md"),
    ]

    ran = memctl(
        "index",
        progress=progress,
        now_s=clock(10.0, 10.9, 10.95, 11.0, 11.1, 11.2),
        index=IndexReply([indexed()]),
    )

    assert ran.err == (
        "main · text: 1 of 1,300\n"
        "main · embedding: 1\n"
        "main · text: 600 of 1,300\n"
        "main · text: 1,300 of 1,300\n"
        "work · text: 7 of 9\n"
    )


def test_detail_of_a_named_agent_is_not_split() -> None:
    progress = [Progress(1, "text", 1, 9, "memory/odd: name.md"), Progress(1, "embedding", 3, 0, "")]

    ran = memctl("index", "--agent", "main", progress=progress, index=IndexReply([indexed()]))

    assert ran.err == "main · text: 1 of 9\nmain · embedding: 3\n"


def test_terminal_gets_a_temporary_bar_per_agent_and_stage() -> None:
    progress = [Progress(1, "text", 1, 20, "main: memory/a.md"), Progress(1, "embedding", 3, 0, "work")]

    ran = memctl("index", progress=progress, terminal=True, colour=False, index=IndexReply([indexed()]))

    assert "main · text" in ran.err
    assert "1 of 20 memory/a.md" in ran.err
    assert "work · embedding" in ran.err
    assert "main · text" not in ran.out
    assert ran.out.split() == TABLE.split()[:17]


def test_json_has_the_reply_and_exits_with_1_on_an_error() -> None:
    reply = IndexReply([indexed(), indexed("work", error=Problem("index_io", "No space.", ""))])

    ran = memctl("index", "--json", progress=[Progress(1, "text", 1, 2)], index=reply)

    shown = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    assert shown == to_wire(reply)
    assert list(shown["agents"][0]) == list(IndexedAgent.__struct_fields__)


def test_reset_options_are_sent_to_the_daemon() -> None:
    ran = memctl("reset", "--agent", "main", "--vectors", "--yes", reset=ResetReply([indexed()]))
    assert ran.code == 0
    assert "main" in ran.out
    assert ran.client.calls == [("reset", {"agent": "main", "delete_vectors": True})]


def test_reset_without_a_terminal_deletes_nothing() -> None:
    ran = memctl("reset", reset=ResetReply([indexed()]))
    assert ran.code == 2
    assert "--yes" in ran.err
    assert ran.client.calls == []


def test_agent_error_of_a_reset_exits_with_1() -> None:
    broken = indexed(error=Problem("index_io", "No space left.", "Free some space."))
    ran = memctl("reset", "--yes", reset=ResetReply([broken]))
    assert ran.code == 1
    assert "Free some space." in ran.out


DONE = VacuumedAgent("main", 5_000_000, 2_000_000, 31, 812.0)


def test_vacuum_prints_sizes_before_and_after() -> None:
    ran = memctl("vacuum", vacuum=VacuumReply([DONE]))
    assert ran.code == 0
    assert [word for word in ("main", "5.00 MB", "2.00 MB", "31", "812 ms") if word not in ran.out] == []


def test_json_has_the_reply() -> None:
    ran = memctl("vacuum", "--json", vacuum=VacuumReply([DONE]))
    assert json.loads(ran.out) == to_wire(VacuumReply([DONE]))


def test_agent_error_of_a_vacuum_is_shown_and_exits_with_1() -> None:
    broken = VacuumedAgent("work", 0, 0, 0, 0.0, Problem("index_io", "No space left.", "Free some space."))
    ran = memctl("vacuum", vacuum=VacuumReply([DONE, broken]))
    assert ran.code == 1
    assert "Free some space." in ran.out
