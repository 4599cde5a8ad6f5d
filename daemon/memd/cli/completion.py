"""`memctl completion`: what a shell needs to complete commands, options, agents and models."""

from __future__ import annotations

import click

from memd.cli.connect import Session
from memd.cli.groups import CommandWithArguments
from memd.cli.options import Choice, examples

VARIABLE = "_MEMCTL_COMPLETE"
"""What the script sets when it asks `memctl` for completions, by click's rule."""


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
def command(session: Session, shell: str) -> None:
    """Print the script that completes `memctl` in a SHELL: bash, zsh or fish.

    Put it where the shell reads it when it starts, as below, and open a new one. Bash must be 4.4 or later (macOS
    has an older one), zsh needs `compinit` before it. Ids of agents and facts, and names of models, are completed
    where the daemon runs; none is started for that.
    """
    session.output.text(script(shell))


def script(shell: str) -> str:
    """Return the script for a shell: `bash`, `zsh` or `fish`."""
    from click.shell_completion import ShellComplete, get_completion_class

    from memd.cli.main import root

    kind = get_completion_class(shell)
    assert kind is not None
    # Not the class's own `source`: bash's runs a shell to ask for its version, and that one isn't the reader's.
    return ShellComplete.source(kind(root, {}, "memctl", VARIABLE))
