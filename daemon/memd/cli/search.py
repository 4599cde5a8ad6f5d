"""`memctl search`: a query to the memory of an agent or of all, and the hits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memd.cli.connect import Session
from memd.cli.highlight import marked, pattern_for
from memd.cli.lines import (
    BLANK,
    Line,
    Piece,
    dotted,
    embedder,
    fallback_pieces,
    filling_pieces,
    line,
    since,
)
from memd.cli.options import (
    ALL_AGENTS,
    MAX_PATH_CHARS,
    MAX_RESULTS,
    Choice,
    Fraction,
    agent_or_all_option,
    at_most,
    examples,
    json_option,
    utf8,
)
from memd.cli.searched_agents import summary_lines, with_options
from memd.cli.texts import search_text
from memd.cli.wording import count, span

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from memd.cli.connect import MemoryClient
    from memd.cli.output import Output
    from memd_client.messages import Degraded, Hit, SearchAgentsReply, SearchReply

SNIPPET_INDENT = 2
BECAUSE = "because: "
BECAUSE_INDENT = SNIPPET_INDENT + len(BECAUSE)


@click.command(
    "search",
    epilog=examples(
        "memctl search when does the certificate expire",
        "memctl search --agent main --max-results 3 'release checklist'",
        "memctl search --path memory/2026- --json deploy | jq -r .hits[].path",
        "memctl search --explain why sqlite",
        "memctl search --min-score 0 holiday plans",
        "memctl search --agent all tax return",
    ),
)
@click.argument("query", nargs=-1, required=True, type=utf8)
@agent_or_all_option
@click.option(
    "--max-results", type=click.IntRange(1, MAX_RESULTS), metavar="N", help="At most this many hits."
)
@click.option(
    "--min-score",
    type=Fraction(0, 1),
    metavar="X",
    help="No hit below this, 0 to 1; 0 also shows texts that have little to do with QUERY.",
)
@click.option(
    "sources",
    "--source",
    type=Choice(["memory", "sessions"]),
    multiple=True,
    help="Only this source; may be given twice.",
)
@click.option(
    "--path", type=at_most(MAX_PATH_CHARS), metavar="PREFIX", help="Only files whose path starts with this."
)
@click.option("--explain", is_flag=True, help="Show why each hit stands where it stands, and timings.")
@json_option
@click.pass_obj
def command(
    session: Session,
    query: tuple[str, ...],
    agent: str | None,
    max_results: int | None,
    min_score: float | None,
    sources: tuple[str, ...],
    path: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Find where memory says something about QUERY.

    With --agent all the memory of every agent is searched. Ends with 0 also where nothing was found.
    """
    question = search_text(query)
    limits: dict[str, Any] = {
        "max_results": max_results,
        "min_score": min_score,
        "sources": list(sources) or None,
        "path": path,
        "explain": explain,
    }
    with session.client() as client:
        reply = _search(client, session.output, question, agent, limits)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
        return
    from memd_client.messages import SearchAgentsReply

    if isinstance(reply, SearchAgentsReply):
        session.output.lines(search_agents_lines(reply, question, session.now_ms()))
    else:
        session.output.lines(search_lines(reply, question, session.now_ms()))
    if not reply.hits:
        from memd.cli.no_memory import offer_sample

        offer_sample(session)


def _search(
    client: MemoryClient, output: Output, question: str, agent: str | None, limits: dict[str, Any]
) -> SearchReply | SearchAgentsReply:
    """Return what the daemon finds in an agent's memory, or in that of all."""
    if agent != ALL_AGENTS:
        return client.search(question, agent=agent, **limits)
    from memd_client.errors import AgentUnknownError

    try:
        reply = client.search(question, agent=agent, **limits)
    except AgentUnknownError:
        return client.search_agents(question, **limits)
    output.note(f"an agent has the id {ALL_AGENTS}: it alone was searched")
    return reply


def search_lines(reply: SearchReply, query: str, now_ms: int) -> list[Line]:
    """Return the hits of a search as lines, and below them how they were found."""
    lines = _all_hit_lines(reply.hits, query) or _empty_lines(reply)
    lines.append(line(*_summary(reply)))
    if reply.timings:
        lines.append(
            line(
                ("timings: ", "label"),
                *dotted(*(f"{name.removesuffix('_ms')} {span(ms)}" for name, ms in reply.timings.items())),
            )
        )
    lines.extend(_notices(reply, now_ms))
    return lines


def search_agents_lines(reply: SearchAgentsReply, query: str, now_ms: int) -> list[Line]:
    """Return the hits of several agents as lines, and below them how the agents were searched."""
    lines = _all_hit_lines(reply.hits, query) or [line("No hits in the memory of any agent.")]
    return [*lines, *summary_lines(reply, now_ms)]


def _all_hit_lines(hits: Sequence[Hit], query: str) -> list[Line]:
    """Return the hits, a blank line after each; the query's words are marked."""
    pattern = pattern_for(query)
    return [each for hit in hits for each in (*_hit_lines(hit, pattern), BLANK)]


def _hit_lines(hit: Hit, pattern: re.Pattern[str] | None) -> list[Line]:
    """Return one hit: where it is, its score, the text around what matched, and why it stands there."""
    agent = f" --agent {hit.agent}" if hit.agent is not None else ""
    place = ((hit.path, "path"), f":{hit.start_line}-{hit.end_line}", (agent, "title"))
    copies = f"  {hit.copies} copies" if hit.copies > 1 else ""
    lines = [line(*place, f"  {hit.score:.2f}", (f"  {hit.source}{copies}", "quiet"))]
    for text in hit.snippet.strip("\r\n").replace("\r\n", "\n").split("\n"):
        lines.append(line(*marked(text.rstrip(), pattern), indent=SNIPPET_INDENT))
    head = " " * SNIPPET_INDENT + BECAUSE
    for why in (hit.explain or {}).get("because", ()):
        lines.append(Line(((str(why), "quiet"),), BECAUSE_INDENT, (head, "label")))
        head = ""  # said once: on a pipe it is what tells reasons from the text above
    return lines


def _empty_lines(reply: SearchReply) -> list[Line]:
    """Return why there are no hits, and the way out; an older daemon doesn't say."""
    if reply.empty is None:
        return [line("No relevant results.")]
    hint = with_options(reply.empty.hint)
    return [line(reply.empty.message), line(("try: ", "label"), hint, indent=SNIPPET_INDENT)]


def _summary(reply: SearchReply) -> tuple[Piece, ...]:
    """Return the line below the hits: how many, and how they were found."""
    return dotted(
        (count(len(reply.hits), "hit"), "title"),
        reply.mode,
        span(reply.took_ms),
        _by_whom(reply),
    )


def _by_whom(reply: SearchReply) -> str:
    """Return whose vectors were compared; empty where words alone answered."""
    return "" if reply.mode == "keyword" else embedder(reply.provider, reply.model)


def _notices(reply: SearchReply, now_ms: int) -> list[Line]:
    """Return what the answer lacks, and the way out."""
    lines: list[Line] = []
    if reply.fallback is not None:
        lines.append(line(("fallback: ", "warn"), *fallback_pieces(reply.fallback, _by_whom(reply), now_ms)))
    if reply.degraded is not None:
        lines.extend(_degraded_lines(reply.degraded, now_ms))
    if reply.partial:
        lines.append(line(("partial: ", "warn"), "time was up before everything was looked at"))
    waiting = dotted(
        f"{count(reply.pending.files, 'changed file')} not read yet" if reply.pending.files else None,
        f"{count(reply.pending.chunks, 'chunk')} still without a vector" if reply.pending.chunks else None,
        (f"the oldest for {span(reply.pending.oldest_ms)}", "quiet") if reply.pending.oldest_ms else None,
    )
    if waiting:
        lines.append(line(("pending: ", "warn"), *waiting))
    if reply.filling is not None:
        lines.append(
            line(("filling: ", "label"), *filling_pieces(reply.filling, reply.space, _by_whom(reply)))
        )
    return lines


def _degraded_lines(degraded: Degraded, now_ms: int) -> list[Line]:
    """Return why the search was less than the whole, since when, and the way out."""
    lines = [line(("degraded: ", "warn"), degraded.reason, (since(degraded, now_ms), "quiet"))]
    if degraded.hint:
        lines.append(line(("try: ", "label"), degraded.hint, indent=SNIPPET_INDENT))
    return lines
