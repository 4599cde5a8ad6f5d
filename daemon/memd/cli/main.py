"""The `memctl` command: its subcommands, imported on first use, and its exit codes."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence

import click

from memd.cli.arguments import (
    ArgumentChoice,
    CommandGroup,
    CommandWithArguments,
    HintedError,
    examples,
    utf8,
)
from memd.cli.connect import HOST_VARIABLE, CliSession, offer_sample, real_session
from memd.cli.output import OutputFailedError, ReaderGoneError
from memd.system.descriptors import open_missing_descriptors
from memd_client.errors import MemdError

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
"""128 plus the number of SIGINT, as in shells."""

COMMANDS = {
    "status": "status:status",
    "search": "search:command",
    "get": "notes:get",
    "note": "notes:note",
    "handoff": "handoff:command",
    "how": "work:how",
    "fix": "work:fix",
    "blame": "work:blame",
    "files": "work:files",
    "agents": "status:agents",
    "index": "indexing:index",
    "reset": "indexing:reset",
    "vacuum": "indexing:vacuum",
    "facts": "facts:command",
    "forget": "forget:command",
    "web": "web:command",
    "setup": "setup.command:command",
    "sample": "sample:command",
    "sources": "sources:command",
    "remote": "remote:command",
    "model": "model:command",
    "service": "service:command",
    "mcp": "mcp:command",
    "hooks": "hooks:command",
    "usage": "usage:command",
    "trust": "trust:command",
    "doctor": "doctor:command",
    "top": "top:command",
    "metrics": "metrics:command",
    "eval": "evaluate:command",
    "logs": "logs:command",
    "stdio": "stdio:command",
    "completion": "main:completion",
    "help": "main:help_command",
}
"""Module and attribute that define each command."""

ALIASES = {"show": "web"}
"""Other names of commands, which the help doesn't list."""

VARIABLE = "_MEMCTL_COMPLETE"
"""Variable that a completion script sets when it calls `memctl`; click derives the name."""

GROUPS = {
    "Search": ("search", "get", "handoff", "web", "agents"),
    "Work": ("how", "fix", "blame", "files"),
    "Monitor": ("status", "usage", "trust", "top", "metrics", "eval", "doctor", "logs"),
    "Maintain": ("note", "facts", "forget", "index", "reset", "vacuum", "remote"),
    "Set up": (
        "setup",
        "sample",
        "sources",
        "model",
        "service",
        "mcp",
        "hooks",
        "stdio",
        "completion",
        "help",
    ),
}
"""All commands by section of the help."""


class LazyGroup(CommandGroup):
    """A group that imports each command on first use, so that a search imports no other command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the commands by section of the help."""
        return GROUPS

    def suggestions(self, ctx: click.Context) -> Sequence[str]:
        """Return the commands, and those of the service, which users expect here."""
        return [*(f"service {each}" for each in ("start", "stop", "restart")), *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name; None if there is none."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
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
@click.option("--sample", is_flag=True, help="Use the sample memory; see `memctl sample`.")
@click.option(
    "--host",
    type=utf8,
    metavar="HOST",
    envvar=HOST_VARIABLE,
    help="Use the memory of another machine, which `ssh HOST` must reach.",
)
@click.pass_context
def root(ctx: click.Context, version: bool, sample: bool, host: str | None) -> None:
    """Search and maintain the memory of your agents.

    Commands that need the daemon start it; MEMD_AUTOSTART=0 prevents that. `memctl help COMMAND` explains a
    command.
    """
    session: CliSession = ctx.obj
    if version:
        session.output.text(f"memctl {_version()}\n")
        ctx.exit()
    if host is not None:
        from memd.cli.host import use_host

        use_host(ctx, host, sample=sample)
    if sample:
        from memd.cli.sample import enter_sample

        enter_sample()
    if ctx.invoked_subcommand is None:
        session.output.text(ctx.get_help() + "\n")
        offer_sample(session)


def _complete_commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the subcommands that complete the words on the command line."""
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
    session: CliSession = ctx.obj
    session.output.text(find_command(ctx.find_root(), words).get_help() + "\n")


def find_command(root: click.Context, words: Sequence[str]) -> click.Context:
    """Return the context of the command that words name, such as `facts add`."""
    context = root
    for word in words:
        group = context.command
        if not isinstance(group, CommandGroup):
            raise click.UsageError(f"`{context.command_path}` has no command {word!r}", context)
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
@click.argument("shell", metavar="SHELL", type=ArgumentChoice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(session: CliSession, shell: str) -> None:
    """Print the script that completes `memctl` in a SHELL: bash, zsh or fish.

    Add it to your shell's startup file, as below, and open a new shell. It needs bash 4.4 or later (macOS has an older
    one), or zsh with `compinit` before it. Ids of agents and facts, and names of models, are completed if the daemon
    runs; completion does not start it.
    """
    session.output.text(script(shell))


def script(shell: str) -> str:
    """Return the script for a shell: `bash`, `zsh` or `fish`."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # Not the class's own `source`: bash's runs a shell to check its version, which need not be the user's shell.
    return ShellComplete.source(kind(root, {}, "memctl", VARIABLE))


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("memd-daemon")
    except PackageNotFoundError:
        return "(not installed)"


def run(arguments: Sequence[str], session: CliSession) -> int:
    """Run a command and return its exit code."""
    try:
        code = root.main(list(arguments), prog_name="memctl", standalone_mode=False, obj=session)
        return code if isinstance(code, int) else EXIT_OK
    except ReaderGoneError:
        return EXIT_OK
    except OutputFailedError as error:
        hint = "free disk space, or redirect the output to another disk"
        return _print_error(session, f"cannot write the output: {error}", hint, "output", EXIT_ERROR)
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _print_error(session, _usage_message(error), _usage_hint(error), "usage", error.exit_code)
    except MemdError as error:
        return _print_error(session, error.message, error.hint, error.wire_code, EXIT_ERROR)


def _print_error(session: CliSession, message: str, hint: str, code: str, exit_code: int) -> int:
    """Print an error and return its exit code, even if standard error is closed."""
    with contextlib.suppress(ReaderGoneError, OutputFailedError):
        session.output.error(message, hint, code)
    return exit_code


CLICK_MESSAGE = re.compile(r"(Invalid|Missing|No such|Got|Option|Could not)\b")


def _usage_message(error: click.ClickException) -> str:
    """Return the message of a usage error; click's own start in upper case and end with a full stop."""
    text = error.format_message().removesuffix(".")
    return text[0].lower() + text[1:] if CLICK_MESSAGE.match(text) else text


def _usage_hint(error: click.ClickException) -> str:
    """Return the error's own hint, or the command that shows the correct usage."""
    if isinstance(error, HintedError):
        return error.hint
    path = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "memctl"
    return f"run `{path} --help`"


def main() -> None:
    """Run the command of this process."""
    open_missing_descriptors()
    sys.exit(run(sys.argv[1:], real_session()))
