"""Installed systemd units and their commands."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memd.service.install import systemd
from memd.service.install.plan import KeepCopy, MakeDirectory, RemoveFile, with_mark
from tests.unit.service.machines import HOME, commands, needs, systemd_machine, written

FOLDER = f"{HOME}/.config/systemd/user"
SERVICE, SOCKET = f"{FOLDER}/memd.service", f"{FOLDER}/memd.socket"

EVERYTHING_ODD = needs(
    command=("/opt/my apps/memd $1", "-P", "100%"),
    socket=f"{HOME}/run dir/50%/memd.sock",
    written=(f"{HOME}/my state", f'{HOME}/a"b', f"{HOME}/50%"),
    environ={"MEMD_CONFIG": f"{HOME}/my $conf/50%.toml"},
)


def _lines(text: str, key: str) -> list[str]:
    """Return the values of a key in a unit."""
    return [each.partition("=")[2] for each in text.splitlines() if each.startswith(f"{key}=")]


def test_first_install_writes_enables_and_starts_both_units() -> None:
    plan = systemd.install(needs(), systemd_machine())

    assert list(written(plan)) == [SOCKET, SERVICE]
    assert commands(plan) == [
        "systemctl --user daemon-reload",
        "systemctl --user enable memd.socket memd.service",
        "systemctl --user start memd.socket memd.service",
    ]
    assert [step.path for step in plan.steps if isinstance(step, MakeDirectory)] == [FOLDER, *needs().written]
    assert plan.notes == ()


def test_second_install_writes_nothing() -> None:
    first = systemd.install(needs(), systemd_machine())

    again = systemd.install(needs(), systemd_machine(files=written(first), service_pid=7, holder_pid=7))

    assert written(again) == {}
    assert commands(again) == commands(first)
    assert again.notes == ()


def test_unit_follows_the_settings() -> None:
    text = systemd.service_text(needs(environ={"MEMD_CONFIG": "/etc/memd.toml"}), namespaces=True)

    assert _lines(text, "ExecStart") == [f"{HOME}/.local/bin/memd"]
    assert _lines(text, "Environment") == ["MEMD_CONFIG=/etc/memd.toml"]
    assert _lines(text, "MemoryMax") == ["2048M"]
    assert _lines(text, "ReadWritePaths") == [f"-{HOME}/.openclaw -{HOME}/.cache/memd/models -%t/memd"]
    assert _lines(text, "PrivateTmp") == ["yes"]


def test_special_characters_in_paths_are_escaped() -> None:
    text = systemd.service_text(EVERYTHING_ODD, namespaces=True)

    assert _lines(text, "ExecStart") == ['"/opt/my apps/memd $$1" -P 100%%']
    assert _lines(text, "Environment") == [f'"MEMD_CONFIG={HOME}/my $conf/50%%.toml"']
    assert _lines(text, "ReadWritePaths") == [
        f'"-{HOME}/my state" "-{HOME}/a\\"b" -{HOME}/50%% "-{HOME}/run dir/50%%" -%t/memd'
    ]
    assert _lines(systemd.socket_text(EVERYTHING_ODD), "ListenStream") == [f"{HOME}/run dir/50%%/memd.sock"]


@pytest.mark.parametrize(
    "where",
    [
        {"read": ("/tmp/workspace",)},
        {"written": ("/var/tmp/index",)},
        {"socket": "/tmp/memd-1000/memd.sock"},
    ],
    ids=lambda where: next(iter(where)),
)
def test_private_tmp_is_off_if_a_folder_is_in_tmp(where: dict[str, Any]) -> None:
    text = systemd.service_text(needs(**where), namespaces=True)

    assert _lines(text, "PrivateTmp") == ["no"]
    assert {"-/tmp", "-/var/tmp"} <= set(_lines(text, "ReadWritePaths")[0].split())


def test_without_user_namespaces_only_their_options_are_omitted() -> None:
    whole = systemd.service_text(needs(), namespaces=True)
    less = systemd.service_text(needs(), namespaces=False)
    plan = systemd.install(needs(), systemd_machine(namespaces=False))

    keys = {each.partition("=")[0] for each in less.splitlines() if "=" in each and not each.startswith("#")}
    assert not {each for each in keys if each.startswith(("Protect", "Private", "Capability", "ReadWrite"))}
    assert {"NoNewPrivileges", "SystemCallFilter", "RestrictAddressFamilies", "UMask", "MemoryMax"} <= keys
    assert len(less) < len(whole)
    assert less.endswith(whole[whole.index("\n[Install]") :])
    assert any("less hardening" in each for each in plan.notes)


def test_probe_uses_options_that_need_a_namespace() -> None:
    command = systemd.probe_command()

    assert command[:2] == ("systemd-run", "--user")
    assert {"--property=PrivateUsers=yes", "--property=CapabilityBoundingSet="} <= set(command)


def test_daemon_without_the_service_is_reported_and_not_stopped() -> None:
    plan = systemd.install(needs(), systemd_machine(holder_pid=4242))

    assert "systemctl --user start memd.socket memd.service" not in commands(plan)
    assert any("pid 4242" in each and "`memctl service restart`" in each for each in plan.notes)


def test_changed_unit_of_a_running_service_needs_a_restart() -> None:
    before = written(systemd.install(needs(memory_mb=1), systemd_machine()))

    plan = systemd.install(needs(), systemd_machine(files=before, service_pid=7, holder_pid=7))

    assert list(written(plan)) == [SERVICE]
    assert any("`memctl service restart`" in each for each in plan.notes)


def test_edited_unit_is_kept_as_a_backup() -> None:
    before = written(systemd.install(needs(), systemd_machine()))
    edited = {SERVICE: before[SERVICE].replace("RestartSec=1", "RestartSec=5"), SOCKET: "[Socket]\n"}
    names = {SERVICE: f"{SERVICE}.bak", SOCKET: f"{SOCKET}.bak2"}
    machine = systemd_machine(files=edited, free_names=names)

    plan = systemd.install(needs(), machine)
    removal = systemd.uninstall(machine)

    assert {KeepCopy(path, names[path]) for path in names} <= set(plan.steps)
    assert written(plan) == before
    assert {KeepCopy(path, names[path]) for path in names} <= set(removal.steps)


def test_unit_of_an_earlier_release_is_replaced_without_a_backup() -> None:
    plan = systemd.install(
        needs(), systemd_machine(files={SERVICE: with_mark("[Service]\nExecStart=memd\n")})
    )

    assert not [step for step in plan.steps if isinstance(step, KeepCopy)]
    assert SERVICE in written(plan)


def test_variables_with_secrets_are_reported_and_not_written() -> None:
    plan = systemd.install(needs(hidden=("OPENAI_API_KEY",)), systemd_machine())

    assert any("OPENAI_API_KEY" in each for each in plan.notes)
    assert not any("OPENAI_API_KEY" in text for text in written(plan).values())


def test_uninstall_stops_before_it_removes_and_is_idempotent() -> None:
    there = written(systemd.install(needs(), systemd_machine()))

    plan = systemd.uninstall(systemd_machine(files=there))

    assert commands(plan) == [
        "systemctl --user disable --now memd.socket memd.service",
        "systemctl --user daemon-reload",
    ]
    assert plan.steps[1:-1] == (RemoveFile(SERVICE), RemoveFile(SOCKET))
    assert systemd.uninstall(systemd_machine()).steps == ()


def test_state_is_parsed_from_systemd() -> None:
    running = {"ActiveState": "active", "SubState": "running", "Result": "success"}
    hung = {"ActiveState": "failed", "SubState": "failed", "Result": "watchdog"}

    assert systemd.state_of(running) == "active (running)"
    assert systemd.state_of(hung) == "failed (watchdog)"
    assert systemd.state_of({}) == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("namespaces", [True, False])
def test_systemd_accepts_the_generated_units(tmp_path: Path, short_path: Path, namespaces: bool) -> None:
    command = tmp_path / "my apps" / "memd"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    wanted = needs(
        command=(str(command), "100%"),
        socket=EVERYTHING_ODD.socket,
        written=EVERYTHING_ODD.written,
        environ=EVERYTHING_ODD.environ,
    )
    for path, text in written(systemd.install(wanted, systemd_machine(namespaces=namespaces))).items():
        unit = tmp_path / Path(path).name
        unit.write_text(text)
        unit.chmod(0o644)  # whatever the umask

    checked = subprocess.run(
        [
            "systemd-analyze",
            "--user",
            "verify",
            str(tmp_path / "memd.service"),
            str(tmp_path / "memd.socket"),
        ],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(short_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
