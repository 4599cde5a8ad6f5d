"""What this machine has: its service manager and how the service stands, the settings' needs, the command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memd.service.install import launchd, systemd
from memd.service.install.lock_holder import find_holder
from memd.service.install.plan import Kind, Machine, Needs
from memd.service.install.unit_names import units_folder
from memd.system.state_file import MAX_SETTINGS_BYTES, load_whole
from memd_client.discovery import daemon_command, home_directory, socket_path
from memd_client.errors import ServiceFailedError, ServiceUnavailableError

COMMAND_S = 120.0
"""How long a command of a service manager may take: starting waits until the daemon is ready."""

BOOTED = "/run/systemd/system"
"""Is there where systemd runs the machine."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str


Runner = Callable[[Sequence[str]], Ran]


def run_command(argv: Sequence[str]) -> Ran:
    """Run a command and return what came of it; 127 stands for one that isn't there, 124 for one that took too long.

    Blocks until it ended, two minutes at most.
    """
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_S, check=False)
    except OSError as error:
        return Ran(127, "", f"{argv[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        return Ran(124, "", f"no end after {COMMAND_S:g} s")
    return Ran(done.returncode, done.stdout, done.stderr)


def platform() -> str:
    """Return the name of the system, as `sys.platform` has it."""
    return sys.platform


def look(environ: Mapping[str, str], run: Runner = run_command) -> Machine:
    """Return what there is to install into, and how the service stands."""
    home = home_directory(environ)
    on_mac = platform() == "darwin"
    machine = _look_at_launchd(home, run) if on_mac else _look_at_systemd(home, environ, run)
    return replace(machine, holder_pid=find_holder(socket_path(environ)))


def check_installable(machine: Machine) -> None:
    """Do nothing where a service can be installed."""
    if machine.kind == "none":
        if os.path.isdir(BOOTED):
            raise _no_user_manager()
        raise ServiceUnavailableError("this system has neither systemd nor launchd")


def probe_namespaces(machine: Machine, run: Runner = run_command) -> Machine:
    """Return the machine with the knowledge whether systemd can give a service a user namespace."""
    if machine.kind != "systemd":
        return machine
    return replace(machine, namespaces=run(systemd.probe_command()).code == 0)


def find_needs() -> Needs:
    """Return what the settings ask of a service, found in a process of its own."""
    ran = run_command([sys.executable, "-P", "-m", "memd.service.needs"])
    try:
        found = json.loads(ran.out)
    except ValueError:
        last = (ran.err.strip().splitlines() or ["no output"])[-1]
        raise ServiceFailedError(f"the settings can't be read for the service: {last}") from None
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
    """Return the command of the installed daemon: `memd` beside this interpreter, else as a client starts it."""
    beside = os.path.join(sysconfig.get_path("scripts"), "memd")
    return [beside] if os.access(beside, os.X_OK) else daemon_command()


def _look_at_systemd(home: str, environ: Mapping[str, str], run: Runner) -> Machine:
    """Return how the service stands in systemd; `none` where this user has no manager."""
    folder = units_folder(environ, home)
    paths = systemd.unit_paths(folder)
    installed = os.path.exists(paths[0])
    answers = (
        shutil.which("systemctl") is not None and run((*systemd.SYSTEMCTL, "show-environment")).code == 0
    )
    if not answers:
        if installed and os.path.isdir(BOOTED):
            raise _no_user_manager()
        return _machine("none", folder, home, paths)
    shown = run(systemd.show_command()).out
    facts = dict(each.split("=", 1) for each in shown.splitlines() if "=" in each)
    pid = facts.get("MainPID", "0")
    loaded = facts.get("LoadState") == "loaded"
    return replace(
        _machine("systemd", folder, home, paths),
        installed=installed or loaded,  # a distribution's package may bring the units, elsewhere
        loaded=loaded,
        state=systemd.state_of(facts),
        service_pid=int(pid) if pid.isdecimal() else 0,
    )


def _look_at_launchd(home: str, run: Runner) -> Machine:
    """Return how the agent stands in launchd."""
    folder = launchd.agents_folder(home)
    path = launchd.plist_path(folder)
    shown = run(launchd.print_command(os.getuid()))
    return replace(
        _machine("launchd", folder, home, (path,)),
        installed=os.path.exists(path),
        loaded=shown.code == 0,
        state=launchd.state_of(shown.out),
        service_pid=launchd.pid_of(shown.out) if shown.code == 0 else 0,
    )


def _machine(kind: Kind, folder: str, home: str, paths: Sequence[str]) -> Machine:
    """Return a machine with what stands in the service's files."""
    files = {path: text for path in paths if (text := _text_of(path)) is not None}
    return Machine(
        kind=kind,
        folder=folder,
        home=home,
        uid=os.getuid(),
        files=files,
        free_names={path: _free_name(path) for path in files},
    )


def _text_of(path: str) -> str | None:
    """Return a file's text, None where there is none."""
    try:
        return load_whole(Path(path), MAX_SETTINGS_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ServiceFailedError(f"can't read {path}: {reason}", hint="Move it away.") from error


def _free_name(path: str) -> str:
    """Return a name for a copy that nothing has yet."""
    name, number = f"{path}.bak", 1
    while os.path.lexists(name):
        number += 1
        name = f"{path}.bak{number}"
    return name


def _no_user_manager() -> ServiceUnavailableError:
    """Return the error of a user whose systemd doesn't answer, as in a shell of `su`, `sudo` or cron."""
    return ServiceUnavailableError(
        "systemd has no user instance that answers here (no bus in XDG_RUNTIME_DIR)",
        hint="Log in as this user (not by su or sudo), or run `loginctl enable-linger` once and set "
        f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}.",
    )
