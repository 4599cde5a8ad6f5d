"""Start, stop, restart and logs: by the service where it is installed, else on the plain process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memd.service.install import actions
from memd.service.install.plan import EndDaemon, Machine, Plan, StartDaemon
from memd_client.errors import DaemonRunningError
from tests.unit.service.stage import HOME, commands, launchd_machine, systemd_machine

SOCKET = "/run/user/1000/memd/memd.sock"
PLAIN = Machine(kind="none", folder="", home=HOME, uid=1000)


def _holding(pid: int) -> Machine:
    return Machine(kind="none", folder="", home=HOME, uid=1000, holder_pid=pid)


def test_without_a_service_the_plain_process_is_started_and_ended() -> None:
    assert actions.start(PLAIN, SOCKET) == Plan((StartDaemon(SOCKET),))
    assert actions.stop(_holding(7), SOCKET) == Plan((EndDaemon(SOCKET, 7),))
    assert actions.restart(_holding(7), SOCKET) == Plan((EndDaemon(SOCKET, 7), StartDaemon(SOCKET)))
    assert actions.restart(PLAIN, SOCKET) == Plan((StartDaemon(SOCKET),))


def test_a_manager_without_the_service_installed_is_not_asked() -> None:
    assert actions.start(systemd_machine(), SOCKET) == Plan((StartDaemon(SOCKET),))
    assert actions.stop(launchd_machine(holder_pid=7), SOCKET) == Plan((EndDaemon(SOCKET, 7),))


def test_what_is_so_already_is_told_and_left() -> None:
    assert actions.start(_holding(7), SOCKET) == Plan((), ("the daemon runs already (pid 7)",))
    assert actions.stop(PLAIN, SOCKET) == Plan((), ("no daemon runs",))


def test_an_installed_service_is_asked() -> None:
    machine = systemd_machine(installed=True, service_pid=7, holder_pid=7)

    assert commands(actions.start(machine, SOCKET)) == ["systemctl --user start memd.socket memd.service"]
    assert commands(actions.stop(machine, SOCKET)) == ["systemctl --user stop memd.socket memd.service"]
    assert commands(actions.restart(machine, SOCKET))[-1] == "systemctl --user restart memd.service"


def test_starting_beside_a_daemon_without_the_service_is_refused_with_its_pid_and_the_way_out() -> None:
    with pytest.raises(DaemonRunningError, match="pid 4242") as caught:
        actions.start(systemd_machine(installed=True, holder_pid=4242), SOCKET)

    assert "`memctl service restart`" in caught.value.hint
    assert caught.value.data == {"pid": 4242}


@pytest.mark.parametrize("make", [systemd_machine, launchd_machine])
def test_restarting_ends_a_daemon_without_the_service_before_the_service_takes_over(
    make: Callable[..., Machine],
) -> None:
    machine = make(installed=True, loaded=True, holder_pid=4242)

    assert actions.restart(machine, SOCKET).steps[0] == EndDaemon(SOCKET, 4242)
    assert len(actions.restart(machine, SOCKET).steps) > 1
    assert actions.stop(machine, SOCKET).steps[-1] == EndDaemon(SOCKET, 4242)


def test_the_log_is_where_the_daemon_writes_it() -> None:
    assert actions.logs(PLAIN, 5, True, "/r/memd.log") == ("tail", "-n", "5", "-F", "/r/memd.log")
    assert actions.logs(systemd_machine(installed=True), 5, True, "/r/memd.log") == (
        *("journalctl", "--user", "--unit=memd.service", "--lines=5", "--no-pager", "--follow"),
    )
    on_a_mac = actions.logs(launchd_machine(installed=True), 5, False, "/r/memd.log")
    assert on_a_mac == ("tail", "-n", "5", f"{HOME}/Library/Logs/memd/memd.log")
