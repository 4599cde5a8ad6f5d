"""The launch agent and its commands."""

from __future__ import annotations

import plistlib

from memd.service.install import launchd
from memd.service.install.plan import KeepCopy, MakeDirectory, RemoveFile, RunCommand, is_ours
from tests.unit.service.machines import HOME, commands, launchd_machine, needs, written

PLIST = f"{HOME}/Library/LaunchAgents/ai.memd.daemon.plist"
TARGET = "gui/501/ai.memd.daemon"
BOOTSTRAP = f"launchctl bootstrap gui/501 {PLIST}"


def test_first_install_writes_and_loads_the_agent() -> None:
    plan = launchd.install(needs(), launchd_machine())

    assert list(written(plan)) == [PLIST]
    assert commands(plan) == [f"launchctl enable {TARGET}", BOOTSTRAP]
    assert MakeDirectory(f"{HOME}/Library/Logs/memd") in plan.steps


def test_agent_follows_the_settings() -> None:
    wanted = needs(
        command=("/opt/my apps/memd",), socket="/private/run/memd.sock", environ={"MEMD_CONFIG": "/a&b"}
    )

    text = written(launchd.install(wanted, launchd_machine()))[PLIST]
    agent = plistlib.loads(text.encode())

    assert is_ours(text)
    assert agent["ProgramArguments"] == ["/opt/my apps/memd"]
    assert agent["EnvironmentVariables"] == {"MEMD_CONFIG": "/a&b", "MEMD_SOCKET": "/private/run/memd.sock"}
    assert agent["StandardErrorPath"] == agent["StandardOutPath"] == f"{HOME}/Library/Logs/memd/memd.log"
    assert agent["KeepAlive"] == {"SuccessfulExit": False}


def test_second_install_writes_and_loads_nothing() -> None:
    there = written(launchd.install(needs(), launchd_machine()))

    plan = launchd.install(needs(), launchd_machine(files=there, loaded=True, service_pid=7, holder_pid=7))

    assert written(plan) == {}
    assert commands(plan) == [f"launchctl enable {TARGET}"]


def test_a_changed_agent_is_unloaded_before_it_is_loaded_again() -> None:
    there = written(launchd.install(needs(command=("/old/memd",)), launchd_machine()))

    plan = launchd.install(needs(), launchd_machine(files=there, loaded=True))

    assert commands(plan)[1:] == [f"launchctl bootout {TARGET}", BOOTSTRAP]
    assert [step.tries > 1 for step in plan.steps if isinstance(step, RunCommand)][-1], (
        "launchd may still be busy"
    )


def test_daemon_without_the_service_is_reported_and_the_agent_not_loaded() -> None:
    plan = launchd.install(needs(), launchd_machine(holder_pid=4242))

    assert commands(plan) == [f"launchctl enable {TARGET}"]
    assert any("pid 4242" in each for each in plan.notes)


def test_edited_agent_is_kept_as_a_backup() -> None:
    machine = launchd_machine(files={PLIST: "<plist/>"}, free_names={PLIST: f"{PLIST}.bak"}, loaded=True)

    assert KeepCopy(PLIST, f"{PLIST}.bak") in launchd.install(needs(), machine).steps
    assert launchd.uninstall(machine).steps[-1] == KeepCopy(PLIST, f"{PLIST}.bak")


def test_uninstall_unloads_before_it_removes_and_is_idempotent() -> None:
    there = written(launchd.install(needs(), launchd_machine()))

    plan = launchd.uninstall(launchd_machine(files=there, loaded=True))

    assert commands(plan) == [f"launchctl bootout {TARGET}"]
    assert plan.steps[-1] == RemoveFile(PLIST)
    assert launchd.uninstall(launchd_machine()).steps == ()


def test_start_and_stop_depend_on_whether_the_agent_is_loaded() -> None:
    loaded, not_loaded = launchd_machine(loaded=True), launchd_machine()

    assert [step.argv[1] for step in launchd.start(loaded)] == ["kickstart"]
    assert [step.argv[1] for step in launchd.start(not_loaded)] == ["bootstrap"]
    assert [step.argv[1:3] for step in launchd.restart(loaded)] == [("kickstart", "-k")]
    assert [step.argv[1] for step in launchd.restart(not_loaded)] == ["bootstrap"]
    assert [step.argv[1:3] for step in launchd.stop(loaded)] == [("kill", "SIGTERM")]
    assert launchd.stop(not_loaded) == ()


def test_state_is_parsed_from_launchctl() -> None:
    printed = (
        f"{TARGET} = {{\n\tactive count = 1\n\tstate = running\n\n\tpid = 4242\n\timmediate reason = x\n}}\n"
    )

    assert (launchd.pid_of(printed), launchd.state_of(printed)) == (4242, "running")
    assert (launchd.pid_of("\tstate = not running\n"), launchd.state_of("")) == (0, "")
