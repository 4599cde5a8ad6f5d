"""`memctl facts add`, `edit` and `forget`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import click

from memd.cli.connect import Session
from memd.cli.fact_listing import FactsClient, fact_lines, place_line
from memd.cli.lines import Line, line
from memd.cli.options import (
    MAX_FACT_CHARS,
    MAX_FACT_ID_CHARS,
    Choice,
    Fraction,
    agent_option,
    at_most,
    examples,
    json_option,
    utf8,
)
from memd.cli.texts import fact_text, search_text
from memd_client.errors import FactMissingError
from memd_client.facts import CATEGORIES, MemoryForgetReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from memd_client.facts import FactRow

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

MAX_CANDIDATES, MIN_CANDIDATE_SCORE = 5, 0.3
"""Which facts a query offers: as many, and as similar to it, as the request `memory_forget` would."""

LIST_FACTS = "`memctl facts list` shows the facts and their ids."

UNANSWERED = 2
"""The exit code if a question could not be asked."""


def _options(when_left_out: str, importance: str) -> Decorator:
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

    from memd.cli.known_names import fact_rows

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
        reply = cast(FactsClient, client).memory_store(
            fact, agent=agent, importance=importance, category=category
        )
    if as_json:
        _print_json(session, reply)
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
            reply = cast(FactsClient, client).memory_edit(
                fact_id, new, agent=agent, was=was, importance=importance, category=category
            )
        except FactMissingError as error:
            error.hint = LIST_FACTS
            raise
    if as_json:
        _print_json(session, reply)
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
        client = cast(FactsClient, opened)
        reply = _forget(client, session, wanted, agent, yes=yes, quiet=as_json)
    if as_json:
        _print_json(session, reply)
    elif reply.forgotten is not None:
        gone = reply.forgotten
        place = place_line(("forgotten", "good"), gone.path, gone.line, gone.category, gone.id)
        session.output.lines([place, line(gone.text, indent=2)])
    if reply.forgotten is None:
        ctx.exit(1 if yes else UNANSWERED)


def _forget(
    client: FactsClient, session: Session, wanted: str, agent: str | None, *, yes: bool, quiet: bool
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


def _print_json(session: Session, reply: object) -> None:
    """Print a reply field by field."""
    from memd_client.wire import to_wire

    session.output.document(to_wire(reply))
