"""Shell completion, and `memctl help`."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import click
import pytest

from memd.cli import notes, search
from memd.cli.completion import agent_ids, model_refs
from memd.cli.main import root
from memd_client.errors import DaemonUnreachableError
from memd_client.facts import FactRow, FactsReply
from memd_client.messages import ModelFile, ModelReply
from tests.unit.cli.memctl_runner import MAIN, memctl, status_of


def command_lines(context: click.Context, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words of every command below a group."""
    lines = [above]
    group = context.command
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            lines += command_lines(click.Context(command, context, name), (*above, name))
    return lines


ROOT = click.Context(root)

LINES = command_lines(ROOT)


def test_completion_covers_commands_of_all_levels() -> None:
    assert {(), ("search",), ("facts",), ("facts", "add"), ("help",)} <= set(LINES)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_help_command_prints_the_same_as_the_help_option(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    memctl(*words, "--help")
    printed = capsys.readouterr().out
    ran = memctl("help", *words)

    assert (ran.code, ran.err, ran.opened) == (0, "", 0)
    assert ran.out == printed
    assert f"Usage: memctl {' '.join(words)}" in printed


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["serch"], "no such command 'serch'. Did you mean 'search'?", "run `memctl --help`"),
        (["facts", "ad"], "no such command 'ad'. Did you mean 'add'?", "run `memctl facts --help`"),
        (["search", "lease"], "`memctl search` has no command 'lease'", "run `memctl search --help`"),
    ],
)
def test_help_of_an_unknown_command_is_a_usage_error(words: list[str], message: str, hint: str) -> None:
    ran = memctl("help", *words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {message}\n  hint: {hint}\n  code: usage\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_in_its_shell(shell: str) -> None:
    ran = memctl("completion", shell)

    assert (ran.code, ran.opened) == (0, 0)
    assert "_MEMCTL_COMPLETE" in ran.out
    if program := shutil.which(shell):
        done = subprocess.run([program, "-n"], input=ran.out, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_unknown_shell_is_a_usage_error() -> None:
    assert memctl("completion", "tcsh").code == 2


class Daemon:
    """A client whose requests succeed, or wait too long."""

    def __init__(self, wait: Any = None) -> None:
        self._wait = wait

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *exc_info: object) -> None:
        return None

    def status(self) -> Any:
        if isinstance(self._wait, Exception):
            raise self._wait
        if self._wait is not None:
            self._wait.wait()
        return status_of(MAIN)

    def facts(self, *, agent: str | None) -> FactsReply:
        row = FactRow("01J", "I like tea", 0.7, "preference", None, 0.0, "memory/facts.md", 3)
        return FactsReply(agent or "main", [row], 1)

    def model(self, *, action: str) -> ModelReply:
        assert action == "list"
        return ModelReply("", "/models", 1, [ModelFile("minilm", "/models/m.gguf", 1, [], False)])


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, short_path: Path) -> Any:
    """Simulate a running daemon with the given client."""
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "memd.sock"))

    def start(daemon: Daemon) -> None:
        monkeypatch.setattr("memd.service.install.lock_holder.find_holder", lambda _: 42)
        monkeypatch.setattr("memd_client.Client", lambda *_, **__: daemon)

    return start


def test_agents_and_models_are_completed_from_the_daemon(runs: Any) -> None:
    runs(Daemon())

    assert (agent_ids(ROOT, ""), agent_ids(ROOT, "ma"), agent_ids(ROOT, "x")) == (["main"], ["main"], [])
    assert model_refs(ROOT, "mini") == ["minilm"]


def test_all_is_completed_only_for_the_agent_of_a_search(runs: Any) -> None:
    runs(Daemon())

    def completed(command: click.Command, incomplete: str) -> list[str]:
        (option,) = (each for each in command.params if each.name == "agent")
        return [item.value for item in option.shell_complete(click.Context(command), incomplete)]

    assert [completed(search.command, begun) for begun in ("", "al", "m")] == [
        ["all", "main"],
        ["all"],
        ["main"],
    ]
    assert completed(notes.get, "") == ["main"]


def test_without_a_daemon_nothing_is_completed_and_none_is_started(
    monkeypatch: pytest.MonkeyPatch, short_path: Path
) -> None:
    monkeypatch.setenv("MEMD_SOCKET", str(short_path / "memd.sock"))
    monkeypatch.setattr("memd_client.Client", lambda *_, **__: pytest.fail("a client connected"))

    assert agent_ids(ROOT, "") == []
    assert list(short_path.iterdir()) == []


def test_failing_daemon_completes_nothing(runs: Any) -> None:
    runs(Daemon(DaemonUnreachableError("gone")))

    assert agent_ids(ROOT, "") == []


def test_hanging_daemon_does_not_delay_completion(runs: Any) -> None:
    never = threading.Event()
    runs(Daemon(never))

    try:
        assert agent_ids(ROOT, "") == []  # returns although the daemon never replies
    finally:
        never.set()


@pytest.mark.parametrize(
    ("typed", "completions"),
    [
        ("memctl search --agent m", "main"),
        ("memctl no", "note"),
        ("memctl note --agent m", "main"),
        ("memctl note --d", "--date"),
        ("memctl facts a", "add"),
        ("memctl facts add --category p", "preference"),
        ("memctl facts edit 0", "01J"),
        ("memctl facts forget 0", "01J"),
        ("memctl help se", "search setup service"),
        ("memctl help facts f", "forget"),
    ],
)
def test_shell_gets_completions(
    typed: str,
    completions: str,
    runs: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs(Daemon())
    monkeypatch.setenv("_MEMCTL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))

    with pytest.raises(SystemExit):
        memctl()

    assert capsys.readouterr().out == "".join(f"plain,{each}\n" for each in completions.split())
