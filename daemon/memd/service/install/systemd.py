"""memd as a systemd user service: what its units say, and the commands that go with them. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources

from memd.service.install.plan import (
    Machine,
    MakeDirectory,
    Needs,
    Plan,
    Run,
    Step,
    install_notes,
    lies_in,
    marked,
    outermost,
    remove_steps,
    write_steps,
)
from memd.service.install.unit_names import SERVICE, SOCKET

NAMESPACED = re.compile(r"\n# From here on a user namespace is needed.*?\n(?=\n)", re.DOTALL)
"""What makes a user manager fail where it may not make user namespaces: Ubuntu since 24.04, most containers."""

TEMPORARY = ("/tmp", "/var/tmp")
"""Places that PrivateTmp= hides."""

SYSTEMCTL = ("systemctl", "--user")


def unit_paths(folder: str) -> tuple[str, str]:
    """Return where the service and its socket are, below the manager's folder."""
    return os.path.join(folder, SERVICE), os.path.join(folder, SOCKET)


def probe_command() -> tuple[str, ...]:
    """Return a command that succeeds where a user manager can give a service a namespace of its own."""
    keys = ("PrivateUsers=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "PrivateTmp=yes")
    return (
        "systemd-run", "--user", "--wait", "--quiet", "--collect",
        *(f"--property={each}" for each in (*keys, "ProtectKernelModules=yes", "ProtectHostname=yes")),
        "true",
    )  # fmt: skip


def show_command() -> tuple[str, ...]:
    """Return the command that says how the service is."""
    return (*SYSTEMCTL, "show", SERVICE, "--property=LoadState,ActiveState,SubState,Result,MainPID")


def state_of(facts: Mapping[str, str]) -> str:
    """Return the service's state from what `show_command` prints: `active (running)`, `failed (watchdog)`."""
    active = facts.get("ActiveState", "")
    detail = facts.get("Result" if active == "failed" else "SubState", "")
    return f"{active} ({detail})" if active and detail else active


def service_text(needs: Needs, namespaces: bool) -> str:
    """Return the unit of the service."""
    values: dict[str, Sequence[str]] = {
        "ExecStart": [" ".join(_quoted(each, dollar=True) for each in needs.command)],
        "MemoryMax": [f"{needs.memory_mb}M"],
    }
    if namespaces:
        written = (*needs.written, *([os.path.dirname(needs.socket)] if needs.socket else ()))
        in_tmp = any(lies_in(path, each) for path in (*written, *needs.read) for each in TEMPORARY)
        writable = outermost([*written, *(TEMPORARY if in_tmp else ())])
        values["ReadWritePaths"] = [" ".join([*(_quoted("-" + each) for each in writable), "-%t/memd"])]
        values["PrivateTmp"] = ["no" if in_tmp else "yes"]
    extra = [f"Environment={_quoted(f'{name}={value}')}" for name, value in sorted(needs.environ.items())]
    template = _template(SERVICE) if namespaces else NAMESPACED.sub("", _template(SERVICE))
    return _filled(template, values, {"ExecStart": extra})


def socket_text(needs: Needs) -> str:
    """Return the unit of the socket."""
    listen = needs.socket.replace("%", "%%") if needs.socket else "%t/memd/memd.sock"
    return _filled(_template(SOCKET), {"ListenStream": [listen]}, {})


def install(needs: Needs, machine: Machine) -> Plan:
    """Return how the service is installed, enabled and started.

    Where a daemon runs without the service it isn't started: that would take the socket from under the other's
    clients.
    """
    service, socket = unit_paths(machine.folder)
    texts = {socket: marked(socket_text(needs)), service: marked(service_text(needs, machine.namespaces))}
    files = write_steps(machine, texts)
    steps: list[Step] = [MakeDirectory(each) for each in (machine.folder, *needs.written)]
    steps += [
        *files,
        Run((*SYSTEMCTL, "daemon-reload")),
        Run((*SYSTEMCTL, "enable", SOCKET, SERVICE)),
    ]
    if not machine.stray_pid:
        steps.append(Run((*SYSTEMCTL, "start", SOCKET, SERVICE)))
    notes = install_notes(machine, needs, changed=bool(files))
    if not machine.namespaces:
        notes.append("this system gives services no user namespaces: the service runs with less hardening")
    return Plan(tuple(steps), tuple(notes))


def uninstall(machine: Machine) -> Plan:
    """Return how the service is stopped and removed; memory and indexes stay."""
    files = remove_steps(machine, unit_paths(machine.folder))
    if not files:
        return Plan((), (f"the service isn't installed in {machine.folder}",))
    disable = Run((*SYSTEMCTL, "disable", "--now", SOCKET, SERVICE), may_fail=True)
    return Plan((disable, *files, Run((*SYSTEMCTL, "daemon-reload"))))


def start() -> tuple[Run, ...]:
    """Return the command that starts the service, its socket first."""
    return (Run((*SYSTEMCTL, "start", SOCKET, SERVICE)),)


def stop() -> tuple[Run, ...]:
    """Return the command that stops it; with the socket open the next client would start it again."""
    return (Run((*SYSTEMCTL, "stop", SOCKET, SERVICE)),)


def restart() -> tuple[Run, ...]:
    """Return the command that starts it anew; the socket stays open, so that clients wait instead of failing.

    A service that failed too often is forgiven first.
    """
    return (
        Run((*SYSTEMCTL, "reset-failed", SOCKET, SERVICE), may_fail=True),
        Run((*SYSTEMCTL, "restart", SERVICE)),
    )


def logs(lines: int, follow: bool) -> tuple[str, ...]:
    """Return the command that shows the log."""
    more = ("--follow",) if follow else ()
    return ("journalctl", "--user", f"--unit={SERVICE}", f"--lines={lines}", "--no-pager", *more)


def _template(name: str) -> str:
    """Return a unit as it comes with the release."""
    return resources.files("memd.service").joinpath("units", name).read_text("utf-8")


def _filled(template: str, values: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> str:
    """Return a unit with some keys' values replaced, and lines put behind some keys."""
    lines: list[str] = []
    for each in template.splitlines():
        key = each.partition("=")[0]
        lines += [f"{key}={value}" for value in values[key]] if key in values else [each]
        lines += after.get(key, ())
    return "\n".join(lines) + "\n"


def _quoted(word: str, *, dollar: bool = False) -> str:
    """Return a word as a unit file takes it: specifiers doubled, and in quotes where it needs them."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    if dollar:
        text = text.replace("$", "$$")
    needs_quotes = text != word.replace("%", "%%").replace("$", "$$" if dollar else "$")
    return f'"{text}"' if needs_quotes or any(each in " \t;'#" for each in text) else text
