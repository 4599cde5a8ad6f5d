"""`memctl` itself: exit codes, errors, help, and imports."""

from __future__ import annotations

import errno
import io
import os
import sys

import click
import pytest

from memd.cli.arguments import CommandGroup
from memd.cli.connect import open_client
from memd.cli.main import COMMANDS, root
from memd.cli.output import Output, OutputFailedError, OutputStream, ReaderGoneError
from memd.programs.catalog import MCP_CLIENTS
from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError
from memd_client.messages import GetReply, IndexReply
from tests.unit.cli.memctl_runner import LEASE, MAIN, found, indexed, memctl, status_of

COMMAND_LINES = [[name] for name in COMMANDS] + [["model", "pull"]]


def test_daemon_error_shows_hint_and_exits_with_1() -> None:
    ran = memctl("status", status=AgentUnknownError('No agent has the id "x".'))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        'error: No agent has the id "x".\n  hint: list the agents with `memctl status`\n  code: agent_unknown\n'
    )
    assert ran.client.closed


def test_unreachable_daemon_exits_with_1() -> None:
    ran = memctl("search", "lease", refused=DaemonUnreachableError("Nobody answers on /run/memd.sock."))

    assert ran.code == 1
    assert ran.err.endswith("code: daemon_unreachable\n")


def test_unknown_error_code_is_shown_unchanged() -> None:
    newer = MemdError.from_wire({"code": "disk_on_fire", "message": "Smoke.\x1b[2J", "data": {"hint": ""}})

    assert memctl("status", status=newer).err == "error: Smoke.\\x1b[2J\n  code: disk_on_fire\n"


def test_interrupt_exits_with_130_without_output() -> None:
    ran = memctl("search", "lease", search=KeyboardInterrupt())

    assert (ran.code, ran.out, ran.err) == (130, "", "")
    assert ran.client.closed


def test_closed_output_ends_the_command_silently() -> None:
    ran = memctl("search", "lease", search=ReaderGoneError())

    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_broken_pipe_and_final_flush_are_silent() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = OutputStream(os.fdopen(writing, "w", encoding="utf-8"))

    with pytest.raises(ReaderGoneError):
        stream.write("x" * 100_000)
    with pytest.raises(ReaderGoneError):
        OutputStream(_failing(BrokenPipeError())).write_bytes_of("x")
    stream.file.close()


def test_full_disk_is_reported_and_exits_with_1() -> None:
    with pytest.raises(OutputFailedError) as caught:
        OutputStream(_failing(OSError(errno.ENOSPC, "No space left on device"))).write("x")
    ran = memctl("search", "lease", search=caught.value)

    assert ran.code == 1
    assert ran.err == (
        "error: cannot write the output: No space left on device\n"
        "  hint: free disk space, or redirect the output to another disk\n"
        "  code: output\n"
    )


def _failing(error: OSError) -> io.TextIOWrapper:
    """Return a text stream whose writes fail."""

    class Failing(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            raise error

    return io.TextIOWrapper(Failing(), encoding="utf-8", write_through=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [["serch"], ["--unknown"], ["model", "pul"], ["model", "pull"]])
def test_invalid_arguments_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert memctl(*arguments).code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", COMMAND_LINES)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help_with_examples(
    arguments: list[str], flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = memctl(*arguments, flag)

    shown = capsys.readouterr().out
    assert ran.code == 0
    assert f"Usage: memctl {' '.join(arguments)}" in shown
    assert f"Examples:\n    memctl {' '.join(arguments)}" in shown


def test_without_a_command_the_help_is_shown() -> None:
    ran = memctl()

    assert ran.code == 0
    assert [name for name in COMMANDS if f"\n  {name} " not in ran.out] == []


GROUPED = [name for name in COMMANDS if isinstance(root.get_command(click.Context(root), name), click.Group)]


@pytest.mark.parametrize(
    "name", [name for name in GROUPED if name not in ("mcp", "remote", "sources", "usage")]
)
def test_group_without_a_command_prints_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = memctl(name)

    assert (ran.code, ran.err, ran.opened) == (0, "", 0)
    memctl(name, "--help")
    assert ran.out == capsys.readouterr().out


@pytest.mark.parametrize("name", ["completion", "note"])
def test_command_without_arguments_prints_its_help_on_standard_error(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = memctl(name)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    memctl(name, "--help")
    assert ran.err == capsys.readouterr().out


def _groups() -> list[tuple[str, click.Context]]:
    top = click.Context(root, info_name="memctl", obj=None)
    below = [click.Context(root.require_command(top, name), top, name) for name in GROUPED]
    return [(each.command_path, each) for each in (top, *below)]


@pytest.mark.parametrize(("path", "context"), _groups(), ids=[path for path, _ in _groups()])
def test_summary_of_a_command_fits_on_a_line(
    path: str, context: click.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert isinstance(context.command, CommandGroup)
    summaries = {
        name: context.command.require_command(context, name).get_short_help_str(limit=1_000)
        for name in context.command.list_commands(context)
    }
    shown = context.command.get_help(context)

    assert "..." not in shown.partition("Options:")[2]
    assert [name for name, text in summaries.items() if f"{name} " not in shown or text not in shown] == []


def test_the_help_groups_commands_by_purpose() -> None:
    shown = memctl().out

    titles = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Search:", "Work:", "Monitor:", "Maintain:", "Set up:"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["serch", "x"], "no such command 'serch'. Did you mean 'search'?"),
        (["STATUSS"], "Did you mean 'status'?"),
        (["facts", "lst"], "no such command 'lst'. Did you mean 'list'?"),
        (["mcp", "instal", "codex"], "Did you mean 'install'?"),
        (["search", "--max-result", "3", "x"], "Did you mean one of: '--max-chars', '--max-results'?"),
        (["mcp", "install", "cursr"], "Did you mean 'cursor'?"),
        (["completion", "bsh"], "Did you mean 'bash'?"),
        (["logs", "--level", "warn"], "Did you mean 'warning'?"),
        (["sources", "ad", "codex"], "no such command 'ad'. Did you mean 'add'?"),
        (["facts", "add", "--category", "preferenc", "x"], "Did you mean 'preference'?"),
    ],
)
def test_mistyped_word_gets_a_suggestion(arguments: list[str], meant: str) -> None:
    ran = memctl(*arguments)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert meant in ran.err.splitlines()[0]


@pytest.mark.parametrize("arguments", [["xyzzy"], ["facts", "xyzzy"], ["completion", "xyzzy"]])
def test_dissimilar_word_gets_no_suggestion(arguments: list[str]) -> None:
    ran = memctl(*arguments)

    assert ran.code == 2
    assert "Did you mean" not in ran.err


def test_missing_argument_is_reported_with_its_choices_on_one_line() -> None:
    ran = memctl("mcp", "install")

    assert ran.err.splitlines()[0] == (
        f"error: missing argument 'CLIENT'. Choose from {', '.join(MCP_CLIENTS)}"
    )


def test_version_is_printed_without_a_daemon() -> None:
    ran = memctl("--version")

    assert ran.code == 0
    assert ran.out.startswith("memctl ")
    assert ran.opened == 0


def test_output_to_a_pipe_does_not_import_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "rich" or name.startswith("rich.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)

    for arguments, replies in (
        (["status"], {"status": status_of(MAIN)}),
        (["search", "lease"], {"search": found(LEASE)}),
        (["search", "lease", "--json"], {"search": found(LEASE)}),
        (["get", "MEMORY.md"], {"get": GetReply("main", "MEMORY.md", "x\n", 1, 1, 1)}),
        (["index"], {"index": IndexReply([indexed()])}),
        (["serch"], {}),
    ):
        assert memctl(*arguments, **replies).code in (0, 2)


def test_command_is_imported_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        f"memd.cli.{place.partition(':')[0]}"
        for name, place in COMMANDS.items()
        if name not in ("search", "help")
    ]
    for name in others:
        monkeypatch.delitem(sys.modules, name, raising=False)

    memctl("search", "lease", search=found(LEASE))

    assert [name for name in others if name in sys.modules] == []


@pytest.mark.parametrize(
    ("variables", "has_colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_used_only_on_terminals_that_want_it(
    variables: dict[str, str], has_colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    ran = memctl("status", status=status_of(MAIN), terminal=True)
    wrong = memctl("serch", terminal=True)

    assert ("\x1b[" in ran.out) is has_colour
    assert ("\x1b[" in wrong.err) is has_colour
    assert "\x1b" not in memctl("status", status=status_of(MAIN)).out


def test_command_in_a_hint_is_not_split_by_wrapping() -> None:
    command = "`/a/rather/long/path/python -m pip install 'mcp<2,>=1.30'`"
    error = MemdError(
        "a package is missing, and no line of this message is longer than the terminal", hint=command
    )

    ran = memctl("status", status=error, terminal=True, colour=False, width=40)

    assert f"  hint: {command}\n" in ran.err
    assert max(map(len, ran.err.partition("  hint: ")[0].splitlines())) <= 40


def test_characters_outside_the_encoding_are_escaped() -> None:
    octets = io.BytesIO()
    stream = OutputStream(io.TextIOWrapper(octets, encoding="ascii"))

    Output(stream, stream, lambda: 0.0).error("café", "", "internal")

    assert octets.getvalue() == b"error: caf\\xe9\n  code: internal\n"


@pytest.mark.parametrize(("value", "autostart"), [(None, True), ("1", True), ("0", False)])
def test_the_daemon_is_started_unless_memd_autostart_is_0(
    value: str | None, autostart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []
    monkeypatch.setattr("memd_client.Client.__init__", lambda _, **facts: made.append(facts))
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)
    if value is not None:
        monkeypatch.setenv("MEMD_AUTOSTART", value)

    open_client()

    assert made == [{"autostart": autostart, "client_name": "memctl"}]
