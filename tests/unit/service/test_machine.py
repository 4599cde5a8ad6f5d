"""The service manager, and the state of the service."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from memd.service.install import machine
from memd.service.install.machine import (
    CommandResult,
    check_installable,
    find_command,
    inspect_machine,
    probe_namespaces,
)
from memd.service.install.plan import Machine
from memd_client.errors import ServiceFailedError, ServiceUnavailableError

SHOWN = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=4242\n"


class Manager:
    """A service manager with scripted results, by the last word before the options of a call."""

    def __init__(self, answers: Mapping[str, CommandResult]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str]) -> CommandResult:
        self.asked.append(tuple(argv))
        known = [answer for word, answer in self.answers.items() if word in argv]
        return known[0] if known else CommandResult(1, "", "no answer")


@pytest.fixture
def environ(tmp_path: Path, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An empty home on a system with `systemctl` that was not booted by systemd."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "systemctl").write_text("#!/bin/sh\n")
    (tools / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(machine, "BOOTED", str(tmp_path / "booted"))
    monkeypatch.setattr(machine, "platform", lambda: "linux")
    return {"HOME": str(tmp_path / "home"), "MEMD_SOCKET": str(short_path / "s")}


def _write_unit(environ: dict[str, str], text: str = "[Service]\n") -> Path:
    """Write a unit into the user's folder, and return its path."""
    unit = Path(environ["HOME"]) / ".config" / "systemd" / "user" / "memd.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(text)
    return unit


def test_running_systemd_is_used(environ: dict[str, str]) -> None:
    unit = _write_unit(environ)

    found = inspect_machine(
        environ, Manager({"show-environment": CommandResult(0, "", ""), "show": CommandResult(0, SHOWN, "")})
    )

    assert (found.kind, found.installed, found.loaded) == ("systemd", True, True)
    assert (found.state, found.service_pid, found.holder_pid) == ("active (running)", 4242, 0)
    assert found.files == {str(unit): "[Service]\n"}
    check_installable(found)


def test_units_folder_follows_the_configuration_folder(environ: dict[str, str], tmp_path: Path) -> None:
    answers = {"show-environment": CommandResult(0, "", ""), "show": CommandResult(0, "", "")}

    found = inspect_machine({**environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}, Manager(answers))

    assert found.folder == str(tmp_path / "config" / "systemd" / "user")
    assert (found.installed, found.loaded, found.service_pid) == (False, False, 0)


def test_units_of_a_distribution_count_as_installed(environ: dict[str, str]) -> None:
    found = inspect_machine(
        environ, Manager({"show-environment": CommandResult(0, "", ""), "show": CommandResult(0, SHOWN, "")})
    )

    assert (found.installed, found.files) == (True, {})


def test_backup_gets_an_unused_name(environ: dict[str, str]) -> None:
    unit = _write_unit(environ)
    Path(f"{unit}.bak").write_text("an earlier copy")

    found = inspect_machine(
        environ, Manager({"show-environment": CommandResult(0, "", ""), "show": CommandResult(0, SHOWN, "")})
    )

    assert found.free_names == {str(unit): f"{unit}.bak2"}


def test_without_a_manager_install_is_refused(environ: dict[str, str]) -> None:
    found = inspect_machine(environ, Manager({}))

    assert found.kind == "none"
    with pytest.raises(ServiceUnavailableError, match="neither systemd nor launchd") as caught:
        check_installable(found)
    assert "`memctl service start`" in caught.value.hint


def test_systemd_without_a_user_instance_is_an_error_with_a_hint(environ: dict[str, str]) -> None:
    Path(machine.BOOTED).mkdir()

    with pytest.raises(ServiceUnavailableError, match="no user instance") as caught:
        check_installable(inspect_machine(environ, Manager({})))

    assert "loginctl enable-linger" in caught.value.hint
    assert f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}" in caught.value.hint


def test_installed_service_without_a_user_instance_is_an_error(environ: dict[str, str]) -> None:
    Path(machine.BOOTED).mkdir()
    _write_unit(environ)

    with pytest.raises(ServiceUnavailableError, match="no user instance"):
        inspect_machine(environ, Manager({}))


def test_unreadable_unit_is_reported(environ: dict[str, str]) -> None:
    folder = Path(environ["HOME"]) / ".config" / "systemd" / "user" / "memd.service"
    folder.mkdir(parents=True)

    with pytest.raises(ServiceFailedError, match=r"cannot read .*memd\.service"):
        inspect_machine(environ, Manager({}))


@pytest.mark.parametrize(
    ("answer", "pid"),
    [(CommandResult(0, "\tstate = running\n\tpid = 7\n", ""), 7), (CommandResult(113, "", ""), 0)],
)
def test_launchd_is_used_on_macos(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, answer: CommandResult, pid: int
) -> None:
    monkeypatch.setattr(machine, "platform", lambda: "darwin")
    manager = Manager({"print": answer})

    found = inspect_machine(environ, manager)

    assert (found.kind, found.loaded, found.service_pid) == ("launchd", answer.code == 0, pid)
    assert manager.asked == [("launchctl", "print", f"gui/{os.getuid()}/ai.memd.daemon")]
    assert probe_namespaces(found, manager) is found


@pytest.mark.parametrize("code", [0, 218])
def test_user_namespaces_are_probed(code: int) -> None:
    found = Machine(kind="systemd", folder="", home="", uid=1)

    assert probe_namespaces(found, Manager({"systemd-run": CommandResult(code, "", "")})).namespaces == (
        code == 0
    )


def test_command_is_an_executable_path() -> None:
    command = find_command()

    assert os.path.isabs(command[0])
    assert os.access(command[0], os.X_OK)
