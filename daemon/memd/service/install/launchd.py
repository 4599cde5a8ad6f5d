"""memd as a launch agent of macOS: what its property list says, and the commands that go with it. Pure."""

from __future__ import annotations

import os
import plistlib
import re
from importlib import resources

from memd.service.install.plan import (
    Machine,
    MakeDirectory,
    Needs,
    Plan,
    Run,
    Step,
    install_notes,
    marked,
    remove_steps,
    write_steps,
)

LABEL = "ai.memd.daemon"
FILE = f"{LABEL}.plist"

BOOTSTRAP_TRIES = 10
"""launchd lets go of an agent some time after it said so; until then the same one can't be loaded again."""


def agents_folder(home: str) -> str:
    """Return where a user's launch agents are."""
    return os.path.join(home, "Library", "LaunchAgents")


def plist_path(folder: str) -> str:
    """Return where the agent's file is, below the folder of launch agents."""
    return os.path.join(folder, FILE)


def log_file(home: str) -> str:
    """Return where the daemon's log is."""
    return os.path.join(home, "Library", "Logs", "memd", "memd.log")


def plist_text(needs: Needs, home: str) -> str:
    """Return the agent's property list."""
    template = resources.files("memd.service").joinpath("units", FILE).read_bytes()
    agent = plistlib.loads(template)
    agent["ProgramArguments"] = list(needs.command)
    environ = dict(needs.environ)
    if needs.socket:
        environ["MEMD_SOCKET"] = needs.socket
    if environ:
        agent["EnvironmentVariables"] = dict(sorted(environ.items()))
    agent["StandardOutPath"] = agent["StandardErrorPath"] = log_file(home)
    return plistlib.dumps(agent, sort_keys=False).decode()


def install(needs: Needs, machine: Machine) -> Plan:
    """Return how the agent is installed and started.

    Where a daemon runs without the service the agent isn't loaded: it would be started again and again only to
    find the lock held.
    """
    path = plist_path(machine.folder)
    files = write_steps(machine, {path: marked(plist_text(needs, machine.home), "<!-- {} -->", after=2)})
    folders = (machine.folder, os.path.dirname(log_file(machine.home)), *needs.written)
    steps: list[Step] = [*(MakeDirectory(each) for each in folders), *files]
    steps.append(Run(("launchctl", "enable", _target(machine))))
    if not machine.stray_pid:
        if files and machine.loaded:
            steps.append(Run(("launchctl", "bootout", _target(machine)), may_fail=True))
        if files or not machine.loaded:
            steps.append(_bootstrap(machine))
    return Plan(tuple(steps), tuple(install_notes(machine, needs, changed=bool(files))))


def uninstall(machine: Machine) -> Plan:
    """Return how the agent is stopped and removed; memory and indexes stay."""
    files = remove_steps(machine, [plist_path(machine.folder)])
    if not files and not machine.loaded:
        return Plan((), (f"the service isn't installed in {machine.folder}",))
    bootout = Run(("launchctl", "bootout", _target(machine)), may_fail=True)
    return Plan((*((bootout,) if machine.loaded else ()), *files))


def start(machine: Machine) -> tuple[Run, ...]:
    """Return the command that starts the agent."""
    if not machine.loaded:
        return (_bootstrap(machine),)  # RunAtLoad starts it
    return (Run(("launchctl", "kickstart", _target(machine))),)


def stop(machine: Machine) -> tuple[Run, ...]:
    """Return the command that stops it: it ends with status 0, and launchd leaves it at that."""
    return (Run(("launchctl", "kill", "SIGTERM", _target(machine)), may_fail=True),) if machine.loaded else ()


def restart(machine: Machine) -> tuple[Run, ...]:
    """Return the commands that start it anew."""
    if not machine.loaded:
        return (_bootstrap(machine),)
    return (Run(("launchctl", "kickstart", "-k", _target(machine))),)


def logs(home: str, lines: int, follow: bool) -> tuple[str, ...]:
    """Return the command that shows the log."""
    return ("tail", "-n", str(lines), *(("-F",) if follow else ()), log_file(home))


def pid_of(printed: str) -> int:
    """Return the pid in what `launchctl print` says of the agent; 0 where it doesn't run."""
    found = re.search(r"^\s*pid = (\d+)$", printed, re.MULTILINE)
    return int(found[1]) if found else 0


def state_of(printed: str) -> str:
    """Return the agent's state in what `launchctl print` says, in launchd's words."""
    found = re.search(r"^\s*state = (.+)$", printed, re.MULTILINE)
    return found[1] if found else ""


def print_command(uid: int) -> tuple[str, ...]:
    """Return the command that says how the agent is."""
    return ("launchctl", "print", f"gui/{uid}/{LABEL}")


def _target(machine: Machine) -> str:
    """Return the agent's name for launchctl."""
    return f"gui/{machine.uid}/{LABEL}"


def _bootstrap(machine: Machine) -> Run:
    """Return the command that loads the agent."""
    argv = ("launchctl", "bootstrap", f"gui/{machine.uid}", plist_path(machine.folder))
    return Run(argv, tries=BOOTSTRAP_TRIES)
