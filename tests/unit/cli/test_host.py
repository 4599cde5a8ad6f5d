"""`memctl --host`: which commands use another machine's memory, and which are refused."""

from __future__ import annotations

from typing import Any

import click
import pytest

from memd.cli.completion import agent_ids
from memd.cli.host import LOCAL_COMMANDS
from memd.cli.main import COMMANDS, root
from memd_client.messages import ModelReply
from tests.unit.cli.memctl_runner import LEASE, MAIN, FakeClient, MemctlResult, found, memctl, status_of

ARGUMENTS = {name: [name] for name in sorted(LOCAL_COMMANDS)} | {
    "sources add": ["sources", "add", "codex"],
    "sources remove": ["sources", "remove", "codex"],
}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of each client that is made."""
    made: list[dict[str, Any]] = []
    replies = {
        "search": found(LEASE),
        "status": status_of(MAIN),
        "model": ModelReply("", "/models/x.gguf", 1, []),
    }

    def make(**options: Any) -> FakeClient:
        made.append(options)
        return FakeClient(replies)

    monkeypatch.setattr("memd_client.Client", make)
    monkeypatch.delenv("MEMD_HOST", raising=False)
    return made


def check_refused(ran: MemctlResult, command: str) -> None:
    first, hint, code = ran.err.splitlines()
    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert first.startswith(f"error: `memctl {command}` works on its own machine only")
    assert (hint, code) == (f"  hint: run it there: ssh eva@server memctl {command} …", "  code: usage")


@pytest.mark.parametrize("arguments", [["search", "lease"], ["status"], ["agents"]])
def test_command_uses_the_memory_of_the_host(made: list[dict[str, Any]], arguments: list[str]) -> None:
    ran = memctl("--host", "eva@server", *arguments)

    assert (ran.code, ran.opened) == (0, 0)
    assert made == [{"host": "eva@server", "client_name": "memctl"}]


def test_host_is_read_from_its_variable(made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_HOST", "eva@server")

    assert memctl("status").code == 0
    assert memctl("--host", "other", "status").code == 0
    assert [options["host"] for options in made] == ["eva@server", "other"]


@pytest.mark.parametrize("command", ARGUMENTS)
def test_command_about_its_own_machine_is_refused(made: list[dict[str, Any]], command: str) -> None:
    check_refused(memctl("--host", "eva@server", *ARGUMENTS[command]), command)
    assert made == []


def test_command_is_refused_for_the_variable_too(
    made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_HOST", "eva@server")

    check_refused(memctl("service", "stop"), "service")


def test_shell_completion_is_printed_whatever_the_variable_says(
    made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_HOST", "eva@server")

    assert "_MEMCTL_COMPLETE" in memctl("completion", "bash").out


def test_all_commands_are_local_or_need_only_the_daemon() -> None:
    from_a_host = {
        "agents",
        "blame",
        "facts",
        "files",
        "fix",
        "forget",
        "get",
        "handoff",
        "help",
        "how",
        "index",
        "metrics",
        "model",
        "note",
        "remote",
        "reset",
        "search",
        "sources",
    }
    assert COMMANDS.keys() - LOCAL_COMMANDS == from_a_host | {"status", "top", "trust", "usage", "vacuum"}


def test_sample_is_refused_with_a_host(made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    ran = memctl("--host", "server", "--sample", "search", "x")
    monkeypatch.setenv("MEMD_HOST", "server")
    by_variable = memctl("--sample", "search", "x")

    assert (
        ran.err == "error: --sample cannot be combined with --host\n  hint: omit one of them\n  code: usage\n"
    )
    assert "hint: unset MEMD_HOST" in by_variable.err
    assert (ran.code, by_variable.code, made) == (2, 2, [])


def test_option_for_a_host_is_refused_before_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_SSH", "/nowhere/ssh")

    ran = memctl("--host=-oProxyCommand=x", "status")

    assert ran.code == 1
    assert ran.err.startswith("error: not a host for ssh: '-oProxyCommand=x'")


def test_path_of_a_model_is_sent_unchanged_to_a_host(
    made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient({"model": ModelReply("", "/models/x.gguf", 1, [])})
    monkeypatch.setattr("memd_client.Client", lambda **_: client)

    memctl("--host", "server", "model", "pull", "~/x.gguf")

    assert [params["ref"] for _, params in client.calls] == ["~/x.gguf"]


def test_import_of_facts_from_a_host_needs_a_path(made: list[dict[str, Any]]) -> None:
    ran = memctl("--host", "server", "facts", "import")

    assert ran.code == 2
    assert "PATH is required with --host" in ran.err


def test_help_is_shown_with_a_host(made: list[dict[str, Any]]) -> None:
    ran = memctl("--host", "server", "help", "search")

    assert (ran.code, made) == (0, [])
    assert "Usage: memctl search" in ran.out


def test_ids_of_another_machine_are_not_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "memd.service.install.lock_holder.find_holder", lambda _: pytest.fail("a daemon was looked for")
    )
    context = click.Context(root)
    context.params["host"] = "server"

    assert agent_ids(context, "") == []


def test_host_option_is_completed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MEMCTL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "memctl --ho")
    monkeypatch.setenv("COMP_CWORD", "1")

    with pytest.raises(SystemExit):
        memctl()

    assert capsys.readouterr().out == "plain,--host\n"
