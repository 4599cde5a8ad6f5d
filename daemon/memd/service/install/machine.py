"""This machine's service manager, the state of the service, the settings' requirements and the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memd.service.install import launchd, systemd
from memd.service.install.lock_holder import find_holder
from memd.service.install.plan import Kind, Machine, Needs
from memd.service.install.unit_names import units_folder
from memd.system.state_file import MAX_SETTINGS_BYTES, load_whole
from memd_client.discovery import daemon_command, home_directory, socket_path
from memd_client.errors import ServiceFailedError, ServiceUnavailableError
from memd_client.state_folder import daemon_name

COMMAND_TIMEOUT_S = 120.0
"""Timeout of a service manager's command: starting waits until the daemon is ready."""

BOOTED = "/run/systemd/system"
"""Exists if systemd runs the machine."""


class CommandResult(Struct, frozen=True):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


Runner = Callable[[Sequence[str]], CommandResult]


def run_command(argv: Sequence[str]) -> CommandResult:
    """Run a command and return its result; code 127 means not found, 124 timed out.

    Blocks for two minutes at most.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
    except OSError as error:
        return CommandResult(127, "", f"{argv[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return CommandResult(124, "", f"timed out after {COMMAND_TIMEOUT_S:g} s")
    return CommandResult(done.returncode, done.stdout, done.stderr)


def platform() -> str:
    """Return `sys.platform`."""
    return sys.platform


def inspect_machine(environ: Mapping[str, str], run: Runner = run_command) -> Machine:
    """Return the service manager and the state of the service."""
    home = home_directory(environ)
    name = daemon_name(environ, lambda: home)
    on_mac = platform() == "darwin"
    machine = _inspect_launchd(home, name, run) if on_mac else _inspect_systemd(home, name, environ, run)
    return replace(machine, holder_pid=find_holder(socket_path(environ)))


def check_installable(machine: Machine) -> None:
    """Raise an error if no service can be installed."""
    if machine.kind == "none":
        if os.path.isdir(BOOTED):
            raise _no_user_manager()
        raise ServiceUnavailableError("this system has neither systemd nor launchd")


def probe_namespaces(machine: Machine, run: Runner = run_command) -> Machine:
    """Return the machine with `namespaces` set: whether systemd can give a service a user namespace."""
    if machine.kind != "systemd":
        return machine
    return replace(machine, namespaces=run(systemd.probe_command()).code == 0)


def find_needs() -> Needs:
    """Return the settings' requirements of a service, found by a new process."""
    result = run_command([sys.executable, "-P", "-m", "memd.service.needs"])
    try:
        found = json.loads(result.out)
    except ValueError:
        last = (result.err.strip().splitlines() or ["no output"])[-1]
        raise ServiceFailedError(f"cannot read the settings for the service: {last}") from None
    return Needs(
        command=tuple(find_command()),
        socket=found["socket"],
        written=tuple(found["written"]),
        read=tuple(found["read"]),
        memory_mb=found["memory_mb"],
        environ=found["environ"],
        hidden=tuple(found["hidden"]),
    )


def find_command() -> list[str]:
    """Return the command of the daemon: `memd` of this installation, else the command that clients use."""
    installed = os.path.join(sysconfig.get_path("scripts"), "memd")
    return [installed] if os.access(installed, os.X_OK) else daemon_command()


def _inspect_systemd(home: str, name: str, environ: Mapping[str, str], run: Runner) -> Machine:
    """Return the state of the service in systemd; kind `none` if the user has no manager."""
    folder = units_folder(environ, home)
    paths = systemd.unit_paths(folder, name)
    installed = os.path.exists(paths[0])
    is_running = (
        shutil.which("systemctl") is not None and run((*systemd.SYSTEMCTL, "show-environment")).code == 0
    )
    if not is_running:
        if installed and os.path.isdir(BOOTED):
            raise _no_user_manager()
        return _machine("none", folder, home, name, paths)
    shown = run(systemd.show_command(name)).out
    facts = dict(each.split("=", 1) for each in shown.splitlines() if "=" in each)
    pid = facts.get("MainPID", "0")
    loaded = facts.get("LoadState") == "loaded"
    return replace(
        _machine("systemd", folder, home, name, paths),
        installed=installed or loaded,  # a distribution's package may install the units elsewhere
        loaded=loaded,
        state=systemd.state_of(facts),
        service_pid=int(pid) if pid.isdecimal() else 0,
    )


def _inspect_launchd(home: str, name: str, run: Runner) -> Machine:
    """Return the state of the agent in launchd."""
    folder = launchd.agents_folder(home)
    path = launchd.plist_path(folder, name)
    shown = run(launchd.print_command(os.getuid(), name))
    return replace(
        _machine("launchd", folder, home, name, (path,)),
        installed=os.path.exists(path),
        loaded=shown.code == 0,
        state=launchd.state_of(shown.out),
        service_pid=launchd.pid_of(shown.out) if shown.code == 0 else 0,
    )


def _machine(kind: Kind, folder: str, home: str, name: str, paths: Sequence[str]) -> Machine:
    """Return a machine with the contents of the service's files."""
    files = {path: text for path in paths if (text := _text_of(path)) is not None}
    return Machine(
        kind=kind,
        folder=folder,
        home=home,
        uid=os.getuid(),
        name=name,
        files=files,
        free_names={path: _free_name(path) for path in files},
    )


def _text_of(path: str) -> str | None:
    """Return a file's text; None if it doesn't exist."""
    try:
        return load_whole(Path(path), MAX_SETTINGS_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ServiceFailedError(f"cannot read {path}: {reason}", hint="move the file away") from error


def _free_name(path: str) -> str:
    """Return an unused name for a backup."""
    name, number = f"{path}.bak", 1
    while os.path.lexists(name):
        number += 1
        name = f"{path}.bak{number}"
    return name


def _no_user_manager() -> ServiceUnavailableError:
    """Return the error of a user without a running systemd, as in a shell of `su`, `sudo` or cron."""
    return ServiceUnavailableError(
        "systemd has no user instance in this session (no bus in XDG_RUNTIME_DIR)",
        hint="log in as this user (not with su or sudo), or run `loginctl enable-linger` once and set "
        f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}",
    )
