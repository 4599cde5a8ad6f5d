"""`memctl service`: from the command line to the commands of a service manager."""

from __future__ import annotations

import json
import os
import plistlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service.install import machine
from memd.service.lock import DaemonLock
from memd_client.errors import ProtocolMismatchError
from memd_client.state_folder import daemon_name
from tests.support.state_homes import StateHome
from tests.unit.cli.memctl_runner import memctl
from tests.unit.service.machines import FakeManagers

ACTIVE = "LoadState=loaded\\nActiveState=active\\nSubState=running\\nResult=success\\nMainPID=4242\\n"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[StateHome]:
    """A user without an installed service; the state folder is the default one, under another name."""
    with StateHome() as home:
        (home.root / ".openclaw").symlink_to(home.state)
        for name, value in home.environ().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOME", str(home.root))
        monkeypatch.setenv("MEMD_MODEL_DIR", str(home.root / "models"))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        yield home


@pytest.fixture
def units(home: StateHome) -> Path:
    """The folder of the units."""
    return home.root / ".config" / "systemd" / "user"


def _managers(home: StateHome, monkeypatch: pytest.MonkeyPatch, **options: object) -> FakeManagers:
    """Put fake service managers on PATH."""
    managers = FakeManagers(home.root / "managers", **options)  # type: ignore[arg-type]
    monkeypatch.setenv("PATH", managers.path)
    return managers


def test_install_and_uninstall_are_idempotent(
    home: StateHome, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managers = _managers(home, monkeypatch)

    first = memctl("service", "install")
    texts = {each.name: each.read_text() for each in units.iterdir()}
    second = memctl("service", "install")
    removed = memctl("service", "uninstall")
    again = memctl("service", "uninstall")

    assert [ran.code for ran in (first, second, removed, again)] == [0, 0, 0, 0]
    assert sorted(texts) == ["memd.service", "memd.socket"]
    assert f"ListenStream={home.socket}" in texts["memd.socket"]
    assert f"Environment=OPENCLAW_STATE_DIR={home.state}" in texts["memd.service"]
    assert f"write {units}/memd.service\n" in first.out
    assert "write" not in second.out
    assert list(units.iterdir()) == []
    assert "is not installed" in again.err
    assert managers.calls() == [
        *["systemctl --user daemon-reload",
          "systemctl --user enable memd.socket memd.service",
          "systemctl --user start memd.socket memd.service"] * 2,
        "systemctl --user disable --now memd.socket memd.service",
        "systemctl --user daemon-reload",
    ]  # fmt: skip


def test_another_state_folder_has_a_service_of_its_own(
    home: StateHome, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch)
    memctl("service", "install")
    texts = {each.name: each.read_text() for each in units.iterdir()}
    work = home.root / ".openclaw-work"
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(work))
    monkeypatch.delenv("MEMD_SOCKET")
    name = daemon_name({"OPENCLAW_STATE_DIR": str(work)}, lambda: str(home.root))

    assert json.loads(memctl("service", "status", "--json").out)["installed"] is False
    assert memctl("service", "install").code == 0

    found = {each.name: each.read_text() for each in units.iterdir()}
    assert {each: found.pop(each) for each in texts} == texts, "the first service is unchanged"
    assert sorted(found) == [f"{name}.service", f"{name}.socket"]
    assert f"ListenStream=%t/memd/{name}.sock" in found[f"{name}.socket"]
    service = found[f"{name}.service"]
    assert f"Environment=OPENCLAW_STATE_DIR={work}" in service
    assert [f"{key}={name}.socket" in service for key in ("Requires", "After", "Also")] == [True] * 3
    assert "memd.socket" not in service

    assert memctl("service", "uninstall").code == 0
    assert {each.name: each.read_text() for each in units.iterdir()} == texts


def test_another_state_folder_has_a_launch_agent_of_its_own(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch, fails=("launchctl print",))
    monkeypatch.setattr(machine, "platform", lambda: "darwin")
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(home.root / ".openclaw-work"))
    name = daemon_name(os.environ, lambda: str(home.root))

    assert memctl("service", "install").code == 0

    label = f"ai.memd.daemon{name.removeprefix('memd')}"
    (plist,) = (home.root / "Library" / "LaunchAgents").iterdir()
    assert label != "ai.memd.daemon"
    assert plist.name == f"{label}.plist"
    agent = plistlib.loads(plist.read_bytes())
    assert agent["Label"] == label
    assert agent["StandardErrorPath"] == str(home.root / "Library" / "Logs" / "memd" / f"{name}.log")


def test_dry_run_prints_all_steps_and_changes_nothing(
    home: StateHome, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managers = _managers(home, monkeypatch)

    dry = memctl("service", "install", "--dry-run")
    unchanged = not units.exists() and managers.calls() == []
    wet = memctl("service", "install")

    assert unchanged
    assert [each for each in dry.out.splitlines() if not each.startswith("    ")] == wet.out.splitlines()
    for unit in units.iterdir():
        assert "".join(f"    {each}\n" for each in unit.read_text().splitlines()) in dry.out


def test_edited_unit_is_kept_as_a_backup(
    home: StateHome, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch)
    units.mkdir(parents=True)
    (units / "memd.service").write_text("[Service]\nExecStart=mine\n")

    ran = memctl("service", "install")

    assert ran.code == 0
    assert (units / "memd.service.bak").read_text() == "[Service]\nExecStart=mine\n"
    assert "which memctl did not write" in ran.out


def test_unit_has_no_namespace_options_if_namespaces_are_not_permitted(
    home: StateHome, units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch, fails=("systemd-run",))

    ran = memctl("service", "install")

    assert "PrivateUsers" not in (units / "memd.service").read_text()
    assert "less hardening" in ran.err


def test_failed_systemd_command_is_an_error_with_its_output(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch, fails=("systemctl --user enable",))

    ran = memctl("service", "install")

    assert ran.code == 1
    assert "`systemctl --user enable memd.socket memd.service` failed: no, not that" in ran.err
    assert "code: service_failed" in ran.err


def test_installed_service_is_started_stopped_and_restarted_by_systemd(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    managers = _managers(home, monkeypatch)
    memctl("service", "install")
    before = len(managers.calls())

    codes = [memctl("service", each).code for each in ("start", "restart", "stop")]

    assert codes == [0, 0, 0]
    assert managers.calls()[before:] == [
        "systemctl --user start memd.socket memd.service",
        "systemctl --user reset-failed memd.socket memd.service",
        "systemctl --user restart memd.service",
        "systemctl --user stop memd.socket memd.service",
    ]


def test_daemon_without_the_service_is_reported_with_a_hint(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch)
    with DaemonLock.acquire(home.socket) as lock:
        pid = Path(lock.path).read_text().strip()
        installed = memctl("service", "install")
        started = memctl("service", "start")

    assert installed.code == 0
    assert "systemctl --user start" not in installed.out
    assert f"pid {pid}" in installed.err
    assert started.code == 1
    assert f"pid {pid}" in started.err
    assert "`memctl service restart`" in started.err


def test_hint_for_different_releases_is_an_existing_command() -> None:
    assert "`memctl service restart`" in ProtocolMismatchError.hint
    assert memctl("service", "restart", "--help").code == 0


def test_status_shows_whether_the_service_runs_the_daemon(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch, says={"systemctl --user show memd.service": ACTIVE})
    memctl("service", "install")
    with DaemonLock.acquire(home.socket):
        shown = memctl("service", "status")
        document = json.loads(memctl("service", "status", "--json").out)

    assert "systemd · installed · active (running)" in shown.out
    assert "not as the service" in shown.out
    assert (document["manager"], document["installed"], document["service_pid"]) == ("systemd", True, 4242)
    assert document["daemon_pid"] != document["service_pid"]
    assert document["edited"] == []
    assert document["socket"] == str(home.socket)


def test_status_without_service_and_daemon_succeeds(home: StateHome, monkeypatch: pytest.MonkeyPatch) -> None:
    _managers(home, monkeypatch)

    ran = memctl("service", "status")

    assert ran.code == 0
    assert "systemd · not installed" in ran.out
    assert "not running" in ran.out


def test_logs_of_a_background_process_are_next_to_its_socket(
    home: StateHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    _managers(home, monkeypatch)
    missing = memctl("service", "logs")
    home.socket.parent.mkdir(mode=0o700)
    log = home.socket.with_suffix(".log")
    log.write_text("{}\n")

    ran = memctl("service", "logs")

    assert missing.code == 1
    assert str(log) in missing.err
    assert (ran.code, ran.out) == (0, "{}\n")


def test_install_on_macos_writes_a_launch_agent(home: StateHome, monkeypatch: pytest.MonkeyPatch) -> None:
    managers = _managers(home, monkeypatch, fails=("launchctl print",))
    monkeypatch.setattr(machine, "platform", lambda: "darwin")

    ran = memctl("service", "install")

    plist = home.root / "Library" / "LaunchAgents" / "ai.memd.daemon.plist"
    assert ran.code == 0
    assert plist.is_file()
    assert [each.split()[1] for each in managers.calls()] == ["enable", "bootstrap"]
