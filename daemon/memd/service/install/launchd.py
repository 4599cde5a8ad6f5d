"""memd as a launch agent of macOS: its property list and its commands. Pure."""

from __future__ import annotations

import os
import plistlib
import re
from importlib import resources

from memd.service.install.plan import (
    InstallPlan,
    Machine,
    MakeDirectory,
    Needs,
    RunCommand,
    Step,
    install_notes,
    remove_steps,
    with_mark,
    write_steps,
)
from memd_client.state_folder import USUAL_NAME

BOOTSTRAP_TRIES = 10
"""launchd releases an agent some time after `bootout` returns; until then it can't be loaded again."""


def agents_folder(home: str) -> str:
    """Return the folder of a user's launch agents."""
    return os.path.join(home, "Library", "LaunchAgents")


def label_of(name: str) -> str:
    """Return the label of a daemon's launch agent."""
    return "ai.memd.daemon" + name.removeprefix(USUAL_NAME)


def plist_path(folder: str, name: str = USUAL_NAME) -> str:
    """Return the path of a daemon's file in the folder of launch agents."""
    return os.path.join(folder, f"{label_of(name)}.plist")


def log_file(home: str, name: str = USUAL_NAME) -> str:
    """Return the path of a daemon's log."""
    return os.path.join(home, "Library", "Logs", "memd", f"{name}.log")


def plist_text(needs: Needs, home: str, name: str = USUAL_NAME) -> str:
    """Return the property list of a daemon's launch agent."""
    template = resources.files("memd.service").joinpath("units", plist_path("")).read_bytes()
    agent = plistlib.loads(template)
    agent["Label"] = label_of(name)
    agent["ProgramArguments"] = list(needs.command)
    environ = dict(needs.environ)
    if needs.socket:
        environ["MEMD_SOCKET"] = needs.socket
    if environ:
        agent["EnvironmentVariables"] = dict(sorted(environ.items()))
    agent["StandardOutPath"] = agent["StandardErrorPath"] = log_file(home, name)
    return plistlib.dumps(agent, sort_keys=False).decode()


def install(needs: Needs, machine: Machine) -> InstallPlan:
    """Return the plan to install and start the agent.

    If a daemon runs without the service, the agent isn't loaded: launchd would restart it again and again, because the
    lock is held.
    """
    path = plist_path(machine.folder, machine.name)
    text = with_mark(plist_text(needs, machine.home, machine.name), "<!-- {} -->", after=2)
    files = write_steps(machine, {path: text})
    folders = (machine.folder, os.path.dirname(log_file(machine.home)), *needs.written)
    steps: list[Step] = [*(MakeDirectory(each) for each in folders), *files]
    steps.append(RunCommand(("launchctl", "enable", _target(machine))))
    if not machine.unmanaged_pid:
        if files and machine.loaded:
            steps.append(RunCommand(("launchctl", "bootout", _target(machine)), may_fail=True))
        if files or not machine.loaded:
            steps.append(_bootstrap(machine))
    return InstallPlan(tuple(steps), tuple(install_notes(machine, needs, changed=bool(files))))


def uninstall(machine: Machine) -> InstallPlan:
    """Return the plan to stop and remove the agent."""
    files = remove_steps(machine, [plist_path(machine.folder, machine.name)])
    if not files and not machine.loaded:
        return InstallPlan((), (f"the service is not installed in {machine.folder}",))
    bootout = RunCommand(("launchctl", "bootout", _target(machine)), may_fail=True)
    return InstallPlan((*((bootout,) if machine.loaded else ()), *files))


def start(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the command that starts the agent."""
    if not machine.loaded:
        return (_bootstrap(machine),)  # RunAtLoad starts it
    return (RunCommand(("launchctl", "kickstart", _target(machine))),)


def stop(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the command that stops the agent; with exit code 0 launchd doesn't restart it."""
    return (
        (RunCommand(("launchctl", "kill", "SIGTERM", _target(machine)), may_fail=True),)
        if machine.loaded
        else ()
    )


def restart(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the command that restarts the agent."""
    if not machine.loaded:
        return (_bootstrap(machine),)
    return (RunCommand(("launchctl", "kickstart", "-k", _target(machine))),)


def pid_of(printed: str) -> int:
    """Return the pid in the output of `launchctl print`; 0 if the agent doesn't run."""
    found = re.search(r"^\s*pid = (\d+)$", printed, re.MULTILINE)
    return int(found[1]) if found else 0


def state_of(printed: str) -> str:
    """Return the agent's state in the output of `launchctl print`."""
    found = re.search(r"^\s*state = (.+)$", printed, re.MULTILINE)
    return found[1] if found else ""


def print_command(uid: int, name: str = USUAL_NAME) -> tuple[str, ...]:
    """Return the command that prints the state of a daemon's launch agent."""
    return ("launchctl", "print", f"gui/{uid}/{label_of(name)}")


def _target(machine: Machine) -> str:
    """Return the agent's name for launchctl."""
    return f"gui/{machine.uid}/{label_of(machine.name)}"


def _bootstrap(machine: Machine) -> RunCommand:
    """Return the command that loads the agent."""
    argv = ("launchctl", "bootstrap", f"gui/{machine.uid}", plist_path(machine.folder, machine.name))
    return RunCommand(argv, tries=BOOTSTRAP_TRIES)
