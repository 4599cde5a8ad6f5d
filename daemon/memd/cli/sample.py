"""`memctl sample`: a small memory of made-up people to try searches on."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from memd.cli.arguments import examples
from memd.cli.connect import Session
from memd.cli.indexing import print_reply
from memd.cli.lines import BLANK, Line, line, row
from memd.cli.progress import agent_first
from memd_client.errors import IndexIOError


@click.command(
    "sample",
    epilog=examples("memctl sample", "memctl --sample search why was the archive search slow"),
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Copy a sample memory, index it, and show how to search it.

    Notes of the sample that you edited stay as they are; missing ones are copied again. Your own memory and the daemon
    that serves it are not touched: the sample has a daemon of its own.
    """
    session: Session = ctx.obj
    folder = enter_sample()
    with session.client() as client, session.output.progress(agent_first, quiet=False) as show:
        reply = client.index(on_progress=show)
    print_reply(ctx, session, reply, as_json=False)
    session.output.lines(way_lines(folder))


def enter_sample() -> Path:
    """Lead this process to the sample, which is copied if it is missing, and return its folder."""
    from memd.sample import use_sample

    try:
        return use_sample()
    except OSError as error:
        raise IndexIOError(f"the sample memory can't be written: {error}") from error


def way_lines(folder: Path) -> list[Line]:
    """Return how the sample is searched, from `memctl` and from other programs."""
    from memd.sample import QUERY, sample_variables

    return [
        BLANK,
        row("sample", (str(folder), "path")),
        row("search", f'memctl --sample search "{QUERY}"'),
        row("status", "memctl --sample status"),
        BLANK,
        line("For agents and other programs of this shell:"),
        *(
            line(f"export {name}={shlex.quote(value)}", indent=2)
            for name, value in sample_variables().items()
        ),
    ]
