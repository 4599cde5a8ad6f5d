"""The same memory on several machines: real daemons, real git, a real bare repository."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.system.clock import wall_clock_ms
from memd_client.errors import (
    BadParamsError,
    GitFailedError,
    GitMissingError,
    MemdError,
    RemoteExistsError,
    RemoteUnknownError,
    RemoteUnreachableError,
)
from tests.support.machines import (
    BareRepository,
    MemoryMachine,
    connect,
    git_in,
    machines,
    settle,
    wait_until,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[MemoryMachine, MemoryMachine, BareRepository]]:
    """Two machines in sync. Tests use notes of their own."""
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "# Memory\n\n- the lease ends in May\n")
        laptop.note("memory/2026-03-05.md", "# 2026-03-05\n\n- 10:00 bought paint\n")
        connect([laptop, server], hub.url)
        yield laptop, server, hub


# --- connecting -----------------------------------------------------------------------------------------


def test_clone_brings_the_notes_and_search_finds_them(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair

    assert server.text("MEMORY.md") == laptop.text("MEMORY.md")
    assert server.hits("lease") == ["MEMORY.md"]
    assert (server.status().state, server.status().files >= 2) == ("ok", True)


def test_note_of_one_machine_is_found_by_search_on_the_other_without_a_request(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair

    laptop.note("memory/zebra.md", "The zebra enclosure is done.\n")

    wait_until(lambda: server.hits("zebra"))


def test_first_search_after_a_change_elsewhere_finds_it_or_names_the_reason(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    settle([laptop, server])
    laptop.note("memory/okapi.md", "The okapi enclosure is done.\n")
    laptop.remote("sync")
    # Within two seconds after a look, a search leads to none.
    wait_until(lambda: wall_clock_ms() - (server.status().last_sync_ms or 0) > 2_100)
    if (server.workspace / "memory/okapi.md").exists():
        pytest.skip("the regular sync was first")

    with server.daemon.client() as client:
        reply = client.search("okapi")

    assert reply.hits or (reply.empty is not None and reply.empty.code == "remote_pending")
    wait_until(lambda: server.hits("okapi"))


def test_machines_have_names_of_their_own_and_status_says_how_far_each_is(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    settle([laptop, server])

    names = {each.name: each for each in laptop.status().machines}
    assert set(names) == {laptop.status().machine, server.status().machine}
    assert len(names) == 2
    assert names[laptop.status().machine].is_local
    server.remote("pause")
    laptop.note("memory/far.md", "something new\n")
    laptop.remote("sync")
    behind = {each.name: each.behind for each in laptop.status().machines}
    assert behind[server.status().machine] == 1
    assert behind[laptop.status().machine] == 0
    server.remote("resume")


def test_two_machines_that_both_have_notes_are_merged_when_they_connect() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "# Memory\n\n- tea, not coffee\n")
        server.note("MEMORY.md", "# Memory\n\n- the server is called otter\n")
        server.note("memory/only-here.md", "kept\n")

        connect([laptop, server], hub.url)
        settle([laptop, server])

        for text in ("- tea, not coffee", "- the server is called otter"):
            assert text in laptop.text("MEMORY.md")
        assert laptop.text("memory/only-here.md") == "kept\n"


def test_one_repository_has_several_agents_and_clone_makes_those_that_are_missing() -> None:
    with machines(2) as ((laptop, server), hub):
        for name in ("main", "ops"):
            (laptop.home.state / "agents" / name).mkdir(parents=True)
        laptop.home.note("MEMORY.md", "the agent ops deploys\n", agent="ops")
        laptop.note("MEMORY.md", "the agent main talks\n")
        laptop.daemon.stop()
        laptop.daemon.start()
        laptop.remote("add", url=hub.url)
        laptop.remote("add", url=hub.url, agent="ops")

        rows = server.remote("clone", url=hub.url).remotes

        assert [row.agent for row in rows] == ["main", "ops"]
        with server.daemon.client() as client:
            assert client.search("deploys", agent="ops").hits[0].path == "MEMORY.md"
            assert client.search("deploys", agent="main").hits == []


def test_clone_of_many_agents_needs_a_confirmation() -> None:
    with machines(1) as ([laptop], hub):
        laptop.note("MEMORY.md", "first\n")
        laptop.remote("add", url=hub.url)
        for number in range(11):
            hub.git("update-ref", f"refs/heads/memd/crew-{number:02}", "refs/heads/memd/main")

        with pytest.raises(BadParamsError, match="memory of 11 agents that are missing here") as raised:
            laptop.remote("clone", url=hub.url)
        assert raised.value.data["agents"] == 11
        assert not list((laptop.home.state / "agents").glob("crew-*"))
        assert [row.agent for row in laptop.remote("clone", url=hub.url, agent="crew-03").remotes] == [
            "crew-03"
        ]
        assert len(laptop.remote("clone", url=hub.url).remotes) == 12  # 10 were missing


def test_folder_that_is_no_repository_is_refused_and_nothing_is_kept_of_it(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository], tmp_path: Path
) -> None:
    with machines(1) as ([machine], _):
        for url in (str(tmp_path), str(tmp_path / "missing.git")):
            with pytest.raises(RemoteUnreachableError, match=r"git repository|not exist"):
                machine.remote("add", url=url)
        assert machine.remote("status").remotes == []
        assert not machine.repository().exists()


def test_requests_on_remotes_that_do_not_fit_say_why(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, _, hub = pair

    with pytest.raises(RemoteExistsError, match="another remote"):
        laptop.remote("add", url="me@elsewhere:memory.git")
    with pytest.raises(BadParamsError, match="not absolute"):
        laptop.remote("add", url="hub.git")
    with pytest.raises(BadParamsError, match="no memory of agent 'nobody'"):
        laptop.remote("clone", url=hub.url, agent="nobody")
    with pytest.raises(BadParamsError, match="is not a file of conflicts"):
        laptop.remote("resolve", paths=["MEMORY.md"])
    with pytest.raises(BadParamsError, match="the history has no file"):
        laptop.remote("purge", path="memory/never.md")
    with machines(1) as ([machine], empty):
        for action in ("sync", "pause", "remove", "purge"):
            with pytest.raises(RemoteUnknownError, match=r"has no remote|no agent has"):
                machine.remote(action, path="MEMORY.md")
        with pytest.raises(BadParamsError, match="no memory of any agent"):
            machine.remote("clone", url=empty.url)


def test_machine_without_git_says_so(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path)}
    with machines(1, environ) as ([machine], hub), pytest.raises(GitMissingError, match="not installed"):
        machine.remote("add", url=hub.url)


def test_hooks_and_settings_of_a_folder_run_no_programs(tmp_path: Path) -> None:
    with machines(2) as ((laptop, server), hub):
        ran = tmp_path / "ran"
        script = f"#!/bin/sh\ntouch {ran}\n"
        hooks = (
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "reference-transaction",
            "pre-auto-gc",
        )
        for name in (*hooks, "proc-receive", "push-to-checkout", "post-checkout", "fsmonitor-watchman"):
            hook = hub.path / "hooks" / name
            hook.write_text(script)
            hook.chmod(0o755)
        program = hub.path / "program"
        program.write_text(script)
        program.chmod(0o755)
        for name in (
            "core.fsmonitor",
            "core.alternateRefsCommand",
            "core.sshCommand",
            "gc.recentObjectsHook",
        ):
            hub.git("config", name, str(program))
        hub.git("config", "uploadpack.packObjectsHook", str(program))
        hub.git("config", "core.hooksPath", str(hub.path / "hooks"))
        hub.git("config", "gc.auto", "1")
        (hub.path / "objects/info/alternates").write_text(f"{laptop.repository()}/objects\n")
        laptop.note("MEMORY.md", "first\n")

        laptop.remote("add", url=f"file://{hub.path}")
        server.remote("clone", url=hub.url)
        server.append("MEMORY.md", "second\n")
        settle([laptop, server])
        server.remote("purge", path="MEMORY.md")
        settle([laptop, server])
        server.remote("remove")

        assert laptop.text("MEMORY.md") == "first\nsecond\n"
        assert not ran.exists()


# --- merging --------------------------------------------------------------------------------------------


def test_daily_note_has_the_entries_of_both_machines_in_order_of_time(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    laptop.note("memory/2026-04-01.md", "# 2026-04-01\n\n- 09:00 begins\n")
    settle([laptop, server])

    laptop.append("memory/2026-04-01.md", "- 11:00 from the laptop\n")
    server.append("memory/2026-04-01.md", "- 10:00 from the server\n")
    settle([laptop, server])

    assert laptop.text("memory/2026-04-01.md") == (
        "# 2026-04-01\n\n- 09:00 begins\n- 10:00 from the server\n- 11:00 from the laptop\n"
    )


def test_conflict_keeps_the_local_text_and_the_other_lines_until_it_is_settled(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    laptop.note("USER.md", "# User\n\n- lives in Lisbon\n- likes tea\n")
    settle([laptop, server])
    for machine in (laptop, server):  # so that the server merges
        machine.remote("pause")
    laptop.note("USER.md", "# User\n\n- lives in Porto\n- likes tea\n")
    server.note("USER.md", "# User\n\n- lives in Braga\n- likes tea\n")
    laptop.remote("sync")
    server.remote("sync")

    assert server.text("USER.md") == "# User\n\n- lives in Braga\n- likes tea\n"
    [conflict] = server.status().conflicts
    assert conflict.note == "USER.md"
    assert "- lives in Porto" in server.text(conflict.path)
    settle([laptop, server])
    assert laptop.text("USER.md") == server.text("USER.md")
    for machine in (laptop, server):
        with machine.daemon.client() as client:
            [agent] = client.status().agents
        assert [each.code for each in agent.problems] == ["memory_conflicts"]
        assert agent.remote is not None

    assert laptop.remote("resolve").resolved == [conflict.path]
    settle([laptop, server])
    assert server.status().conflicts == []
    assert not (server.workspace / conflict.path).exists()
    for machine in (laptop, server):
        machine.remote("resume")


def test_fact_has_its_newest_change_and_a_deleted_one_stays_deleted(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    with laptop.daemon.client() as on_laptop, server.daemon.client() as on_server:
        kept = on_laptop.memory_store("The dentist is on Elm Street").id
        gone = on_laptop.memory_store("The gym closes at nine").id
        settle([laptop, server])

        on_laptop.memory_edit(kept, "The dentist is on Oak Street")
        laptop.remote("sync")
        on_server.memory_edit(kept, "The dentist is on Ash Street")
        on_server.memory_forget(gone)
        server.remote("sync")
        settle([laptop, server])

        texts = [fact.text for fact in on_laptop.facts().facts]
    assert "The dentist is on Ash Street" in texts
    assert not any("gym" in text or "Oak" in text for text in texts)


def test_edit_survives_a_deletion_and_follows_a_rename(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, _ = pair
    body = "".join(f"line {number}\n" for number in range(20))
    laptop.note("memory/plan.md", body)
    laptop.note("memory/list.md", body + "list\n")
    settle([laptop, server])

    (laptop.workspace / "memory/plan.md").rename(laptop.workspace / "memory/plan-2026.md")
    (laptop.workspace / "memory/list.md").unlink()
    server.append("memory/plan.md", "added on the server\n")
    server.append("memory/list.md", "added too\n")
    laptop.remote("sync")
    server.remote("sync")
    settle([laptop, server])

    assert laptop.text("memory/plan-2026.md") == body + "added on the server\n"
    assert not (server.workspace / "memory/plan.md").exists()
    assert laptop.text("memory/list.md") == body + "list\nadded too\n"


def test_file_that_a_program_has_open_for_writing_waits(
    pair: tuple[MemoryMachine, MemoryMachine, BareRepository],
) -> None:
    laptop, server, hub = pair
    with (laptop.workspace / "memory" / "draft.md").open("w") as file:
        file.write("half of a sent")
        file.flush()
        laptop.remote("sync")
        assert "memory/draft.md" not in hub.git("ls-tree", "-r", "--name-only", "memd/main")
        file.write("ence\n")
    settle([laptop, server])

    assert server.text("memory/draft.md") == "half of a sentence\n"


# --- faults ---------------------------------------------------------------------------------------------


def test_remote_that_is_away_is_offline_and_everything_is_sent_when_it_is_back() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)
        away = hub.path.with_name("away")
        hub.path.rename(away)
        laptop.append("MEMORY.md", "second\n")

        with pytest.raises(MemdError) as raised:
            laptop.remote("sync")
        assert raised.value.wire_code == "remote_unreachable"
        assert laptop.status().ahead == 1
        assert laptop.hits("second") == ["MEMORY.md"]
        away.rename(hub.path)
        settle([laptop, server])

        assert server.text("MEMORY.md") == "first\nsecond\n"
        assert laptop.status().problem is None


def test_killed_daemon_continues_and_leaves_no_lock() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)
        laptop.append("MEMORY.md", "second\n")
        laptop.daemon.kill()
        plant_locks(laptop)
        laptop.daemon.start()
        settle([laptop, server])
        plant_locks(laptop)
        laptop.remote("pause")
        laptop.remote("resume")
        laptop.append("MEMORY.md", "third\n")
        wait_until(lambda: server.remote("sync") and server.text("MEMORY.md") == "first\nsecond\nthird\n")
        laptop.remote("sync")

        left = [path.name for path in laptop.repository().rglob("*.lock") if path.name != "memd.lock"]
        assert left == []
        git_in(laptop.repository(), "fsck", "--full", "--no-dangling")


def plant_locks(machine: MemoryMachine) -> None:
    """Leave what killed commands of git leave."""
    locks = ("config", "HEAD", "index", "packed-refs", "shallow", "refs/heads/memory", "refs/memd/applied")
    for name in (*(f"{each}.lock" for each in locks), "objects/pack/tmp_pack_x"):
        (machine.repository() / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.repository() / name).write_text("")


def test_damaged_repository_of_memd_is_reported_and_search_continues() -> None:
    with machines(1) as ([laptop], hub):
        laptop.note("MEMORY.md", "first\n")
        laptop.remote("add", url=hub.url)
        shutil.rmtree(laptop.repository() / "objects")
        laptop.append("MEMORY.md", "second\n")

        with pytest.raises(GitFailedError, match=r"git .* failed"):
            laptop.remote("sync")
        assert laptop.status().state == "failed"
        assert laptop.hits("second") == ["MEMORY.md"]


def test_pause_survives_a_restart_and_resume_ends_it() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)
        laptop.remote("pause")
        laptop.daemon.stop()
        laptop.daemon.start()
        wait_until(lambda: laptop.remote("status").remotes)

        assert laptop.status().state == "paused"
        assert laptop.status().next_sync_ms is None
        laptop.remote("resume")
        wait_until(lambda: laptop.status().state == "ok")


def test_remove_keeps_the_notes_and_forgets_the_machine() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)

        name = server.status().machine
        server.remote("remove")

        assert server.remote("status").remotes == []
        assert server.text("MEMORY.md") == "first\n"
        assert not server.repository().exists()
        assert name not in hub.git("for-each-ref")
