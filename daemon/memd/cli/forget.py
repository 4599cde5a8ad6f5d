"""`memctl forget`: forget a text, a fact, a note or a conversation everywhere, with a receipt."""

from __future__ import annotations

import sys

import click

from memd.cli.arguments import HintedError, agent_option, examples, json_option, search_text, utf8
from memd.cli.connect import CliSession
from memd.cli.lines import line
from memd_client.forget_text import receipt_lines, reply_lines

EXIT_UNANSWERED = 2
"""Exit code if a confirmation is needed and there is no terminal."""


@click.command(
    "forget",
    short_help="Forget a text, fact, note or conversation everywhere.",
    epilog=examples(
        "memctl forget Anna lives in Lisbon",
        "memctl forget memory/2026-11-02.md --dry-run",
        "memctl forget --undo",
    ),
)
@click.argument("words", nargs=-1, metavar="[QUERY|PATH|SESSION|FACT]...", type=utf8)
@click.option("--everywhere", is_flag=True, help="All agents of this machine, remotes and other machines.")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Only show what would be forgotten.")
@click.option("--receipts", is_flag=True, help="List what was forgotten, without the texts.")
@click.option("--undo", is_flag=True, help="Undo the newest forget, or that of a receipt's id.")
@agent_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, words: tuple[str, ...], agent: str | None, as_json: bool, **flags: bool
) -> None:
    """Forget a text, a fact, a note or a conversation wherever memd has it, and check that it is gone.

    A text in double quotes is exact. Exits with 1 if something could not be erased, and with 2 if a confirmation is
    needed and there is no terminal.
    """
    session: CliSession = ctx.obj
    if not words and not (flags["receipts"] or flags["undo"]):
        raise HintedError("nothing to forget was named", "run `memctl forget --help`")
    target, is_asked = search_text(words) if words else "", not (flags["yes"] or flags["dry_run"])
    with session.client() as client:
        if flags["receipts"] or flags["undo"]:
            reply = client.forget("undo" if flags["undo"] else "receipts", receipt=target)
        else:
            reply = client.forget("find", target, agent=agent, everywhere=flags["everywhere"])
            if is_asked or not as_json:
                (session.output.err if as_json else session.output.out).lines(map(line, reply_lines(reply)))
            if is_asked and (sys.stdin is None or not sys.stdin.isatty()):
                session.output.note("nothing was forgotten: no terminal for a confirmation; pass --yes")
                ctx.exit(EXIT_UNANSWERED)
            if is_asked:
                click.confirm("Forget this? It can't be found again", abort=True, err=True)
            if not flags["dry_run"]:
                found_id, everywhere = reply.found_id, flags["everywhere"]
                reply = client.forget(
                    "forget", target, agent=agent, everywhere=everywhere, confirmed=found_id
                )
    if as_json:
        session.output.reply(reply)
    else:
        session.output.lines(
            line(text)
            for receipt in reply.receipts
            for text in receipt_lines(receipt, is_listed=flags["receipts"])
        )
    if any(place.state == "failed" for receipt in reply.receipts[:1] for place in receipt.places):
        ctx.exit(1)
