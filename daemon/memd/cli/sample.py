"""`memctl sample`: sample notes to try searches on."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from memd.cli.arguments import examples
from memd.cli.connect import CliSession
from memd.cli.indexing import print_reply
from memd.cli.lines import BLANK, Line, line, row
from memd.cli.progress import split_agent
from memd_client.errors import IndexIOError


@click.command(
    "sample",
    epilog=examples("memctl sample", "memctl --sample search why was the archive search slow"),
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Copy sample notes, index them, and show how to search them.

    Sample notes that you edited are kept; missing ones are copied again. The sample has its own daemon: your own notes
    and their daemon are not affected.
    """
    session: CliSession = ctx.obj
    folder = enter_sample()
    with session.client() as client, session.output.progress(split_agent, quiet=False) as show:
        reply = client.index(on_progress=show)
    print_reply(ctx, session, reply, as_json=False)
    session.output.lines(usage_lines(folder))


def enter_sample() -> Path:
    """Make this process use the sample, copy it if it is missing, and return its folder."""
    from memd.sample import use_sample

    try:
        return use_sample()
    except OSError as error:
        raise IndexIOError(f"cannot write the sample memory: {error}") from error


def usage_lines(folder: Path) -> list[Line]:
    """Return lines on how to search the sample with `memctl` and other programs."""
    from memd.sample import QUERY, sample_variables

    return [
        BLANK,
        row("sample", (str(folder), "path")),
        row("search", f'memctl --sample search "{QUERY}"'),
        row("status", "memctl --sample status"),
        BLANK,
        line("for agents and other programs started from this shell:"),
        *(
            line(f"export {name}={shlex.quote(value)}", indent=2)
            for name, value in sample_variables().items()
        ),
    ]
