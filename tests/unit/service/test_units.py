"""The service files are valid and keep the socket private."""

from __future__ import annotations

import configparser
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from memd_client.discovery import EXIT_ALREADY_RUNNING

ROOT = Path(__file__).parents[3]
SERVICE = ROOT / "systemd" / "memd.service"
SOCKET = ROOT / "systemd" / "memd.socket"
PLIST = ROOT / "launchd" / "ai.memd.daemon.plist"
PACKAGED = ROOT / "daemon" / "memd" / "service" / "units"

MOST_EXPOSURE = 4.0
"""Exposure of 10 as computed by systemd, which calls a service below 5 well protected."""

needs_systemd_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def _unit(path: Path) -> configparser.ConfigParser:
    """Return a unit file's sections; the last value of a repeated key."""
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(path.read_text("utf-8"))
    return unit


@pytest.mark.parametrize("path", [SERVICE, SOCKET, PLIST], ids=lambda path: path.name)
def test_files_for_manual_install_equal_the_templates(path: Path) -> None:
    assert (PACKAGED / path.name).read_bytes() == path.read_bytes(), f"copy {PACKAGED / path.name} to {path}"
    assert len(list(PACKAGED.iterdir())) == 3


def test_released_package_contains_the_templates() -> None:
    builder = WheelBuilder(str(ROOT / "daemon"))

    carried = {each.distribution_path for each in builder.recurse_included_files()}

    assert {f"memd/service/units/{path.name}" for path in (SERVICE, SOCKET, PLIST)} <= carried


@needs_systemd_analyze
def test_systemd_accepts_both_units(tmp_path: Path, short_path: Path) -> None:
    for path in (SERVICE, SOCKET):
        shutil.copy(path, tmp_path)

    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(tmp_path / SERVICE.name), str(tmp_path / SOCKET.name)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(short_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


@needs_systemd_analyze
def test_service_has_a_low_exposure() -> None:
    checked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(SERVICE)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    found = re.search(r"Overall exposure level for memd\.service: ([0-9.]+)", checked.stdout)
    assert found, checked.stderr
    assert float(found[1]) <= MOST_EXPOSURE


def test_socket_has_the_clients_path_and_is_private() -> None:
    socket = _unit(SOCKET)["Socket"]

    assert socket["ListenStream"] == "%t/memd/memd.sock"
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


def test_service_notifies_readiness_and_survives_its_models_process() -> None:
    unit = _unit(SERVICE)

    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["OOMPolicy"] == "continue"
    assert unit["Service"]["UMask"] == "0077"
    assert unit["Unit"]["Requires"] == unit["Install"]["Also"] == "memd.socket"


def test_service_restarts_after_a_crash_or_hang_but_not_if_another_daemon_runs() -> None:
    service = _unit(SERVICE)["Service"]

    assert service["Restart"] == "on-failure"
    assert service["RestartPreventExitStatus"] == str(EXIT_ALREADY_RUNNING)
    assert int(service["WatchdogSec"]) >= 30, "a machine that swaps is no machine that hangs"
    assert int(service["TimeoutStopSec"]) >= 10, "requests in flight get five seconds, indexes are closed"


def test_launch_agent_is_valid_and_restarts_after_a_crash() -> None:
    agent = plistlib.loads(PLIST.read_bytes())

    assert agent["Label"] == PLIST.stem
    assert agent["ProgramArguments"][-1] == "memd"
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["Umask"] == 0o077
    assert agent["RunAtLoad"] is True
    assert agent["Umask"] == 0o077
