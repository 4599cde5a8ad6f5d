"""`memctl doctor` and `memctl logs` on real homes, with and without a real daemon."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config

KEY = "sk-canary-0123456789abcdef"

SLOW_IMPORTS = frozenset(
    "asyncio apsw httpx llama_cpp memd.service.install.plan numpy plistlib rich sqlite3 sqlite_vec "
    "subprocess trio".split()
)
"""Slow imports that only a daemon or a separate process needs."""


@pytest.fixture
def home() -> Iterator[StateHome]:
    """A home with a note, for keyword search."""
    with StateHome(KEYWORD_ONLY) as made:
        made.note("MEMORY.md", "# Flat\nThe lease ends in June.\n")
        yield made


@pytest.fixture
def daemon(home: StateHome, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon, not yet started, with a models directory of its own."""
    handle = DaemonProcess(
        home, {"MEMD_MODEL_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    )
    yield handle
    handle.stop()


def run_doctor(daemon: DaemonProcess, code: int) -> list[dict[str, Any]]:
    """Return the findings of the doctor, which must end with `code`."""
    ran = daemon.memctl("doctor", "--json")
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ran.stderr == ""
    findings: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]
    return findings


def findings_in_state(findings: list[dict[str, Any]], state: str) -> list[tuple[str, str]]:
    """Return area and name of the findings in a state."""
    return [(each["area"], each["name"]) for each in findings if each["state"] == state]


def test_sound_installation_with_a_daemon_has_no_problem_and_its_log_is_found(daemon: DaemonProcess) -> None:
    daemon.start()
    daemon.wait_for(lambda status: not status.agents[0].files_pending and status.agents[0].files)

    findings = run_doctor(daemon, 0)
    logs = daemon.memctl("logs", "--json", "-n", "1000")

    assert findings_in_state(findings, "wrong") == []
    assert [each["found"] for each in findings if each["name"] == "answers"] == [
        f"memd 0.1.0, pid {daemon.pid}"
    ]
    assert "daemon.ready" in [json.loads(line).get("event") for line in logs.stdout.splitlines()]


def test_doctor_queries_a_running_daemon_and_imports_no_engine(
    daemon: DaemonProcess, home: StateHome
) -> None:
    home.configure({"agents": {"defaults": {"memorySearch": {"provider": "none", "quarry": 1}}}})
    daemon.start()
    daemon.wait_for(lambda status: not status.agents[0].files_pending and status.agents[0].files)

    ran = daemon.memctl("doctor", "--json", environ={"PYTHONPROFILEIMPORTTIME": "1"})

    names = {found["name"] for found in json.loads(ran.stdout)["findings"]}
    imported = {row.rpartition("|")[2].strip() for row in ran.stderr.splitlines()}
    assert {
        "Python",
        "SQLite",
        "sqlite-vec",
        "llama.cpp",
        "unknown keys",
        "free space",
        "leftovers",
        "clock",
    } <= names
    assert "memd.service.checks.daemon" in imported
    assert sorted(imported & SLOW_IMPORTS) == []


def test_doctor_report_is_the_same_from_a_daemon_and_a_separate_process(daemon: DaemonProcess) -> None:
    daemon.start()
    daemon.wait_for(lambda status: not status.agents[0].files_pending and status.agents[0].files)

    of_daemon = json.loads(daemon.memctl("status", "--deep", "--json").stdout)["installation"]
    of_process = json.loads(
        daemon.run("-P", "-m", "memd.service.checks.report", "settings", str(daemon.pid)).stdout
    )

    assert of_daemon.keys() == of_process.keys()
    assert of_daemon["daemon_config"] == of_process["daemon_config"]
    for part in ("findings", "agents"):
        assert len(of_daemon[part]) == len(of_process[part])
    settings = [
        [each for each in made["findings"] if each["area"] == "settings"] for made in (of_daemon, of_process)
    ]
    assert settings[0] == settings[1]


@pytest.mark.long
def test_hanging_daemon_is_a_problem_and_a_killed_daemon_is_not(daemon: DaemonProcess) -> None:
    daemon.start()
    pid = daemon.pid
    os.kill(pid, signal.SIGSTOP)
    hanging = run_doctor(daemon, 1)
    os.kill(pid, signal.SIGCONT)
    daemon.kill()
    killed = run_doctor(daemon, 0)

    assert findings_in_state(hanging, "wrong") == [("daemon", "answers")]
    assert f"kill -9 {pid}" in next(each["fix"] for each in hanging if each["name"] == "answers")
    assert ("daemon", "answers") in findings_in_state(killed, "warning")
    assert any("is sound" in each["found"] for each in killed if each["name"] == "index")


def test_invalid_settings_without_a_daemon_are_found_and_no_daemon_is_started(
    daemon: DaemonProcess, home: StateHome
) -> None:
    home.configure('{\n  "agents": {,}\n}')
    (home.root / "memd.toml").write_text('log_level = "loud"\ncolour = 3\n')

    findings = run_doctor(daemon, 1)

    wrong = [each["found"] for each in findings if each["state"] == "wrong" and each["area"] == "settings"]
    assert len(wrong) == 3
    assert any("line 2" in text for text in wrong)
    assert any("log_level" in text for text in wrong)
    assert any("colour" in text for text in wrong)
    assert not home.socket.parent.exists()


def test_damaged_index_missing_files_and_leftovers_are_found(daemon: DaemonProcess, home: StateHome) -> None:
    daemon.start()
    daemon.wait_for(lambda status: not status.agents[0].files_pending and status.agents[0].files)
    daemon.stop()
    index = home.state / "memory/main.memd.sqlite"
    octets = bytearray(index.read_bytes())
    octets[4096:20_480] = b"\x55" * 16_384
    index.write_bytes(octets)
    index.with_name("main.memd.sqlite.corrupt-20260101T000000Z").write_bytes(b"x" * 2000)
    home.note("memory/odd.md", "x")
    os.utime(home.workspace() / "memory/odd.md", (2e9 + 1e9, 2e9 + 1e9))
    home.configure(agents_config(home.state, "work"))

    findings = run_doctor(daemon, 1)

    assert ("agent main", "index") in findings_in_state(findings, "wrong")
    assert ("agent work", "workspace") in findings_in_state(findings, "wrong")
    assert ("disk", "leftovers") in findings_in_state(findings, "warning")
    assert ("machine", "clock") in findings_in_state(findings, "warning")


def test_api_key_is_detected_and_never_shown(daemon: DaemonProcess, home: StateHome) -> None:
    home.workspace("work").mkdir()
    config = agents_config(
        home.state, "work", memory_search={"provider": "openai", "remote": {"apiKey": KEY}}
    )
    config["agents"]["list"][1]["memorySearch"] = {"remote": {"apiKey": f"{KEY}\nbroken"}}
    home.configure(config)

    ran = daemon.memctl("doctor")

    assert ran.returncode == 1
    assert "✓ provider        openai, usable" in ran.stdout
    assert "✗ provider        " in ran.stdout
    assert "agent work\n" in ran.stdout
    assert KEY not in ran.stdout + ran.stderr
