"""The service files are accepted by the systems they are for, and keep the socket private."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SERVICE = ROOT / "systemd" / "memd.service"
SOCKET = ROOT / "systemd" / "memd.socket"
PLIST = ROOT / "launchd" / "ai.memd.daemon.plist"


def _unit(path: Path) -> configparser.ConfigParser:
    """Return a unit file's sections; its keys are case-sensitive and `%` stands for itself."""
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(path.read_text("utf-8"))
    return unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_both_units(tmp_path: Path) -> None:
    for path in (SERVICE, SOCKET):
        shutil.copy(path, tmp_path)

    checked = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(tmp_path / SERVICE.name), str(tmp_path / SOCKET.name)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def test_the_socket_is_where_clients_look_and_its_users_alone() -> None:
    socket = _unit(SOCKET)["Socket"]

    assert socket["ListenStream"] == "%t/memd/memd.sock"
    assert (socket["SocketMode"], socket["DirectoryMode"]) == ("0600", "0700")


def test_the_service_says_when_it_is_ready_and_outlives_its_models_process() -> None:
    unit = _unit(SERVICE)

    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["OOMPolicy"] == "continue"
    assert unit["Service"]["UMask"] == "0077"
    assert unit["Unit"]["Requires"] == unit["Install"]["Also"] == "memd.socket"


def test_launchd_gets_a_valid_agent_that_is_restarted_after_a_crash() -> None:
    agent = plistlib.loads(PLIST.read_bytes())

    assert agent["Label"] == PLIST.stem
    assert agent["ProgramArguments"][-1] == "memd"
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["Umask"] == 0o077
