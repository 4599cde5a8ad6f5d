"""`memctl trust`: which lines hooks don't show to models, and the release of some of them by the user."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import groupby

import click

from memd.cli.arguments import ArgumentChoice, HintedError, agent_option, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import Line, ago, dotted, line
from memd.programs.catalog import PROGRAMS
from memd.system.units import count
from memd.system.untrusted import show_unseen
from memd_client.messages import TrustReply
from memd_client.schema import to_wire

MAX_LINES, FIRST_CHARS, MAX_ENTRIES, MAX_SHOWN = 10_000, 60, 1_000, 5


@click.command(
    "trust",
    short_help="Show which lines are withheld from models, and release some.",
    epilog=examples(
        "memctl trust", "memctl trust allow memory/relay.md", "memctl trust revoke memory/relay.md"
    ),
)
@click.argument(
    "action", metavar="[ACTION]", type=ArgumentChoice(["list", "allow", "revoke"]), default="list"
)
@click.argument("path", default="")
@click.option("--line", "number", type=int, metavar="N", help="Release only this line; default: all.")
@agent_option
@json_option
@click.pass_obj
def command(
    session: CliSession, action: str, path: str, number: int | None, agent: str | None, as_json: bool
) -> None:
    """List the lines that hooks withhold from models, of PATH or all files, the newest files first.

    They are the words of others: web pages, mail, another person's commits. `allow` releases those of PATH, after
    showing them and asking you, on a terminal that no agent's program opened. `revoke` withholds them again.
    """
    if action != "list" and not path:
        raise click.UsageError("PATH is missing")
    if action == "allow":
        _require_user()
    with session.client() as client:
        names = (
            [row.agent for row in client.status().agents if row.enabled] if not (agent or path) else [agent]
        )
        release: list[str] | None = [] if action == "revoke" else None
        if action == "allow":
            rows = client.trust(path, agent=agent, limit=MAX_LINES).lines
            rows = [row for row in rows if number in (None, row.line)]
            session.output.lines(line((f"{row.line}  ", "label"), show_unseen(row.text)) for row in rows)
            if not rows:
                raise HintedError(
                    f"no such line of {path} is withheld", "memctl trust lists the withheld lines"
                )
            click.confirm(f"Release {count(len(rows), 'line')} of {path}?", abort=True, err=True)
            release = [row.text for row in rows]
        replies = [client.trust(path or None, agent=name, release=release) for name in names]
        log = [] if path else client.hook_log(limit=MAX_ENTRIES).entries
    log = [entry for entry in log if entry.decision == "withheld"]
    if as_json:
        session.output.document({"agents": list(map(to_wire, replies)), "hooks": list(map(to_wire, log))})
        return
    now_ms = session.now_ms()
    for reply in replies:
        session.output.lines(_reply_lines(reply, now_ms))
    for entry in log[:MAX_SHOWN]:
        about = dotted(
            (entry.candidate, "path"), f"withheld from {entry.program}", ago(entry.time_ms, now_ms)
        )
        session.output.lines([line(*about)])


def _require_user() -> None:
    """Raise unless a user can answer."""
    for program in PROGRAMS.values():
        if any(os.environ.get(name) for name in program.shell):
            raise HintedError(f"{program.title} runs this command", "run it in a terminal of your own")
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise click.UsageError("no terminal for a confirmation")


def _reply_lines(reply: TrustReply, now_ms: int) -> Iterator[Line]:
    """Yield what is withheld of an agent's memory, and what is released."""
    yield line(*dotted((f"agent {reply.agent}", "title"), f"{count(len(reply.lines), 'line')} withheld"))
    for (path, reason), group in groupby(reply.lines, lambda row: (row.path, row.reason)):
        rows = list(group)
        place = f"{path}:{rows[0].line}" + f"-{rows[-1].line}" * (len(rows) > 1)
        yield line(*dotted((place, "path"), reason, (ago(rows[0].time_ms, now_ms), "quiet")), indent=2)
        text = " ".join(" ".join(row.text for row in rows).split())
        yield line((show_unseen(text[:FIRST_CHARS]), "quiet"), indent=4)
    for path, released in sorted(reply.released.items()):
        yield line(*dotted((path, "path"), f"{count(released, 'line')} released"), indent=2)
