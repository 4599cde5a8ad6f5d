"""`memctl help`: the help of a command, as its `--help` prints it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from memd.cli.connect import Session
from memd.cli.groups import CommandGroup
from memd.cli.options import examples, utf8


def _complete_commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the commands below those already on the line."""
    words = ctx.params.get(str(param.name)) or ()
    try:
        group = find_command(ctx.find_root(), words).command
    except click.UsageError:
        return []
    names = group.list_commands(ctx) if isinstance(group, click.Group) else []
    return [name for name in names if name.startswith(incomplete)]


@click.command("help", epilog=examples("memctl help", "memctl help search", "memctl help facts add"))
@click.argument("words", nargs=-1, type=utf8, metavar="[COMMAND]...", shell_complete=_complete_commands)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command."""
    session: Session = ctx.obj
    session.output.text(find_command(ctx.find_root(), words).get_help() + "\n")


def find_command(root: click.Context, words: Sequence[str]) -> click.Context:
    """Return the context of the command that words name, one below the other."""
    context = root
    for word in words:
        group = context.command
        if not isinstance(group, CommandGroup):
            raise click.UsageError(f"`{context.command_path}` has no command {word!r}.", context)
        context = click.Context(group.require_command(context, word), context, word)
    return context
