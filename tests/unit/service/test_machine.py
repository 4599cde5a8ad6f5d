"""Which service manager there is, and how the service stands in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from memd.service.install import machine
from memd.service.install.machine import Ran, check_installable, find_command, look, probe_namespaces
from memd.service.install.plan import Machine
from memd_client.errors import ServiceFailedError, ServiceUnavailableError

SHOWN = "LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nMainPID=4242\n"


class Manager:
    """A service manager that answers as told, by the last word but the options of a call."""

    def __init__(self, answers: Mapping[str, Ran]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str]) -> Ran:
        self.asked.append(tuple(argv))
        known = [answer for word, answer in self.answers.items() if word in argv]
        return known[0] if known else Ran(1, "", "no answer")


@pytest.fixture
def environ(tmp_path: Path, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home of its own on a system whose `systemctl` is there and that wasn't started by systemd."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "systemctl").write_text("#!/bin/sh\n")
    (tools / "systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(machine, "BOOTED", str(tmp_path / "booted"))
    monkeypatch.setattr(machine, "platform", lambda: "linux")
    return {"HOME": str(tmp_path / "home"), "MEMD_SOCKET": str(short_path / "s")}


def _write_unit(environ: dict[str, str], text: str = "[Service]\n") -> Path:
    """Put a unit where systemd looks, and return where it is."""
    unit = Path(environ["HOME"]) / ".config" / "systemd" / "user" / "memd.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(text)
    return unit


def test_a_systemd_that_answers_is_used(environ: dict[str, str]) -> None:
    unit = _write_unit(environ)

    found = look(environ, Manager({"show-environment": Ran(0, "", ""), "show": Ran(0, SHOWN, "")}))

    assert (found.kind, found.installed, found.loaded) == ("systemd", True, True)
    assert (found.state, found.service_pid, found.holder_pid) == ("active (running)", 4242, 0)
    assert found.files == {str(unit): "[Service]\n"}
    check_installable(found)


def test_units_belong_where_the_configuration_is(environ: dict[str, str], tmp_path: Path) -> None:
    answers = {"show-environment": Ran(0, "", ""), "show": Ran(0, "", "")}

    found = look({**environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}, Manager(answers))

    assert found.folder == str(tmp_path / "config" / "systemd" / "user")
    assert (found.installed, found.loaded, found.service_pid) == (False, False, 0)


def test_units_that_a_distribution_brings_count_as_installed(environ: dict[str, str]) -> None:
    found = look(environ, Manager({"show-environment": Ran(0, "", ""), "show": Ran(0, SHOWN, "")}))

    assert (found.installed, found.files) == (True, {})


def test_a_copy_never_takes_a_name_that_is_in_use(environ: dict[str, str]) -> None:
    unit = _write_unit(environ)
    Path(f"{unit}.bak").write_text("an earlier copy")

    found = look(environ, Manager({"show-environment": Ran(0, "", ""), "show": Ran(0, SHOWN, "")}))

    assert found.free_names == {str(unit): f"{unit}.bak2"}


def test_without_a_manager_installing_is_refused_and_the_rest_goes_on(environ: dict[str, str]) -> None:
    found = look(environ, Manager({}))

    assert found.kind == "none"
    with pytest.raises(ServiceUnavailableError, match="neither systemd nor launchd") as caught:
        check_installable(found)
    assert "`memctl service start`" in caught.value.hint


def test_a_systemd_without_a_user_instance_is_told_with_the_way_out(environ: dict[str, str]) -> None:
    Path(machine.BOOTED).mkdir()

    with pytest.raises(ServiceUnavailableError, match="no user instance") as caught:
        check_installable(look(environ, Manager({})))

    assert "loginctl enable-linger" in caught.value.hint
    assert f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}" in caught.value.hint


def test_an_installed_service_that_cannot_be_asked_is_no_plain_process(environ: dict[str, str]) -> None:
    Path(machine.BOOTED).mkdir()
    _write_unit(environ)

    with pytest.raises(ServiceUnavailableError, match="no user instance"):
        look(environ, Manager({}))


def test_a_unit_that_cannot_be_read_is_named(environ: dict[str, str]) -> None:
    folder = Path(environ["HOME"]) / ".config" / "systemd" / "user" / "memd.service"
    folder.mkdir(parents=True)

    with pytest.raises(ServiceFailedError, match=r"can't read .*memd\.service"):
        look(environ, Manager({}))


@pytest.mark.parametrize(
    ("answer", "pid"), [(Ran(0, "\tstate = running\n\tpid = 7\n", ""), 7), (Ran(113, "", ""), 0)]
)
def test_launchd_is_asked_on_a_mac(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, answer: Ran, pid: int
) -> None:
    monkeypatch.setattr(machine, "platform", lambda: "darwin")
    manager = Manager({"print": answer})

    found = look(environ, manager)

    assert (found.kind, found.loaded, found.service_pid) == ("launchd", answer.code == 0, pid)
    assert manager.asked == [("launchctl", "print", f"gui/{os.getuid()}/ai.memd.daemon")]
    assert probe_namespaces(found, manager) is found


@pytest.mark.parametrize("code", [0, 218])
def test_user_namespaces_are_tried_out(code: int) -> None:
    found = Machine(kind="systemd", folder="", home="", uid=1)

    assert probe_namespaces(found, Manager({"systemd-run": Ran(code, "", "")})).namespaces == (code == 0)


def test_the_command_is_a_path_that_can_be_run() -> None:
    command = find_command()

    assert os.path.isabs(command[0])
    assert os.access(command[0], os.X_OK)
