"""`memctl usage`: what agents recalled, what they never did, and what they asked and did not find."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from memd.cli.arguments import CommandGroup, agent_option, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import Line, ago, dotted, line
from memd.system.units import count, size
from memd_client.messages import UsageReply


@click.group(
    "usage",
    cls=CommandGroup,
    invoke_without_command=True,
    short_help="Show what agents recalled, and what they did not find.",
    epilog=examples("memctl usage", "memctl usage --since 30d --agent main", "memctl usage clear"),
)
@click.option(
    "--since", metavar="TIME", help="Only recalls since a day (2026-11-02) or a duration (30d, 4w)."
)
@agent_option
@click.option(
    "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="The most rows of each list."
)
@json_option
@click.pass_context
def command(ctx: click.Context, since: str | None, agent: str | None, limit: int, as_json: bool) -> None:
    """Show what agents recalled, and what they did not find.

    A recall is a search, a call of a memory tool, or a text that a hook added to a prompt or to the start of a session.
    After some recalls, memd also knows whether the next answer likely used them, because it reads the conversation.
    Set `recall_log = false` in memd.toml to turn the log off.
    """
    session: CliSession = ctx.obj
    if ctx.invoked_subcommand is not None:
        return
    with session.client() as client:
        reply = client.usage(since=since, agent=agent, limit=limit)
    if as_json:
        session.output.reply(reply)
        return
    if not reply.is_on:
        session.output.note("the log of recalls is off: recall_log = false in memd.toml")
    session.output.lines(usage_lines(reply, session.now_ms()))


@command.command("clear", epilog=examples("memctl usage clear", "memctl usage clear --agent main"))
@agent_option
@click.pass_obj
def clear(session: CliSession, agent: str | None) -> None:
    """Delete the log of recalls, or what it has on one agent."""
    with session.client() as client:
        reply = client.usage("clear", agent=agent)
    session.output.text(f"deleted {count(reply.cleared, 'recall')}\n")


def usage_lines(reply: UsageReply, now_ms: int) -> Iterator[Line]:
    """Yield the report."""
    if reply.recalls:
        first = datetime.fromtimestamp(reply.since_ms / 1000, UTC).date().isoformat()
        yield line((count(reply.recalls, "recall"), "title"), f" since {first}")
    else:
        yield line("no recalls; searches and hooks are logged from now on")
    for day in reply.days:
        judged = f"{day.likely_used} of {day.judged} likely used" if day.judged else ""
        facts = dotted(day.program, day.way, f"{day.recalls:,}", f"{day.strong:,} with a strong hit", judged)
        yield line((day.day, "label"), "  ", *facts, indent=2)
    if reply.often:
        yield line(("recalled often", "title"))
    for row in reply.often:
        used = f"{row.likely_used:,} likely used" if row.likely_used else ""
        facts = dotted(
            (row.path, "path"), f"agent {row.agent}", f"{row.recalls:,}", used, ago(row.last_ms, now_ms)
        )
        yield line(*facts, indent=2)
    if reply.unanswered:
        yield line(("asked and not found", "title"))
    for query in reply.unanswered:
        facts = dotted(f'"{query.query}"', f"{query.count:,}", *query.programs, ago(query.last_ms, now_ms))
        yield line(*facts, indent=2)
    if reply.never_total:
        yield line(("never recalled", "title"), f": {count(reply.never_total, 'file')}, the largest first")
    for file in reply.never:
        facts = dotted((file.file.path, "path"), f"agent {file.agent}", size(file.file.size_bytes))
        yield line(*facts, indent=2)
