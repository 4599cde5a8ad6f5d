"""`memctl facts`: the facts of an agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from memd.cli.connect import Session
from memd.cli.fact_changes import add_fact, edit_fact, forget_fact
from memd.cli.fact_listing import FactsClient, fact_lines
from memd.cli.groups import CommandGroup
from memd.cli.options import agent_option, examples, json_option, utf8
from memd_client.errors import BadParamsError

if TYPE_CHECKING:
    from memd.cli.lancedb import FoundFact
    from memd_client.facts import MemoryStoreReply

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
        reply = cast(FactsClient, client).memory_recall("", agent=agent, limit=MOST_FACTS, min_score=0.0)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
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
                reply = _store(cast(FactsClient, client), fact, agent, model)
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


def _store(client: FactsClient, fact: FoundFact, agent: str | None, model: str) -> MemoryStoreReply:
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
