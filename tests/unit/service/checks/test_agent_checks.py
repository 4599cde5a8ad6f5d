"""Checks of agents by the daemon's status, and by the report without one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import asdict, replace

from memd.service.checks.agents import check_agents
from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd_client.messages import (
    AccountStatus,
    Check,
    Degradation,
    DownloadStatus,
    Problem,
    SkippedFile,
    SourceStatus,
    UnknownType,
)
from tests.unit.cli.memctl_runner import MAIN, MINILM, NOW_MS, OUTAGE, status_of

KEYLESS = Finding("agent main", "provider", WRONG, "no key for openai", "set OPENAI_API_KEY")
COPIED = Finding("agent main", "imported", WARNING, "copies go stale", "delete the copies")
REPORT: dict[str, Any] = {
    "agents": [
        {"agent": "main", "provider": "openai", "settings": [asdict(KEYLESS)], "notes": [asdict(COPIED)]}
    ]
}


def test_status_of_the_daemon_replaces_findings_on_settings() -> None:
    faults = [each for each in check_agents(REPORT, status_of(MAIN)) if each.state != OK]

    assert faults == [COPIED]
    assert check_agents(REPORT, None) == [KEYLESS, COPIED]


@pytest.mark.parametrize(("configured", "state"), [("auto", WARNING), ("openai", WRONG)])
def test_missing_provider_is_wrong_unless_it_is_optional(configured: str, state: str) -> None:
    agent = replace(MAIN, degraded=Degradation("provider_unavailable", "no key", NOW_MS, "set one"))
    report = {"agents": [{"agent": "main", "provider": configured, "settings": [], "notes": []}]}

    (fault,) = [each for each in check_agents(report, status_of(agent)) if each.state != OK]

    assert (fault.name, fault.state) == ("provider", state)


LONG = 11 * 60_000


@pytest.mark.parametrize(
    ("agent", "state", "name"),
    [
        (replace(MAIN, degraded=OUTAGE), WRONG, "provider"),
        (replace(MAIN, problems=[Problem("workspace_missing", "no folder", "Create it.")]), WRONG, "problem"),
        (replace(MAIN, problems=[Problem("index_corrupt", "was damaged", "rm it")]), WARNING, "problem"),
        (replace(MAIN, checks=[Check("keyword index", False, "disk I/O error")]), WRONG, "keyword index"),
        (replace(MAIN, chunks_pending=4, oldest_pending_ms=LONG), WARNING, "pending"),
        (replace(MAIN, watch="polling", watch_reason="out of watches"), WARNING, "watching"),
        (replace(MAIN, skipped=[SkippedFile("memory/a.md", "not UTF-8")]), WARNING, "skipped"),
    ],
)
def test_findings_follow_the_status_of_an_agent(agent: Any, state: str, name: str) -> None:
    findings = check_agents({}, status_of(agent))

    assert [(each.name, each.state) for each in findings if each.state != OK] == [(name, state)]


def test_pending_vectors_are_ok() -> None:
    waiting = Degradation("vectors_pending", "no vectors yet", NOW_MS, "Wait.")
    agent = replace(MAIN, degraded=waiting, vectors=0, checks=[Check("vectors", False, "none yet")])

    assert {each.state for each in check_agents({}, status_of(agent))} == {OK}


def test_problem_of_a_model_that_works_is_a_warning() -> None:
    problem = "llama-cpp-python was built without GPU support: local.gpuLayers = 12 has no effect"
    status = status_of(MAIN, models=[replace(MINILM, problem=problem)])

    [finding] = [each for each in check_agents({}, status) if each.state != OK]

    assert (finding.state, finding.found) == (WARNING, f"minilm: {problem}")
    assert finding.fix == "see docs/local-models.md"


def test_shared_resources_are_reported_once() -> None:
    status = status_of(
        MAIN,
        models=[replace(MINILM, state="failed", problem="killed")],
        downloads=[DownloadStatus("hf:a/b/c.gguf", "failed", "download", 1, 2, "no room")],
        accounts=[AccountStatus("openai", "paused", 1, 2, "provider_auth", "401", 1, 2)],
    )

    findings = [each for each in check_agents({}, status) if each.state != OK]

    assert [(each.name, each.state) for each in findings] == [
        ("model", WRONG),
        ("download", WARNING),
        ("account", WARNING),
    ]


def source_with(*types: UnknownType, title: str = "Claude Code") -> SourceStatus:
    """Return a source with records of unknown types."""
    total = sum(kind.records for kind in types)
    return SourceStatus(
        "claude-code", title, "transcripts", "main", files=3, unknown=total, unknown_types=[*types]
    )


def test_unknown_types_of_a_source_are_a_warning_with_their_releases() -> None:
    source = source_with(
        UnknownType("progress-v2", 1_100, "2.1.340"), UnknownType("foo", 1, "2.1.338"), UnknownType("", 1)
    )

    (fault,) = [
        each for each in check_agents({}, status_of(replace(MAIN, added=[source]))) if each.state != OK
    ]

    assert (fault.name, fault.state) == ("source claude-code", WARNING)
    assert fault.found == (
        "claude-code: 1,102 records of unknown types: progress-v2 (1,100, Claude Code 2.1.340), foo (1, 2.1.338), "
        "no name (1)"
    )
    assert "upgrade memd" in fault.fix


def test_of_many_unknown_types_the_most_frequent_ones_are_named() -> None:
    source = source_with(*(UnknownType(f"type-{number}", 9 - number) for number in range(8)))

    (fault,) = [
        each for each in check_agents({}, status_of(replace(MAIN, added=[source]))) if each.state != OK
    ]

    assert fault.found.endswith("type-3 (6), type-4 (5), 3 more")


def test_source_without_unknown_types_has_no_warning() -> None:
    findings = check_agents({}, status_of(replace(MAIN, added=[source_with()])))

    assert [each.name for each in findings if each.state != OK] == []
