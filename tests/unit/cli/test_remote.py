"""`memctl remote` and `memctl remote clone`: requests that are sent, and what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memd_client.errors import BadParamsError, RemoteUnreachableError
from memd_client.messages import (
    MachineStatus,
    MemoryConflict,
    Problem,
    RemoteReply,
    RemoteStatus,
    SkippedFile,
)
from tests.unit.cli import memctl_runner
from tests.unit.cli.memctl_runner import NOW_MS, MemctlResult, memctl

REMOTE = RemoteStatus(
    agent="main",
    url="me@server:memory.git",
    machine="laptop",
    state="ok",
    files=12,
    last_sync_ms=NOW_MS - 60_000,
    next_sync_ms=NOW_MS + 240_000,
    machines=[
        MachineStatus("laptop", is_local=True, behind=0, at_ms=NOW_MS - 60_000),
        MachineStatus("server", behind=3, at_ms=NOW_MS - 7_200_000),
    ],
)

CONFLICT = MemoryConflict(
    path="memory/conflicts/2026-11-26-server-MEMORY.md", note="MEMORY.md", machine="server", date="2026-11-26"
)


@pytest.fixture(autouse=True)
def remote_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fake client answer `remote`."""

    def answer(self: Any, action: str = "status", **params: Any) -> RemoteReply:
        return self._answer(RemoteReply, "remote", action=action, **params)  # type: ignore[no-any-return]

    monkeypatch.setattr(memctl_runner.FakeClient, "remote", answer, raising=False)


def answered(*arguments: str, reply: Any = None) -> MemctlResult:
    return memctl(*arguments, remote=RemoteReply([REMOTE]) if reply is None else reply)


def sent(result: MemctlResult) -> dict[str, Any]:
    [(name, params)] = result.client.calls
    assert name == "remote"
    return {key: value for key, value in params.items() if value not in (None, "", (), False)}


def test_remote_without_a_command_shows_state_machines_and_age() -> None:
    result = answered("remote")

    assert sent(result) == {"action": "status"}
    assert result.out == (
        "main\n"
        "  remote      in sync · 12 files · last sync 1 min ago\n"
        "              me@server:memory.git\n"
        "  machine     laptop · this machine · up to date\n"
        "  machine     server · 3 commits behind · has what was written 2 h ago\n"
    )


def test_remote_without_any_says_how_to_connect_one() -> None:
    result = answered("remote", reply=RemoteReply())

    assert (result.code, result.out) == (0, "")
    assert "connect one with `memctl remote add URL`" in result.err


def test_remote_add_sends_a_folder_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert sent(answered("remote", "add", "hub.git"))["url"] == f"{tmp_path}/hub.git"
    assert sent(answered("remote", "add", "me@server:hub.git"))["url"] == "me@server:hub.git"
    assert sent(answered("remote", "clone", "https://server/hub.git", "--agent", "ops")) == {
        "action": "clone",
        "url": "https://server/hub.git",
        "agent": "ops",
    }


def test_remote_that_is_offline_says_what_git_said_and_what_waits() -> None:
    problem = Problem("remote_unreachable", "me@server:memory.git: connection refused", "check the network")
    offline = replace(REMOTE, state="offline", ahead=2, problem=problem)

    out = answered("remote", "status", reply=RemoteReply([offline])).out

    assert "offline · 12 files · 2 commits to send" in out
    assert "connection refused" in out
    assert "next attempt in 4 min" in out
    assert "laptop · this machine · 2 commits ahead" in out


def test_remote_settle_without_files_lists_conflicts_and_deletes_none() -> None:
    conflicting = replace(REMOTE, conflicts=[CONFLICT])

    result = answered("remote", "resolve", reply=RemoteReply([conflicting]))

    assert sent(result) == {"action": "status"}
    assert result.out == f"{CONFLICT.path}\n"
    assert "lines of server that conflict with MEMORY.md, since 2026-11-26" in result.err


def test_remote_settle_with_files_or_all_prints_what_was_deleted() -> None:
    reply = RemoteReply(resolved=[CONFLICT.path])

    one = answered("remote", "resolve", CONFLICT.path, reply=reply)
    every = answered("remote", "resolve", "--all", reply=RemoteReply())

    assert sent(one) == {"action": "resolve", "paths": (CONFLICT.path,)}
    assert one.out == f"resolved {CONFLICT.path}\n"
    assert sent(every) == {"action": "resolve"}
    assert "there are no conflicts" in every.err


def test_remote_shows_conflicts_and_files_that_wait_or_are_left_out() -> None:
    troubled = replace(
        REMOTE,
        conflicts=[CONFLICT],
        waiting=[SkippedFile("memory/log.md", "open for writing in another program")],
        excluded=[SkippedFile("memory/link.md", "symbolic link; links are not followed")],
    )

    out = answered("remote", reply=RemoteReply([troubled])).out

    for text in (CONFLICT.path, "memory/log.md: open for writing", "memory/link.md: symbolic link"):
        assert text in out


def test_remote_sync_take_over_and_purge_send_their_options() -> None:
    assert sent(answered("remote", "sync", "--accept-rewrite")) == {"action": "sync", "accept_rewrite": True}
    purged = answered("remote", "purge", "MEMORY.md", reply=RemoteReply(commits=3))
    assert sent(purged) == {"action": "purge", "path": "MEMORY.md"}
    assert purged.out == "removed earlier contents of MEMORY.md from 3 commits\n"
    assert "change the secret" in purged.err


def test_purge_lists_the_other_names_of_a_note() -> None:
    purged = answered("remote", "purge", "b.md", reply=RemoteReply(commits=3, purged=["a.md", "b.md"]))
    assert purged.out == "removed earlier contents of b.md from 3 commits\nincluding a.md\n"


@pytest.mark.parametrize(("option", "missing"), [("--delete-missing", "delete"), ("--restore", "restore")])
def test_resume_sends_what_to_do_with_missing_files(option: str, missing: str) -> None:
    assert sent(answered("remote", "resume", option)) == {"action": "resume", "missing": missing}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_clone_of_many_agents_asks_on_a_terminal(monkeypatch: pytest.MonkeyPatch, is_terminal: bool) -> None:
    refusal = BadParamsError("memory of 11 agents", data={"agents": 11})
    requests: list[bool] = []

    def answer(self: Any, action: str, *, confirmed: bool, **params: Any) -> RemoteReply:
        requests.append(confirmed)
        if not confirmed:
            raise refusal
        return RemoteReply([REMOTE])

    monkeypatch.setattr(memctl_runner.FakeClient, "remote", answer)
    monkeypatch.setattr(
        "memd.cli.remote.sys.stdin", type("Keyboard", (), {"isatty": lambda self: is_terminal})()
    )
    monkeypatch.setattr("memd.cli.remote.click.confirm", lambda text, **options: text == "Create 11 agents?")

    cloned = memctl("remote", "clone", "me@server:memory.git")

    assert requests == ([False, True] if is_terminal else [False])
    assert ("main" in cloned.out) == is_terminal
    requests.clear()
    memctl("remote", "clone", "me@server:memory.git", "--yes")
    assert requests == [True]


@pytest.mark.parametrize(
    ("command", "out"),
    [
        ("pause", "paused 1 remote\n"),
        ("resume", "resumed 1 remote\n"),
        ("remove", "removed the remote of agent main: me@server:memory.git\n"),
    ],
)
def test_remote_commands_confirm_what_they_did(command: str, out: str) -> None:
    result = answered("remote", command)

    assert sent(result) == {"action": command}
    assert result.out == out


def test_clone_prints_the_error_of_an_unreachable_remote_with_its_hint() -> None:
    error = RemoteUnreachableError(
        "x: Permission denied (publickey)", hint="set up access without a password"
    )

    result = answered("remote", "clone", "me@server:x.git", reply=error)

    assert result.code == 1
    assert "hint: set up access without a password" in result.err
    assert "code: remote_unreachable" in result.err
