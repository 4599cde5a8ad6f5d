"""Groups and commands that print their help when called alone, and suggest the name that was probably meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from memd.system.nearest_name import did_you_mean

UNCUT = 1_000
"""Characters of a command's summary in a list: more than any has, so that a narrow terminal wraps it."""


class CommandGroup(click.Group):
    """A group that prints its help, on standard output, when it is called without a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help if there are none."""
        if not args and not self.invoke_without_command and not ctx.resilient_parsing:
            ctx.obj.output.text(ctx.get_help() + "\n")
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        if not ctx.resilient_parsing and not args[0].startswith("-"):
            self.require_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def require_command(self, ctx: click.Context, name: str) -> click.Command:
        """Return the command of a name."""
        command = self.get_command(ctx, name)
        if command is None:
            meant = did_you_mean(name, self.list_commands(ctx))
            raise click.UsageError(f"No such command {name!r}{meant or '.'}", ctx)
        return command

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands by the title they are listed below."""
        return {"Commands": self.list_commands(ctx)}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, section by section."""
        for title, names in self.sections(ctx).items():
            rows = [(name, self.require_command(ctx, name).get_short_help_str(limit=UNCUT)) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=20)


class CommandWithArguments(click.Command):
    """A command that prints its help when it is called without its arguments, as an error.

    On standard error: a script that redirects the output must not get the help as the answer.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, or print the help and exit with 2 if there are none."""
        if not args and not ctx.resilient_parsing:
            ctx.obj.output.err.write(ctx.get_help() + "\n")
            ctx.exit(2)
        return super().parse_args(ctx, args)
