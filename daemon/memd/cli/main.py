"""The command `memctl`: its commands, found when they are asked for, and its exit codes."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence

import click

from memd.cli.arguments import Choice, CommandGroup, CommandWithArguments, examples, utf8
from memd.cli.connect import Session, offer_sample, real_session
from memd.cli.output import OutputFailedError, ReaderGoneError
from memd.system.descriptors import open_missing_descriptors
from memd_client.errors import MemdError

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""

COMMANDS = {
    "status": "status:status",
    "search": "search:command",
    "get": "notes:get",
    "note": "notes:note",
    "agents": "status:agents",
    "index": "indexing:index",
    "reset": "indexing:reset",
    "vacuum": "indexing:vacuum",
    "facts": "facts:command",
    "show": "show:command",
    "import": "memory_import:command",
    "sample": "sample:command",
    "model": "model:command",
    "service": "service:command",
    "mcp": "mcp:command",
    "doctor": "doctor:command",
    "top": "top:command",
    "metrics": "metrics:command",
    "logs": "logs:command",
    "completion": "main:completion",
    "help": "main:help_command",
}
"""Where each command is defined, as a module and its attribute."""

VARIABLE = "_MEMCTL_COMPLETE"
"""What the script sets when it asks `memctl` for completions, by click's rule."""

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
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(importlib.import_module(f"memd.cli.{module}"), attribute)
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
        session.output.text(ctx.get_help() + "\n")
        offer_sample(session)


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
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
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


@click.command(
    "completion",
    cls=CommandWithArguments,
    short_help="Print the script that completes commands in your shell.",
    epilog=examples(
        "memctl completion bash >> ~/.bashrc",
        "memctl completion zsh >> ~/.zshrc",
        "memctl completion fish > ~/.config/fish/completions/memctl.fish",
    ),
)
@click.argument("shell", metavar="SHELL", type=Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(session: Session, shell: str) -> None:
    """Print the script that completes `memctl` in a SHELL: bash, zsh or fish.

    Put it where the shell reads it when it starts, as below, and open a new one. Bash must be 4.4 or later (macOS
    has an older one), zsh needs `compinit` before it. Ids of agents and facts, and names of models, are completed
    where the daemon runs; none is started for that.
    """
    session.output.text(script(shell))


def script(shell: str) -> str:
    """Return the script for a shell: `bash`, `zsh` or `fish`."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # Not the class's own `source`: bash's runs a shell to ask for its version, and that one isn't the reader's.
    return ShellComplete.source(kind(root, {}, "memctl", VARIABLE))


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
