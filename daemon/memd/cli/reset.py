"""`memctl reset`: drop an index and build it anew from the files."""

from __future__ import annotations

import sys

import click

from memd.cli.connect import Session
from memd.cli.index import print_reply
from memd.cli.options import agent_option, examples, json_option
from memd.cli.progress import agent_first, of_agent


@click.command(
    "reset",
    short_help="Drop an index and rebuild it from the Markdown files.",
    epilog=examples("memctl reset --agent main", "memctl reset --vectors --yes"),
)
@agent_option
@click.option(
    "--vectors", is_flag=True, help="Drop the vectors too: every text is embedded, and paid for, again."
)
@click.option("--yes", is_flag=True, help="Don't ask.")
@json_option
@click.pass_obj
@click.pass_context
def command(
    ctx: click.Context, session: Session, agent: str | None, vectors: bool, yes: bool, as_json: bool
) -> None:
    """Drop the index of one agent, or of all, and build it anew from the Markdown files.

    Vectors are kept unless `--vectors` is given. Ends with 1 where any agent had an error.
    """
    whose = f"the index of {agent}" if agent is not None else "the indexes of all agents"
    also = ", vectors included," if vectors else ""
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("There is no terminal to ask on: give --yes.")
        click.confirm(f"Drop {whose}{also} and build anew from the files?", abort=True, err=True)
    split = agent_first if agent is None else of_agent(agent)
    with session.client() as client, session.output.progress(split, quiet=as_json) as show:
        reply = client.reset(agent=agent, vectors=vectors, on_progress=show)
    print_reply(ctx, session, reply, as_json=as_json)
