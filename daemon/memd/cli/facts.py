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
    Choice,
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
from memd.cli.connect import Session
from memd.cli.lines import Line, Piece, dotted, line
from memd_client.errors import BadParamsError, FactMissingError
from memd_client.facts import CATEGORIES, MemoryForgetReply

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from memd.cli.lancedb import FoundFact
    from memd_client import Client
    from memd_client.facts import (
        FactRow,
        MemoryForgetReply,
        MemoryStoreReply,
    )


def fact_lines(fact: FactRow) -> tuple[Line, Line]:
    """Return a fact as lines: its place and properties, then its text."""
    created = ""
    if fact.created_ms is not None:
        created = datetime.fromtimestamp(fact.created_ms // 1000, UTC).strftime("%Y-%m-%d")
    about = dotted(created, fact.category, f"importance {fact.importance:.2g}", fact.id)
    return line((f"{fact.path}:{fact.line}", "path"), "  ", *about), line(fact.text, indent=2)


def place_line(state: Piece, path: str, number: int, category: str, fact_id: str) -> Line:
    """Return a line that says what became of a fact, and where it is."""
    return line(state, "  ", (f"{path}:{number}", "path"), "  ", *dotted(category, fact_id))


MAX_CANDIDATES, MIN_CANDIDATE_SCORE = 5, 0.3
"""Which facts a query offers: as many, and as similar to it, as the request `memory_forget` would."""

LIST_FACTS = "`memctl facts list` shows the facts and their ids."

UNANSWERED = 2
"""The exit code if a question could not be asked."""


def _options(when_left_out: str, importance: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adds the options that describe a fact."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        category = click.option("--category", type=Choice(CATEGORIES), help=f"Its kind; {when_left_out}.")
        weight = click.option(
            "--importance", type=Fraction(0, 1), metavar="X", help=f"How much it matters; {importance}."
        )
        return category(weight(function))

    return add


def _complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return ids, with what the facts say, for the shell to complete."""
    from click.shell_completion import CompletionItem

    from memd.cli.completion import fact_rows

    return [
        CompletionItem(each.id, help=each.text) for each in fact_rows(incomplete, ctx.params.get("agent"))
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
@_options("derived from TEXT if left out", "0.7 if left out")
@agent_option
@json_option
@click.pass_obj
def add_fact(
    session: Session,
    text: tuple[str, ...],
    category: str | None,
    importance: float | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Store the fact TEXT, unless one says the same already.

    TEXT is `-` for the text on standard input; a fact is one line.
    """
    fact = fact_text(text)
    with session.client() as client:
        reply = client.memory_store(fact, agent=agent, importance=importance, category=category)
    if as_json:
        session.output.reply(reply)
        return
    state = ("stored", "good") if reply.stored else ("known already", "warn")
    lines = [place_line(state, reply.path, reply.line, reply.category, reply.id)]
    if not reply.stored:
        lines.append(line(reply.duplicate_text, indent=2))
    session.output.lines(lines)


@click.command(
    "edit",
    short_help="Change what a fact says.",
    epilog=examples(
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto",
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto --was 'Anna lives in Lisbon'",
    ),
)
@click.argument("fact_id", metavar="ID", type=at_most(MAX_FACT_ID_CHARS), shell_complete=_complete_ids)
@click.argument("text", nargs=-1, required=True, type=utf8)
@click.option(
    "--was", type=at_most(MAX_FACT_CHARS), metavar="TEXT", help="Change it only if it still says this."
)
@_options("unchanged if left out", "unchanged if left out")
@agent_option
@json_option
@click.pass_context
def edit_fact(
    ctx: click.Context,
    fact_id: str,
    text: tuple[str, ...],
    was: str | None,
    category: str | None,
    importance: float | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Let the fact ID say TEXT.

    `memctl facts list` shows the ids. A fact without an id of its own gets another one with another text. Ends with 1
    if another fact says TEXT already; nothing is changed then.
    """
    session: Session = ctx.obj
    new = fact_text(text)
    with session.client() as client:
        try:
            reply = client.memory_edit(
                fact_id, new, agent=agent, was=was, importance=importance, category=category
            )
        except FactMissingError as error:
            error.hint = LIST_FACTS
            raise
    if as_json:
        session.output.reply(reply)
    elif reply.stored:
        state = ("changed", "good")
        session.output.lines([place_line(state, reply.path, reply.line, reply.category, reply.id)])
    else:
        state = (f"not changed: fact {reply.duplicate_of} says so already", "warn")
        session.output.lines([line(state), line(reply.duplicate_text, indent=2)])
    if not reply.stored:
        ctx.exit(1)


@click.command(
    "forget",
    short_help="Remove a fact.",
    epilog=examples(
        "memctl facts forget 01KA3M1V8TQ2",
        "memctl facts forget where Anna lives",
        "memctl facts forget --yes where Anna lives",
    ),
)
@click.argument(
    "words", nargs=-1, required=True, metavar="ID|QUERY...", type=utf8, shell_complete=_complete_ids
)
@click.option("--yes", is_flag=True, help="Don't ask; remove the fact only if QUERY clearly means it.")
@agent_option
@json_option
@click.pass_context
def forget_fact(
    ctx: click.Context, words: tuple[str, ...], yes: bool, agent: str | None, as_json: bool
) -> None:
    """Remove the fact ID, or the one that QUERY means.

    An id removes its fact at once. A query shows the facts it may mean, and asks. Ends with 1 if no fact was removed,
    with 2 if there was no terminal to ask on and no --yes.
    """
    session: Session = ctx.obj
    wanted = search_text(words)
    with session.client() as opened:
        client = opened
        reply = _forget(client, session, wanted, agent, yes=yes, quiet=as_json)
    if as_json:
        session.output.reply(reply)
    elif reply.forgotten is not None:
        gone = reply.forgotten
        place = place_line(("forgotten", "good"), gone.path, gone.line, gone.category, gone.id)
        session.output.lines([place, line(gone.text, indent=2)])
    if reply.forgotten is None:
        ctx.exit(1 if yes else UNANSWERED)


def _forget(
    client: Client, session: Session, wanted: str, agent: str | None, *, yes: bool, quiet: bool
) -> MemoryForgetReply:
    """Remove a fact by its id, or by a query that clearly means it or whose answer names it."""
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
        raise FactMissingError(f"no fact has the id {wanted[:80]!r} or matches it", hint=LIST_FACTS)
    (session.output.err if quiet else session.output.out).lines(_candidate_lines(reply.candidates))
    if yes:
        session.output.note("nothing was removed: it is not clear which fact is meant; name it by its id")
        return reply
    if sys.stdin is None or not sys.stdin.isatty():
        session.output.note("nothing was removed: there is no terminal to ask on; name the fact by its id")
        return reply
    chosen = _ask(reply.candidates)
    reply = client.memory_forget(chosen.id, agent=agent)
    if reply.forgotten is None:
        raise FactMissingError(f"fact {chosen.id} was removed or edited meanwhile", hint=LIST_FACTS)
    return reply


def _candidate_lines(candidates: Sequence[FactRow]) -> list[Line]:
    """Return the facts a query may mean, numbered."""
    lines: list[Line] = []
    for number, fact in enumerate(candidates, 1):
        place, text = fact_lines(fact)
        lines += [Line(place.pieces, 3, f"{number}."), Line(text.pieces, 3)]
    return lines


def _ask(candidates: Sequence[FactRow]) -> FactRow:
    """Return the fact to remove."""
    if len(candidates) == 1:
        click.confirm("Remove this fact?", abort=True, err=True)
        return candidates[0]
    number = click.prompt(
        f"Remove which one? 1-{len(candidates)}, 0 for none",
        type=click.IntRange(0, len(candidates)),
        default=0,
        err=True,
    )
    if number == 0:
        raise click.Abort
    return candidates[number - 1]


MOST_FACTS = 10_000
"""As many as one request may list."""

MANY_FACTS = 1_000
"""More than so many are announced before they are taken over: each is compared with all others."""


@click.group(
    "facts",
    cls=CommandGroup,
    epilog=examples(
        "memctl facts list",
        "memctl facts add Anna lives in Lisbon",
        "memctl facts edit 01KA3M1V8TQ2 Anna lives in Porto",
        "memctl facts forget where Anna lives",
        "memctl facts import",
    ),
)
def command() -> None:
    """List, add, edit, forget and import the facts of an agent.

    They are lines of memory/facts.md in the agent's workspace; you can edit that file as well.
    """


@command.command(
    "list", epilog=examples("memctl facts list", "memctl facts list --json | jq -r '.facts[].text'")
)
@agent_option
@json_option
@click.pass_obj
def list_facts(session: Session, agent: str | None, as_json: bool) -> None:
    """List all facts, the newest first."""
    with session.client() as client:
        reply = client.memory_recall("", agent=agent, limit=MOST_FACTS, min_score=0.0)
    if as_json:
        session.output.reply(reply)
    elif reply.facts:
        session.output.lines(each for fact in reply.facts for each in fact_lines(fact))
    else:
        session.output.note(f"agent {reply.agent} keeps no facts; they would stand in memory/facts.md")
    if reply.total > len(reply.facts):
        session.output.note(f"{reply.total - len(reply.facts):,} more stand in memory/facts.md")


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
    help="The model the database's vectors are of; an agent with the same one uses them.",
)
@agent_option
@json_option
@click.pass_obj
def import_facts(session: Session, path: str | None, model: str, agent: str | None, as_json: bool) -> None:
    """Take over the facts of a LanceDB database, by default memory/lancedb of the state directory.

    Ids, categories, importances and dates stay. What is known already is left out, so that doing it again adds
    nothing. The database is only read. It needs the package lancedb; without it the error has the command.
    """
    from memd.cli.lancedb import PLACE, load_table

    with session.client() as client:
        folder = (
            Path(os.path.abspath(os.path.expanduser(path)))
            if path
            else Path(client.status().state_dir) / PLACE
        )
        found = load_table(folder)
        if len(found) > MANY_FACTS and not as_json:
            session.output.note(f"{len(found):,} facts are compared with each other; that takes some minutes")
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
    said = f"{len(found):,} facts found: {stored:,} stored, {known:,} known already"
    session.output.text(f"{said}; vectors taken over: {vectors:,}\n" if vectors else f"{said}\n")
    for each in refused:
        session.output.note(f"{each['id']} is left out: {each['reason']}")


def _store(client: Client, fact: FoundFact, agent: str | None, model: str) -> MemoryStoreReply:
    """Hand one fact to the daemon."""
    from memd_client.facts import CATEGORIES

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
