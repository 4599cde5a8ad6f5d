"""Installing, removing, starting, stopping and restarting, on whatever service manager there is. Pure.

Without a manager, or without an installed service, the daemon is the plain background process that clients start.
"""

from __future__ import annotations

from memd.service.install import launchd, systemd
from memd.service.install.plan import EndDaemon, Machine, Needs, Plan, StartDaemon
from memd_client.errors import DaemonRunningError


def install(needs: Needs, machine: Machine) -> Plan:
    """Return how the service is installed, or brought up to date, and started."""
    return launchd.install(needs, machine) if machine.kind == "launchd" else systemd.install(needs, machine)


def uninstall(machine: Machine) -> Plan:
    """Return how the service is stopped and removed. Memory, indexes and models stay."""
    return launchd.uninstall(machine) if machine.kind == "launchd" else systemd.uninstall(machine)


def start(machine: Machine, socket: str) -> Plan:
    """Return how the daemon is started: by the service where it is installed."""
    if not _is_managed(machine):
        if machine.holder_pid:
            return Plan((), (f"the daemon runs already (pid {machine.holder_pid})",))
        return Plan((StartDaemon(socket),))
    if machine.stray_pid:
        raise DaemonRunningError(
            f"a daemon runs without the service (pid {machine.stray_pid})",
            hint="`memctl service restart` ends it and hands over to the service.",
            data={"pid": machine.stray_pid},
        )
    return Plan(launchd.start(machine) if machine.kind == "launchd" else systemd.start())


def stop(machine: Machine, socket: str) -> Plan:
    """Return how the daemon is stopped, run by the service or not."""
    if not _is_managed(machine):
        if not machine.holder_pid:
            return Plan((), ("no daemon runs",))
        return Plan((EndDaemon(socket, machine.holder_pid),))
    steps = launchd.stop(machine) if machine.kind == "launchd" else systemd.stop()
    return Plan((*steps, *_end_stray(machine, socket)))


def restart(machine: Machine, socket: str) -> Plan:
    """Return how the daemon is started anew, or started where it doesn't run.

    A daemon that runs without an installed service is ended first: the service takes over.
    """
    if not _is_managed(machine):
        end = (EndDaemon(socket, machine.holder_pid),) if machine.holder_pid else ()
        return Plan((*end, StartDaemon(socket)))
    steps = launchd.restart(machine) if machine.kind == "launchd" else systemd.restart()
    return Plan((*_end_stray(machine, socket), *steps))


def logs(machine: Machine, lines: int, follow: bool, plain: str) -> tuple[str, ...]:
    """Return the command that shows the log."""
    if not _is_managed(machine):
        return ("tail", "-n", str(lines), *(("-F",) if follow else ()), plain)
    if machine.kind == "launchd":
        return launchd.logs(machine.home, lines, follow)
    return systemd.logs(lines, follow)


def _is_managed(machine: Machine) -> bool:
    """Return whether there is an installed service and somebody to run it."""
    return machine.installed and machine.kind != "none"


def _end_stray(machine: Machine, socket: str) -> tuple[EndDaemon, ...]:
    """Return the step that ends a daemon without the service, where there is one."""
    return (EndDaemon(socket, machine.stray_pid),) if machine.stray_pid else ()
