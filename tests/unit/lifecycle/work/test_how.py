"""Invocations of a command are ranked by what is known of their runs; those that only ever failed are apart."""

from __future__ import annotations

from typing import cast

import pytest

from memd.index.transcripts import SessionFacts
from memd.index.work import WorkRow
from memd.lifecycle.work.evidence import SessionPlaces
from memd.lifecycle.work.how import CommandRun, rank_invocations

DAY_MS = 86_400_000
NOW_MS = 1_800_000_000_000


FACTS = {
    "codex/shop": SessionFacts("codex", "shop", project="/home/eva/shop"),
    "codex/blog": SessionFacts("codex", "blog", project="/home/eva/blog", updated_ms=NOW_MS - DAY_MS),
}


class StatedPlaces:
    """The places of two sessions, one in each project."""

    facts = FACTS

    def of(self, row: WorkRow) -> dict[str, object]:
        """Return the fields of a place."""
        return {"citation": row.path, "agent": "main", "path": row.path, "start_line": row.place}


PLACES = cast(SessionPlaces, StatedPlaces())


def run(
    line: str,
    status: str = "ok",
    *,
    days: float = 0,
    path: str = "codex/shop",
    folder: str = "/p",
    tier: int = 1,
) -> CommandRun:
    time_ms = NOW_MS - int(days * DAY_MS)
    row = WorkRow(
        3, time_ms, "ran", status, None, folder, line.split()[0], line, "", f" {line}", "", path=path
    )
    return CommandRun(row, PLACES, tier)


def lines(*runs: CommandRun, project: str = "") -> list[str]:
    return [command.line.strip() for command in rank_invocations(runs, project)[0]]


def test_runs_of_one_invocation_in_one_folder_are_counted_together() -> None:
    runs = [
        run("pytest"),
        run("pytest", days=1),
        run("pytest", "failed"),
        run("pytest", "unknown", path="codex/blog"),
    ]
    (command,), failed = rank_invocations([*runs, run("pytest", folder="/q")][:4], "")

    assert (command.succeeded, command.failed, command.unknown, command.sessions) == (2, 1, 1, 2)
    assert (command.status, command.last_ms, failed) == ("ok", NOW_MS, [])
    assert len(rank_invocations([*runs, run("pytest", folder="/q")], "")[0]) == 2


@pytest.mark.parametrize("others", [(), ("unknown",), ("failed", "failed")])
def test_invocation_whose_every_known_run_failed_is_never_an_answer(others: tuple[str, ...]) -> None:
    known, failed = rank_invocations([run("make", status) for status in ("failed", *others)], "")

    assert known == []
    assert [command.status for command in failed] == ["failed"]


def test_invocation_of_unknown_outcome_is_marked_and_follows_those_that_succeeded() -> None:
    runs = [
        run("pytest -x", "unknown"),
        run("pytest -x", "unknown", path="codex/blog"),
        run("pytest", days=9),
    ]
    known, _ = rank_invocations(runs, "")

    assert [command.status for command in known] == ["ok", "unknown"]


def test_frequent_and_recent_invocations_come_first() -> None:
    often = [run("pytest -n4", days=3, path=path) for path in FACTS]
    assert lines(run("pytest -q", days=2), *often) == ["pytest -n4", "pytest -q"]
    assert lines(run("old", days=400), run("new")) == ["new", "old"]
    assert lines(run("twice", days=1), run("twice"), run("once", path="codex/blog")) == ["twice", "once"]


def test_invocation_that_often_failed_since_follows_one_that_works() -> None:
    failing = [run("flaky", days=1), *(run("flaky", "failed", path=path) for path in FACTS)]
    assert lines(*failing, run("steady", days=1)) == ["steady", "flaky"]


def test_invocations_of_the_project_come_first() -> None:
    runs = (run("npm test", path="codex/blog", days=50), run("npm run test"))

    assert lines(*runs)[0] == "npm run test"
    for project in ("/home/eva/blog", "Blog"):
        assert lines(*runs, project=project)[0] == "npm test"


def test_named_invocation_comes_before_others_of_the_program() -> None:
    assert lines(run("pytest", tier=1), run("pytest -q", tier=0, days=90), run("pytest-x", tier=2)) == [
        "pytest -q",
        "pytest",
        "pytest-x",
    ]


def test_run_without_a_time_has_the_time_of_its_session() -> None:
    step = run("make", path="codex/blog")
    (command,), _ = rank_invocations([step._replace(row=step.row._replace(time_ms=0))], "")

    assert command.last_ms == NOW_MS - DAY_MS
