"""Start, stop and restart: with the service if it is installed, else with a background process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memd.service.install import actions
from memd.service.install.plan import EndDaemon, InstallPlan, Machine, StartDaemon
from memd_client.errors import DaemonRunningError
from tests.unit.service.machines import HOME, commands, launchd_machine, systemd_machine

SOCKET = "/run/user/1000/memd/memd.sock"
PLAIN = Machine(kind="none", folder="", home=HOME, uid=1000)


def _holding(pid: int) -> Machine:
    return Machine(kind="none", folder="", home=HOME, uid=1000, holder_pid=pid)


def test_without_a_service_the_background_process_is_started_and_stopped() -> None:
    assert actions.start(PLAIN, SOCKET) == InstallPlan((StartDaemon(SOCKET),))
    assert actions.stop(_holding(7), SOCKET) == InstallPlan((EndDaemon(SOCKET, 7),))
    assert actions.restart(_holding(7), SOCKET) == InstallPlan((EndDaemon(SOCKET, 7), StartDaemon(SOCKET)))
    assert actions.restart(PLAIN, SOCKET) == InstallPlan((StartDaemon(SOCKET),))


def test_manager_without_the_installed_service_is_not_used() -> None:
    assert actions.start(systemd_machine(), SOCKET) == InstallPlan((StartDaemon(SOCKET),))
    assert actions.stop(launchd_machine(holder_pid=7), SOCKET) == InstallPlan((EndDaemon(SOCKET, 7),))


def test_start_and_stop_without_effect_are_notes() -> None:
    assert actions.start(_holding(7), SOCKET) == InstallPlan((), ("the daemon is running already (pid 7)",))
    assert actions.stop(PLAIN, SOCKET) == InstallPlan((), ("the daemon is not running",))


def test_installed_service_is_started_and_stopped_by_its_manager() -> None:
    machine = systemd_machine(installed=True, service_pid=7, holder_pid=7)

    assert commands(actions.start(machine, SOCKET)) == ["systemctl --user start memd.socket memd.service"]
    assert commands(actions.stop(machine, SOCKET)) == ["systemctl --user stop memd.socket memd.service"]
    assert commands(actions.restart(machine, SOCKET))[-1] == "systemctl --user restart memd.service"


def test_start_is_refused_if_a_daemon_runs_without_the_service() -> None:
    with pytest.raises(DaemonRunningError, match="pid 4242") as caught:
        actions.start(systemd_machine(installed=True, holder_pid=4242), SOCKET)

    assert "`memctl service restart`" in caught.value.hint
    assert caught.value.data == {"pid": 4242}


@pytest.mark.parametrize("make", [systemd_machine, launchd_machine])
def test_restart_replaces_a_daemon_without_the_service(
    make: Callable[..., Machine],
) -> None:
    machine = make(installed=True, loaded=True, holder_pid=4242)

    assert actions.restart(machine, SOCKET).steps[0] == EndDaemon(SOCKET, 4242)
    assert len(actions.restart(machine, SOCKET).steps) > 1
    assert actions.stop(machine, SOCKET).steps[-1] == EndDaemon(SOCKET, 4242)
