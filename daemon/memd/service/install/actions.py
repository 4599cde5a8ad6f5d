"""Plans to install, remove, start, stop and restart the service, for any service manager. Pure.

Without a manager or an installed service, the daemon is the background process that clients start.
"""

from __future__ import annotations

from memd.service.install import launchd, systemd
from memd.service.install.plan import EndDaemon, InstallPlan, Machine, Needs, StartDaemon
from memd_client.errors import DaemonRunningError


def install(needs: Needs, machine: Machine) -> InstallPlan:
    """Return the plan to install or update the service, and start it."""
    return launchd.install(needs, machine) if machine.kind == "launchd" else systemd.install(needs, machine)


def uninstall(machine: Machine) -> InstallPlan:
    """Return the plan to stop and remove the service; memory, indexes and models are kept."""
    return launchd.uninstall(machine) if machine.kind == "launchd" else systemd.uninstall(machine)


def start(machine: Machine, socket: str) -> InstallPlan:
    """Return the plan to start the daemon, as a service if it is installed."""
    if not _is_managed(machine):
        if machine.holder_pid:
            return InstallPlan((), (f"the daemon is running already (pid {machine.holder_pid})",))
        return InstallPlan((StartDaemon(socket),))
    if machine.unmanaged_pid:
        raise DaemonRunningError(
            f"the daemon is running, but not as the service (pid {machine.unmanaged_pid})",
            hint="run `memctl service restart` to replace it by the service",
            data={"pid": machine.unmanaged_pid},
        )
    return InstallPlan(launchd.start(machine) if machine.kind == "launchd" else systemd.start(machine))


def stop(machine: Machine, socket: str) -> InstallPlan:
    """Return the plan to stop the daemon, whether or not it runs as a service."""
    if not _is_managed(machine):
        if not machine.holder_pid:
            return InstallPlan((), ("the daemon is not running",))
        return InstallPlan((EndDaemon(socket, machine.holder_pid),))
    steps = launchd.stop(machine) if machine.kind == "launchd" else systemd.stop(machine)
    return InstallPlan((*steps, *_end_unmanaged(machine, socket)))


def restart(machine: Machine, socket: str) -> InstallPlan:
    """Return the plan to restart the daemon, or to start it if it doesn't run.

    If the service is installed, a daemon that runs without it is stopped first.
    """
    if not _is_managed(machine):
        end = (EndDaemon(socket, machine.holder_pid),) if machine.holder_pid else ()
        return InstallPlan((*end, StartDaemon(socket)))
    steps = launchd.restart(machine) if machine.kind == "launchd" else systemd.restart(machine)
    return InstallPlan((*_end_unmanaged(machine, socket), *steps))


def _is_managed(machine: Machine) -> bool:
    """Return whether the service is installed and a service manager runs."""
    return machine.installed and machine.kind != "none"


def _end_unmanaged(machine: Machine, socket: str) -> tuple[EndDaemon, ...]:
    """Return the step that stops a daemon without the service, if there is one."""
    return (EndDaemon(socket, machine.unmanaged_pid),) if machine.unmanaged_pid else ()
