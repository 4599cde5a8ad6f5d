"""The command `memctl`: its commands, found when they are asked for, and its exit codes."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence

import click

from memd.cli.connect import Session, real_session
from memd.cli.groups import CommandGroup
from memd.cli.options import examples
from memd.cli.output import OutputFailedError, ReaderGoneError
from memd.system.descriptors import open_missing_descriptors
from memd_client.errors import MemdError

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""

COMMANDS = (
    "status",
    "search",
    "get",
    "note",
    "agents",
    "index",
    "reset",
    "vacuum",
    "facts",
    "show",
    "import",
    "sample",
    "model",
    "service",
    "mcp",
    "doctor",
    "top",
    "metrics",
    "logs",
    "completion",
    "help",
)
"""Commands in the order of the help; each is the attribute `command` of the module of its name."""

GROUPS = {
    "Search": ("search", "get", "show", "agents"),
    "Write": ("note", "facts"),
    "Monitor": ("status", "top", "metrics", "doctor", "logs"),
    "Maintain": ("index", "reset", "vacuum"),
    "Set up": ("sample", "import", "model", "service", "mcp", "completion"),
}
"""Commands by their section of the help; a command that is in none of them comes last."""


class LazyGroup(CommandGroup):
    """A group that imports a command when it is asked for: a search must not wait for the rest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the commands by their section of the help."""
        grouped = {name for names in GROUPS.values() for name in names}
        return {**GROUPS, "More": tuple(name for name in COMMANDS if name not in grouped)}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"memd.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.command(
    cls=LazyGroup,
    name="memctl",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("memctl status", "memctl search when does the lease end", "memctl index --agent main"),
)
@click.option("--version", is_flag=True, help="Print the version and exit.")
@click.option("--sample", is_flag=True, help="Work on the sample memory; see `memctl sample`.")
@click.pass_context
def root(ctx: click.Context, version: bool, sample: bool) -> None:
    """Search and maintain the memory of your agents.

    A command that needs the daemon starts it; MEMD_AUTOSTART=0 forbids that. `memctl help COMMAND` explains a
    command.
    """
    session: Session = ctx.obj
    if version:
        session.output.text(f"memctl {_version()}\n")
        ctx.exit()
    if sample:
        from memd.cli.sample import enter_sample

        enter_sample()
    if ctx.invoked_subcommand is None:
        from memd.cli.no_memory import offer_sample

        session.output.text(ctx.get_help() + "\n")
        offer_sample(session)


def _version() -> str:
    """Return the installed release."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("memd-daemon")
    except PackageNotFoundError:
        return "(not installed)"


def run(arguments: Sequence[str], session: Session) -> int:
    """Run a command."""
    try:
        code = root.main(list(arguments), prog_name="memctl", standalone_mode=False, obj=session)
        return code if isinstance(code, int) else EXIT_OK
    except ReaderGoneError:
        return EXIT_OK
    except OutputFailedError as error:
        way_out = "Free some space, or send the output elsewhere."
        return _print_error(session, f"The output can't be written: {error}.", way_out, "output", EXIT_ERROR)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _print_error(session, error.format_message(), _usage_hint(error), "usage", error.exit_code)
    except MemdError as error:
        return _print_error(session, error.message, error.hint, error.wire_code, EXIT_ERROR)


def _print_error(session: Session, message: str, hint: str, code: str, exit_code: int) -> int:
    """Tell an error and return its exit code, whether or not anybody reads standard error."""
    with contextlib.suppress(ReaderGoneError, OutputFailedError):
        session.output.error(message, hint, code)
    return exit_code


def _usage_hint(error: click.ClickException) -> str:
    """Return where the right usage stands."""
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "memctl"
    return f"{path} --help"


def main() -> None:
    """Run the command of this process."""
    open_missing_descriptors()
    sys.exit(run(sys.argv[1:], real_session()))
