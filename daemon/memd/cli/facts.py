"""`memctl facts`: list, add, edit, forget and import the facts of an agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import (
    MAX_FACT_CHARS,
    MAX_FACT_ID_CHARS,
    ArgumentChoice,
    CommandGroup,
    Fraction,
    agent_option,
    at_most,
    examples,
    fact_text,
    json_option,
    search_text,
    utf8,
)
from memd.cli.connect import CliSession
from memd.cli.lines import Line, Piece, count, dotted, line
from memd_client.errors import BadParamsError, FactMissingError
from memd_client.escaping import labelled
from memd_client.facts import MemoryForgetReply
from memd_client.limits import CATEGORIES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from memd.cli.lancedb import LanceDbFact
    from memd_client import Client
    from memd_client.facts import FactRow, MemoryStoreReply


def fact_lines(fact: FactRow) -> tuple[Line, Line]:
    """Return a fact as lines: location and properties, then its text."""
    created = ""
    if fact.created_ms is not None:
        created = datetime.fromtimestamp(fact.created_ms // 1000, UTC).strftime("%Y-%m-%d")
    about = dotted(created, fact.category, f"importance {fact.importance:.2g}", fact.id)
    text = labelled(fact.text, fact.origin, fact.origin_reason)
    return line((f"{fact.path}:{fact.line}", "path"), "  ", *about), line(text, indent=2)


def location_line(state: Piece, path: str, number: int, category: str, fact_id: str) -> Line:
    """Return a line with the outcome for a fact and the fact's location."""
    return line(state, "  ", (f"{path}:{number}", "path"), "  ", *dotted(category, fact_id))


MAX_CANDIDATES, MIN_CANDIDATE_SCORE = 5, 0.3
"""Number and lowest score of the candidates of a query; the same as in the request `memory_forget`."""

LIST_FACTS = "run `memctl facts list` to see the facts and their ids"

EXIT_UNANSWERED = 2
"""Exit code if a confirmation is needed and there is no terminal."""


def _options(when_omitted: str, importance: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options that describe a fact."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        category = click.option(
            "--category", type=ArgumentChoice(CATEGORIES), help=f"The kind of fact; {when_omitted}."
        )
        weight = click.option(
            "--importance", type=Fraction(0, 1), metavar="X", help=f"Importance, 0 to 1; {importance}."
        )
        return category(weight(function))

    return add


def _complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the completions of a fact's id, with the facts' texts."""
    from click.shell_completion import CompletionItem

    from memd.cli.completion import fact_rows

    return [
        CompletionItem(each.id, help=each.text)
        for each in fact_rows(ctx, incomplete, ctx.params.get("agent"))
    ]


@click.command(
    "add",
    short_help="Store a fact.",
    epilog=examples(
        "memctl facts add Anna lives in Lisbon",
        "memctl facts add --category preference --importance 0.9 I prefer short answers",
    ),
)
@click.argument("text", nargs=-1, required=True, type=utf8)
@_options("default: derived from TEXT", "default: 0.7")
@agent_option
@json_option
@click.pass_obj
def add_fact(
    session: CliSession,
    text: tuple[str, ...],
    category: str | None,
    importance: float | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Store the fact TEXT, unless the same fact is stored already.

    TEXT is one line; `-` reads it from standard input.
    """
    fact = fact_text(text)
    with session.client() as client:
        reply = client.memory_store(fact, agent=agent, importance=importance, category=category)
    if as_json:
        session.output.reply(reply)
        return
    state = ("stored", "good") if reply.stored else ("stored already", "warn")
    lines = [location_line(state, reply.path, reply.line, reply.category, reply.id)]
    if not reply.stored:
        lines.append(line(labelled(reply.duplicate_text, reply.origin, reply.origin_reason), indent=2))
    if reply.supersedes is not None:
        earlier = reply.supersedes
        old = labelled(earlier.text, earlier.origin, earlier.origin_reason)
        lines.append(line(f"supersedes {earlier.id}: {old}", indent=2))
    session.output.lines(lines)


@click.command(
    "edit",
    short_help="Change the text of a fact.",
    epilog=examples(
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto",
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto --if-text 'Anna lives in Lisbon'",
    ),
)
@click.argument("fact_id", metavar="ID", type=at_most(MAX_FACT_ID_CHARS), shell_complete=_complete_ids)
@click.argument("text", nargs=-1, required=True, type=utf8)
@click.option(
    "--if-text",
    "expected_text",
    type=at_most(MAX_FACT_CHARS),
    metavar="TEXT",
    help="Change the fact only if this is its current text.",
)
@_options("default: unchanged", "default: unchanged")
@agent_option
@json_option
@click.pass_context
def edit_fact(
    ctx: click.Context,
    fact_id: str,
    text: tuple[str, ...],
    expected_text: str | None,
    category: str | None,
    importance: float | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Change the text of the fact ID to TEXT.

    `memctl facts list` shows the ids. A fact without an id of its own gets a new id with a new text. If another fact
    has the same text, nothing changes and the exit code is 1.
    """
    session: CliSession = ctx.obj
    new = fact_text(text)
    with session.client() as client:
        try:
            reply = client.memory_edit(
                fact_id,
                new,
                agent=agent,
                expected_text=expected_text,
                importance=importance,
                category=category,
            )
        except FactMissingError as error:
            error.hint = LIST_FACTS
            raise
    if as_json:
        session.output.reply(reply)
    elif reply.stored:
        state = ("changed", "good")
        session.output.lines([location_line(state, reply.path, reply.line, reply.category, reply.id)])
    else:
        state = (f"not changed: fact {reply.duplicate_of} has this text already", "warn")
        session.output.lines([line(state), line(reply.duplicate_text, indent=2)])
    if not reply.stored:
        ctx.exit(1)


@click.command(
    "forget",
    short_help="Remove a fact.",
    epilog=examples(
        "memctl facts forget 01KA3M1V8TQ2",
        "memctl facts forget Anna lives in Lisbon",
        "memctl facts forget --yes Anna lives in Lisbon",
    ),
)
@click.argument(
    "words", nargs=-1, required=True, metavar="ID|QUERY...", type=utf8, shell_complete=_complete_ids
)
@click.option(
    "--yes", is_flag=True, help="Don't ask for confirmation; remove a fact only if it clearly matches QUERY."
)
@agent_option
@json_option
@click.pass_context
def forget_fact(
    ctx: click.Context, words: tuple[str, ...], yes: bool, agent: str | None, as_json: bool
) -> None:
    """Remove the fact ID, or the fact that matches QUERY.

    An id removes its fact at once. A query shows the matching facts and asks which to remove. Exits with 1 if no fact
    was removed, and with 2 if a confirmation is needed and there is no terminal.
    """
    session: CliSession = ctx.obj
    wanted = search_text(words)
    with session.client() as opened:
        client = opened
        reply = _forget(client, session, wanted, agent, yes=yes, quiet=as_json)
    if as_json:
        session.output.reply(reply)
    elif reply.forgotten is not None:
        gone = reply.forgotten
        place = location_line(("forgotten", "good"), gone.path, gone.line, gone.category, gone.id)
        session.output.lines([place, line(gone.text, indent=2)])
    if reply.forgotten is None:
        ctx.exit(1 if yes else EXIT_UNANSWERED)


def _forget(
    client: Client, session: CliSession, wanted: str, agent: str | None, *, yes: bool, quiet: bool
) -> MemoryForgetReply:
    """Remove a fact by its id, or by a query after confirmation or with `--yes`."""
    if len(wanted) <= MAX_FACT_ID_CHARS and " " not in wanted:
        reply = client.memory_forget(wanted, agent=agent)
        if reply.forgotten is not None:
            return reply
    if yes:
        reply = client.memory_forget(query=wanted, agent=agent)
    else:
        found = client.memory_recall(wanted, agent=agent, limit=MAX_CANDIDATES, min_score=MIN_CANDIDATE_SCORE)
        reply = MemoryForgetReply(found.agent, None, found.facts, found.compared)
    if reply.forgotten is not None:
        return reply
    if not reply.candidates:
        raise FactMissingError(f"no fact has the id or matches the query {wanted[:80]!r}", hint=LIST_FACTS)
    (session.output.err if quiet else session.output.out).lines(_candidate_lines(reply.candidates))
    if yes:
        session.output.note("nothing was removed: no fact clearly matches; pass the id of a fact")
        return reply
    if sys.stdin is None or not sys.stdin.isatty():
        session.output.note("nothing was removed: no terminal for a confirmation; pass the id of a fact")
        return reply
    chosen = _ask(reply.candidates)
    reply = client.memory_forget(chosen.id, agent=agent)
    if reply.forgotten is None:
        raise FactMissingError(f"fact {chosen.id} was removed or changed in the meantime", hint=LIST_FACTS)
    return reply


def _candidate_lines(candidates: Sequence[FactRow]) -> list[Line]:
    """Return the matching facts, numbered."""
    lines: list[Line] = []
    for number, fact in enumerate(candidates, 1):
        place, text = fact_lines(fact)
        lines += [Line(place.pieces, 3, f"{number}."), Line(text.pieces, 3)]
    return lines


def _ask(candidates: Sequence[FactRow]) -> FactRow:
    """Ask which fact to remove, and return it."""
    if len(candidates) == 1:
        click.confirm("Remove this fact?", abort=True, err=True)
        return candidates[0]
    number = click.prompt(
        f"Which fact to remove? 1-{len(candidates)}, 0 for none",
        type=click.IntRange(0, len(candidates)),
        default=0,
        err=True,
    )
    if number == 0:
        raise click.Abort
    return candidates[number - 1]


MAX_LISTED_FACTS = 10_000
"""Limit of one request."""

SLOW_IMPORT_FACTS = 1_000
"""Above this number an import is announced as slow: each fact is compared with all others."""


@click.group(
    "facts",
    cls=CommandGroup,
    epilog=examples(
        "memctl facts list",
        "memctl facts add Anna lives in Lisbon",
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto",
        "memctl facts forget Anna lives in Lisbon",
        "memctl facts import",
    ),
)
def command() -> None:
    """List, add, edit, forget and import the facts of an agent.

    Facts are lines of memory/facts.md in the agent's workspace, a file that you can also edit.
    """


@command.command(
    "list", epilog=examples("memctl facts list", "memctl facts list --json | jq -r '.facts[].text'")
)
@agent_option
@json_option
@click.pass_obj
def list_facts(session: CliSession, agent: str | None, as_json: bool) -> None:
    """List all facts, newest first."""
    with session.client() as client:
        reply = client.memory_recall("", agent=agent, limit=MAX_LISTED_FACTS, min_score=0.0)
    if as_json:
        session.output.reply(reply)
    elif reply.facts:
        session.output.lines(each for fact in reply.facts for each in fact_lines(fact))
    else:
        session.output.note(f"agent {reply.agent} has no facts; run `memctl facts add` to store one")
    if reply.total > len(reply.facts):
        session.output.note(f"{reply.total - len(reply.facts):,} more in memory/facts.md")


@command.command(
    "import",
    short_help="Import the facts of a LanceDB database.",
    epilog=examples("memctl facts import", "memctl facts import ~/old/lancedb --agent main"),
)
@click.argument("path", type=utf8, required=False)
@click.option(
    "--embedded-by",
    "model",
    default="text-embedding-3-small",
    show_default=True,
    type=utf8,
    metavar="MODEL",
    help="The model that made the database's vectors; an agent with the same model reuses them.",
)
@agent_option
@json_option
@click.pass_obj
def import_facts(session: CliSession, path: str | None, model: str, agent: str | None, as_json: bool) -> None:
    """Import the facts of a LanceDB database, by default memory/lancedb in the state directory.

    Keeps ids, categories, importance and dates. Facts that are stored already are skipped, so a second import adds
    nothing. The database is not changed. This needs the Python package lancedb.
    """
    from memd.cli.lancedb import DATABASE_FOLDER, load_table

    if session.host is not None and not path:
        raise click.UsageError("PATH is required with --host: the database is read on this machine")
    with session.client() as client:
        folder = (
            Path(os.path.abspath(os.path.expanduser(path)))
            if path
            else Path(client.status().state_dir) / DATABASE_FOLDER
        )
        found = load_table(folder)
        if len(found) > SLOW_IMPORT_FACTS and not as_json:
            session.output.note(
                f"importing {len(found):,} facts takes some minutes: each is compared with the others"
            )
        stored, known, vectors, refused = 0, 0, 0, []
        for fact in found:
            try:
                reply = _store(client, fact, agent, model)
            except BadParamsError as error:
                refused.append({"id": fact.id, "reason": error.message})
                continue
            stored, known = stored + reply.stored, known + (not reply.stored)
            vectors += reply.vector_used
    if as_json:
        facts = {
            "path": str(folder),
            "stored": stored,
            "known": known,
            "vectors": vectors,
            "refused": refused,
        }
        session.output.document(facts)
        return
    summary = f"{count(len(found), 'fact')} found: {stored:,} stored, {known:,} stored already"
    reused = f", {count(vectors, 'vector')} reused" if vectors else ""
    session.output.text(f"{summary}{reused}\n")
    for each in refused:
        session.output.note(f"{each['id']} was not imported: {each['reason']}")


def _store(client: Client, fact: LanceDbFact, agent: str | None, model: str) -> MemoryStoreReply:
    """Send one fact to the daemon."""
    return client.memory_store(
        fact.text,
        agent=agent,
        importance=fact.importance,
        category=fact.category if fact.category in CATEGORIES else None,
        id=fact.id,
        created_ms=fact.created_ms,
        vector=fact.vector,
        vector_model=model,
    )


for each in (add_fact, edit_fact, forget_fact):
    command.add_command(each)
