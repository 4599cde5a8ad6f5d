"""memd as a systemd user service: its units and its commands. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources

from memd.service.install.plan import (
    InstallPlan,
    Machine,
    MakeDirectory,
    Needs,
    RunCommand,
    Step,
    install_notes,
    is_below,
    outermost,
    remove_steps,
    with_mark,
    write_steps,
)
from memd.service.install.unit_names import unit_names
from memd_client.state_folder import USUAL_NAME

NAMESPACE_SECTION = re.compile(r"\n# Options below need a user namespace.*?\n(?=\n)", re.DOTALL)
"""Options that fail if user namespaces are not permitted, as on Ubuntu since 24.04 and in most containers."""

TEMP_FOLDERS = ("/tmp", "/var/tmp")
"""Folders that PrivateTmp= hides."""

SYSTEMCTL = ("systemctl", "--user")


def unit_paths(folder: str, name: str) -> tuple[str, str]:
    """Return the paths of a daemon's service and socket units in the manager's folder."""
    socket, service = unit_names(name)
    return os.path.join(folder, service), os.path.join(folder, socket)


def probe_command() -> tuple[str, ...]:
    """Return a command that succeeds if a user manager can give a service its own namespace."""
    keys = ("PrivateUsers=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "PrivateTmp=yes")
    return (
        "systemd-run", "--user", "--wait", "--quiet", "--collect",
        *(f"--property={each}" for each in (*keys, "ProtectKernelModules=yes", "ProtectHostname=yes")),
        "true",
    )  # fmt: skip


def show_command(name: str) -> tuple[str, ...]:
    """Return the command that prints the state of a daemon's service."""
    properties = "--property=LoadState,ActiveState,SubState,Result,MainPID"
    return (*SYSTEMCTL, "show", unit_names(name)[1], properties)


def state_of(facts: Mapping[str, str]) -> str:
    """Return the service's state, such as `active (running)`, from the output of `show_command`."""
    active = facts.get("ActiveState", "")
    detail = facts.get("Result" if active == "failed" else "SubState", "")
    return f"{active} ({detail})" if active and detail else active


def service_text(needs: Needs, namespaces: bool, name: str = USUAL_NAME) -> str:
    """Return the unit of a daemon's service."""
    socket, _ = unit_names(name)
    values: dict[str, Sequence[str]] = {
        "ExecStart": [" ".join(_quoted(each, dollar=True) for each in needs.command)],
        "MemoryMax": [f"{needs.memory_mb}M"],
        **{key: [socket] for key in ("Requires", "After", "Also")},
    }
    if namespaces:
        written = (*needs.written, *([os.path.dirname(needs.socket)] if needs.socket else ()))
        in_tmp = any(is_below(path, each) for path in (*written, *needs.read) for each in TEMP_FOLDERS)
        writable = outermost([*written, *(TEMP_FOLDERS if in_tmp else ())])
        values["ReadWritePaths"] = [" ".join([*(_quoted("-" + each) for each in writable), "-%t/memd"])]
        values["PrivateTmp"] = ["no" if in_tmp else "yes"]
    extra = [f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(needs.environ.items())]
    template = _template("memd.service")
    if not namespaces:
        template = NAMESPACE_SECTION.sub("", template)
    return _filled(template, values, {"ExecStart": extra})


def socket_text(needs: Needs, name: str = USUAL_NAME) -> str:
    """Return the unit of a daemon's socket."""
    listen = needs.socket.replace("%", "%%") if needs.socket else f"%t/memd/{name}.sock"
    return _filled(_template("memd.socket"), {"ListenStream": [listen]}, {})


def install(needs: Needs, machine: Machine) -> InstallPlan:
    """Return the plan to install, enable and start the service.

    If a daemon runs without the service, the service isn't started: it would replace the socket of that daemon's
    clients.
    """
    service, socket = unit_paths(machine.folder, machine.name)
    texts = {
        socket: with_mark(socket_text(needs, machine.name)),
        service: with_mark(service_text(needs, machine.namespaces, machine.name)),
    }
    files = write_steps(machine, texts)
    steps: list[Step] = [MakeDirectory(each) for each in (machine.folder, *needs.written)]
    steps += [
        *files,
        RunCommand((*SYSTEMCTL, "daemon-reload")),
        RunCommand((*SYSTEMCTL, "enable", *unit_names(machine.name))),
    ]
    if not machine.unmanaged_pid:
        steps += start(machine)
    notes = install_notes(machine, needs, changed=bool(files))
    if not machine.namespaces:
        notes.append("this system permits no user namespaces: the service runs with less hardening")
    return InstallPlan(tuple(steps), tuple(notes))


def uninstall(machine: Machine) -> InstallPlan:
    """Return the plan to stop and remove the service."""
    files = remove_steps(machine, unit_paths(machine.folder, machine.name))
    if not files:
        return InstallPlan((), (f"the service is not installed in {machine.folder}",))
    disable = RunCommand((*SYSTEMCTL, "disable", "--now", *unit_names(machine.name)), may_fail=True)
    return InstallPlan((disable, *files, RunCommand((*SYSTEMCTL, "daemon-reload"))))


def start(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the command that starts the socket and the service."""
    return (RunCommand((*SYSTEMCTL, "start", *unit_names(machine.name))),)


def stop(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the command that stops the service and its socket: an open socket would start it again."""
    return (RunCommand((*SYSTEMCTL, "stop", *unit_names(machine.name))),)


def restart(machine: Machine) -> tuple[RunCommand, ...]:
    """Return the commands that restart the service; its socket stays open, so clients wait instead of failing.

    The failure counter is reset first.
    """
    return (
        RunCommand((*SYSTEMCTL, "reset-failed", *unit_names(machine.name)), may_fail=True),
        RunCommand((*SYSTEMCTL, "restart", unit_names(machine.name)[1])),
    )


def _template(name: str) -> str:
    """Return a unit of the release."""
    return resources.files("memd.service").joinpath("units", name).read_text("utf-8")


def _filled(template: str, values: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> str:
    """Return a unit with some keys' values replaced, and lines added after some keys."""
    lines: list[str] = []
    for each in template.splitlines():
        key = each.partition("=")[0]
        lines += [f"{key}={value}" for value in values[key]] if key in values else [each]
        lines += after.get(key, ())
    return "\n".join(lines) + "\n"


def _quoted(word: str, *, dollar: bool = False) -> str:
    """Return a word escaped for a unit file, in quotes if needed."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    if dollar:
        text = text.replace("$", "$$")
    needs_quotes = text != word.replace("%", "%%").replace("$", "$$" if dollar else "$")
    return f'"{text}"' if needs_quotes or any(each in " \t;'#" for each in text) else text
