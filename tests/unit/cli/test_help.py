"""`memctl help`: what `--help` prints, of every command."""

from __future__ import annotations

import click
import pytest

from memd.cli.main import root
from tests.unit.cli.stage import memctl


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


LINES = command_lines(click.Context(root))


def test_commands_of_all_levels_are_tried() -> None:
    assert {(), ("search",), ("facts",), ("facts", "add"), ("help",)} <= set(LINES)


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_help_of_a_command_is_what_its_option_prints(
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
        (["serch"], "No such command 'serch'. Did you mean 'search'?", "memctl --help"),
        (["facts", "ad"], "No such command 'ad'. Did you mean 'add'?", "memctl facts --help"),
        (["search", "lease"], "`memctl search` has no command 'lease'.", "memctl search --help"),
    ],
)
def test_help_of_an_unknown_command_is_a_wrong_call(words: list[str], message: str, hint: str) -> None:
    ran = memctl("help", *words)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {message}\n  try: {hint}\n  code: usage\n"
