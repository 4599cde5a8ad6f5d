"""`memctl doctor`: findings from reports and replies, their display, and the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from memd.cli.checks.agents import check_memory
from memd.cli.checks.installation import (
    OK,
    WARNING,
    WRONG,
    Finding,
    check_clock,
    check_folders,
    check_leftovers,
    check_programs,
    check_settings,
)
from memd.cli.doctor import finding_lines
from memd_client.errors import DaemonStartError
from memd_client.messages import (
    AccountStatus,
    Check,
    Degradation,
    DownloadStatus,
    Problem,
    SkippedFile,
    StatusReply,
)
from tests.unit.cli.memctl_runner import MAIN, MINILM, NOW_MS, OUTAGE, memctl, status_of

Report = dict[str, Any]

ROW: Report = {
    "agent": "main",
    "enabled": True,
    "workspace": "/home/ann/my notes",
    "index": "/home/ann/.openclaw/memory/main.memd.sqlite",
    "index_bytes": 5_300_000,
    "problems": [],
    "workspace_missing": False,
    "files": 54,
    "bytes": 200_000,
    "folders": 4,
    "skipped": [],
    "unreadable": [],
    "from_the_future": [],
    "imported": [],
    "provider": "auto",
    "provider_problem": None,
}

REPORT: Report = {
    "version": "0.1.0",
    "programs": {
        "python": "3.11.7",
        "apsw": "3.54.1.0",
        "fts5": True,
        "sqlite_vec": "v0.1.9",
        "sqlite_vec_problem": "",
        "sqlite_vec_wanted": True,
        "llama_cpp": "0.3.36",
        "fixes": {
            "apsw": "reinstall apsw",
            "sqlite-vec": "reinstall sqlite-vec",
            "llama-cpp-python": "add llama",
        },
    },
    "config": {
        "path": "/c/openclaw.json",
        "exists": True,
        "readable": True,
        "problems": [],
        "unknown_keys": [],
        "refused_keys": [],
    },
    "daemon_config": {"path": "/c/memd.toml", "exists": False, "socket": "", "problems": []},
    "folders": [
        {
            "name": "state",
            "path": "/home/ann/.openclaw",
            "exists": True,
            "is_folder": True,
            "writable": True,
            "free_bytes": 50_000_000_000,
            "device": 7,
        }
    ],
    "agents": [ROW],
    "leftovers": [],
}


def report(**parts: Any) -> Report:
    """Return a sound report with these parts replaced."""
    return REPORT | parts


def row(**facts: Any) -> Report:
    """Return a report with one agent that has these facts."""
    return report(agents=[ROW | facts])


def fixes_of(findings: list[Finding], state: str) -> list[tuple[str, str]]:
    """Return the names and fixes of the findings in a state."""
    return [(each.name, each.fix) for each in findings if each.state == state]


def test_sound_report_has_only_ok_findings() -> None:
    findings = [
        *check_programs(REPORT),
        *check_settings(REPORT),
        *check_folders(REPORT),
        *check_leftovers(REPORT),
        check_clock(REPORT, NOW_MS),
        *check_memory(REPORT, {}, None),
    ]

    assert {each.state for each in findings} == {OK}
    assert all(each.found for each in findings)


@pytest.mark.parametrize(
    ("fact", "state", "fix"),
    [
        ({"python": "3.10.2"}, WRONG, ("Python", "install Python 3.11 or later")),
        ({"fts5": False}, WRONG, ("SQLite", "reinstall apsw")),
        (
            {"sqlite_vec": "", "sqlite_vec_problem": "no such file"},
            WARNING,
            ("sqlite-vec", "reinstall sqlite-vec"),
        ),
    ],
)
def test_missing_program_is_reported_with_the_install_command(
    fact: Report, state: str, fix: tuple[str, str]
) -> None:
    findings = check_programs(report(programs=REPORT["programs"] | fact))

    assert fixes_of(findings, state) == [fix]


def test_missing_optional_library_is_ok() -> None:
    programs = REPORT["programs"] | {"llama_cpp": "", "sqlite_vec": "", "sqlite_vec_wanted": False}

    findings = check_programs(report(programs=programs))

    assert {each.state for each in findings} == {OK}
    assert findings[-1].fix == "run `add llama` (needs a C++ compiler)"


def test_invalid_setting_is_wrong_and_unknown_key_is_a_warning() -> None:
    slip = {
        "code": "config_invalid",
        "message": "/c/openclaw.json is not JSON5: line 3, column 7",
        "hint": "Correct it.",
    }
    config = REPORT["config"] | {"problems": [slip], "unknown_keys": ["agents.defaults.memorySearch.quarry"]}

    findings = check_settings(report(config=config))

    assert [(each.name, each.state) for each in findings] == [
        ("openclaw.json", WRONG),
        ("memd.toml", OK),
        ("unknown keys", WARNING),
    ]
    assert "line 3, column 7" in findings[0].found
    assert "quarry" in findings[2].found


def test_keys_that_openclaw_refuses_are_one_warning_with_their_new_place() -> None:
    keys = ["memory.search.sync", "agents.defaults.memorySearch", "agents.entries.b.compaction", "d", "e"]
    config = REPORT["config"] | {"refused_keys": keys}

    (finding,) = [each for each in check_settings(report(config=config)) if each.state != OK]

    assert (finding.name, finding.state) == ("refused keys", WARNING)
    assert "5 keys of openclaw.json: memory.search.sync" in finding.found
    assert finding.fix.startswith("move them to /c/memd.toml, to [search] for all agents")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"writable": False}, [("state", "chmod u+rwx /home/ann/.openclaw")]),
        ({"is_folder": False}, [("state", "ls -ld /home/ann/.openclaw")]),
        ({"free_bytes": 1_000_000}, [("free space", "free disk space; see `df -h /home/ann/.openclaw`")]),
    ],
)
def test_unwritable_folder_is_wrong(facts: Report, expected: list[tuple[str, str]]) -> None:
    assert fixes_of(check_folders(report(folders=[REPORT["folders"][0] | facts])), WRONG) == expected


def test_free_space_below_the_size_of_the_indexes_is_a_warning() -> None:
    agents = [ROW | {"index_bytes": 60_000_000_000}]

    findings = check_folders(report(agents=agents))

    assert [name for name, _ in fixes_of(findings, WARNING)] == ["free space"]


def test_each_disk_is_reported_once() -> None:
    folder = REPORT["folders"][0]

    findings = check_folders(report(folders=[folder, folder | {"name": "models"}]))

    assert [each.name for each in findings] == ["state", "free space", "models"]


def test_leftovers_have_a_size_and_a_command() -> None:
    path = "/home/ann/my memory/main.sqlite.corrupt-20270101T000000Z"
    rows = [{"kind": "damaged index", "path": path, "bytes": 5_300_000}]

    (finding,) = check_leftovers(report(leftovers=rows))

    assert finding.state == WARNING
    assert "5.30 MB" in finding.found
    assert f"run `rm '{path}'`" in finding.fix


KEYLESS = {"code": "provider_unavailable", "message": "no key for openai", "hint": "Set OPENAI_API_KEY."}


@pytest.mark.parametrize(
    ("facts", "state", "expected"),
    [
        (
            {"workspace_missing": True},
            WRONG,
            [("workspace", "run `mkdir -p '/home/ann/my notes'`, or correct `workspace` in openclaw.json")],
        ),
        ({"unreadable": ["memory/a.md"]}, WRONG, [("permissions", "chmod -R u+r '/home/ann/my notes'")]),
        ({"provider": "openai", "provider_problem": KEYLESS}, WRONG, [("provider", "Set OPENAI_API_KEY.")]),
        ({"provider_problem": KEYLESS}, WARNING, [("provider", "Set OPENAI_API_KEY.")]),
        (
            {"problems": [{"code": "config_invalid", "message": "bad", "hint": "Correct it."}]},
            WRONG,
            [("settings", "Correct it.")],
        ),
        ({"enabled": False, "workspace_missing": True}, WRONG, []),
    ],
)
def test_without_a_daemon_settings_and_files_are_checked(
    facts: Report, state: str, expected: list[tuple[str, str]]
) -> None:
    assert fixes_of(check_memory(row(**facts), {}, None), state) == expected


COPIED: Report = {
    "program": "basic-memory",
    "folder": "/home/ann/my ideas",
    "copies": "memory/imported/basic-memory/ideas",
    "label": "ideas",
    "exists": True,
    "files": 3,
    "only_here": [],
    "source": "basic-memory-ideas",
    "path": "/home/ann/my ideas",
    "is_source": False,
}
STALE = f"3 notes in {COPIED['copies']}, imported from {COPIED['folder']}: copies go stale"


@pytest.mark.parametrize(
    ("facts", "found", "fix"),
    [
        (
            {},
            STALE,
            "run `memctl sources add basic-memory-ideas --path '/home/ann/my ideas' --agent main`, "
            "then delete the copies",
        ),
        (
            {"source": "basic-memory", "path": ""},
            STALE,
            "run `memctl sources add basic-memory --agent main`, then delete the copies",
        ),
        ({"is_source": True}, STALE, "delete the copies"),
        (
            {"is_source": True, "only_here": ["memory/imported/basic-memory/ideas/tea.md"]},
            f"{STALE}; edited, or without their source: memory/imported/basic-memory/ideas/tea.md",
            "move those that are only here out of memory/imported, and delete the other copies",
        ),
    ],
)
@pytest.mark.parametrize("status", [None, status_of(MAIN)])
def test_imported_notes_are_reported_with_the_source_that_replaces_them(
    facts: Report, found: str, fix: str, status: StatusReply | None
) -> None:
    findings = check_memory(row(imported=[COPIED | facts]), {}, status)

    (finding,) = [each for each in findings if each.name == "imported"]
    assert (finding.state, finding.found, finding.fix) == (WARNING, found, fix)


def test_imported_notes_without_their_folder_need_no_action() -> None:
    findings = check_memory(row(imported=[COPIED | {"exists": False}]), {}, None)

    (finding,) = [each for each in findings if each.name == "imported"]
    assert (finding.state, finding.fix) == (OK, "")
    assert finding.found.endswith("imported from /home/ann/my ideas, which no longer exists")


def test_skipped_files_are_listed_with_their_reason() -> None:
    skipped = [{"path": f"memory/{name}.md", "reason": "not UTF-8"} for name in "abcde"]

    (finding,) = [each for each in check_memory(row(skipped=skipped), {}, None) if each.state == WARNING]

    assert finding.found == (
        "5 files not indexed, or only in part: memory/a.md, memory/b.md, memory/c.md and 2 more; the first: not UTF-8"
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("sound", OK),
        ("missing", OK),
        ("foreign", OK),
        ("index_corrupt", WRONG),
        ("index_newer", WRONG),
        ("odd", WRONG),
    ],
)
def test_without_a_daemon_index_files_are_checked(state: str, expected: str) -> None:
    indexes = {"indexes": [{"agent": "main", "path": "/m/main.sqlite", "state": state, "detail": ""}]}

    (finding,) = [each for each in check_memory(REPORT, indexes, None) if each.name == "index"]

    assert finding.state == expected
    assert bool(finding.fix) == (expected == WRONG)


def test_with_a_daemon_its_status_is_used() -> None:
    keyless_here = row(provider="openai", provider_problem=KEYLESS)

    assert {each.state for each in check_memory(keyless_here, {}, status_of(MAIN))} == {OK}


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
    findings = check_memory(REPORT, {}, status_of(agent))

    assert [(each.name, each.state) for each in findings if each.state != OK] == [(name, state)]


def test_pending_vectors_are_ok() -> None:
    waiting = Degradation("vectors_pending", "no vectors yet", NOW_MS, "Wait.")
    agent = replace(MAIN, degraded=waiting, vectors=0, checks=[Check("vectors", False, "none yet")])

    assert {each.state for each in check_memory(REPORT, {}, status_of(agent))} == {OK}


def test_shared_resources_are_reported_once() -> None:
    status = status_of(
        MAIN,
        models=[replace(MINILM, state="failed", problem="killed")],
        downloads=[DownloadStatus("hf:a/b/c.gguf", "failed", "download", 1, 2, "no room")],
        accounts=[AccountStatus("openai", "paused", 1, 2, "provider_auth", "401", 1, 2)],
    )

    findings = [each for each in check_memory(REPORT, {}, status) if each.state != OK]

    assert [(each.name, each.state) for each in findings] == [
        ("model", WRONG),
        ("download", WARNING),
        ("account", WARNING),
    ]


FINDINGS = [
    Finding("installation", "Python", OK, "3.11.7"),
    Finding("daemon", "answers", WRONG, "pid 42 hangs", "kill -9 42"),
    Finding("installation", "SQLite", WARNING, "old", "Upgrade it."),
]


def test_findings_are_shown_by_area_with_symbol_and_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: FINDINGS)

    ran = memctl("doctor")

    assert ran.code == 1
    assert ran.opened == 0
    assert ran.out == (
        "installation\n"
        "  ✓ Python          3.11.7\n"
        "  ! SQLite          old\n"
        "                    hint: Upgrade it.\n"
        "\n"
        "daemon\n"
        "  ✗ answers         pid 42 hangs\n"
        "                    hint: kill -9 42\n"
        "\n"
        "1 problem, 1 warning, 3 checks\n"
    )


@pytest.mark.parametrize(("state", "code"), [(OK, 0), (WARNING, 0), (WRONG, 1)])
def test_only_problems_exit_with_1(state: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: [Finding("a", "b", state, "c")])

    ran = memctl("doctor", "--json")

    assert ran.code == code
    assert json.loads(ran.out) == {
        "ok": state != WRONG,
        "wrong": int(state == WRONG),
        "warnings": int(state == WARNING),
        "findings": [{"area": "a", "name": "b", "state": state, "found": "c", "fix": ""}],
    }


def test_encoding_without_the_symbols_gets_letters() -> None:
    plain = [each.head for each in finding_lines(FINDINGS, plain=True) if each.head]

    assert plain == [("  ok Python ", "good"), ("  ! SQLite ", "warn"), ("  x answers ", "bad")]


def test_start_starts_the_daemon_and_a_failure_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: [])

    started = memctl("doctor", "--start", status=status_of(MAIN))
    failed = memctl("doctor", "--start", refused=DaemonStartError("it ended with status 1"))

    assert (started.code, started.opened) == (0, 1)
    assert (failed.code, "it ended with status 1" in failed.out) == (1, True)
