"""`memctl search`: search the memory of one agent or of all agents, and show the hits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from memd.cli.arguments import (
    ALL_AGENTS,
    MAX_CHARS,
    MAX_PATH_CHARS,
    MAX_RESULTS,
    MAX_SOURCE_CHARS,
    Fraction,
    agent_or_all_option,
    at_most,
    examples,
    json_option,
    named_day,
    search_text,
    utf8,
)
from memd.cli.connect import CliSession, offer_sample
from memd.cli.lines import (
    BLANK,
    Line,
    Piece,
    count,
    dotted,
    embedder,
    fallback_pieces,
    filling_pieces,
    line,
    since,
    span,
)
from memd_client.escaping import NOTICE, OUTSIDE
from memd_client.hit_text import (
    CUT_MARK,
    GAP,
    INDENT,
    LINE_ENDS,
    NO_STRONG_MATCH,
    are_all_weak,
    excerpt_of,
    text_of_hit,
)

if TYPE_CHECKING:
    from memd.cli.output import Output
    from memd_client import Client
    from memd_client.messages import Hit, SearchAgentsReply, SearchedAgent, SearchReply, SessionInfo


STYLES_OF_PARTS = {"conversation": "title", "superseded_by": "warn", "heading": "label"}
BECAUSE = "because: "
BECAUSE_INDENT = INDENT + len(BECAUSE)

Notice = tuple[str, tuple[Piece, ...], str]
"""A label, a text, and a hint or an empty string."""


def summary_lines(reply: SearchAgentsReply, now_ms: int) -> list[Line]:
    """Return the number of hits and agents, how they were searched, and notices."""
    searched = [row for row in reply.agents if row.error is None]
    how = {(row.mode, _embedder_of(row)) for row in searched}
    mode, embedder_name = next(iter(how)) if len(how) == 1 else ("", "")
    lines = [
        line(
            *dotted(
                (count(len(reply.hits), "hit"), "title"),
                f"{count(len(searched), 'agent')} searched",
                mode,
                span(reply.took_ms),
                embedder_name,
            )
        )
    ]
    notices: dict[Notice, list[str]] = {}
    for row in reply.agents:
        if row.empty is not None and not reply.hits:
            notices.setdefault(("no hits", (row.empty.message,), with_options(row.empty.hint)), []).append(
                row.agent
            )
        hits = [hit for hit in reply.hits if hit.agent == row.agent]
        for notice in _agent_notices(row, hits, now_ms, with_mode=len(how) > 1):
            notices.setdefault(notice, []).append(row.agent)
    for (label, pieces, hint), agents in notices.items():
        lines += _notice_lines(label, (*_whose(agents, reply.agents), *pieces), hint)
    return lines


def with_options(hint: str) -> str:
    """Return a hint of the daemon with options in place of the parameters."""
    return hint.replace("min_score", "--min-score").replace("without origins", "without --origin")


def _whose(agents: Sequence[str], rows: Sequence[SearchedAgent]) -> tuple[Piece, ...]:
    """Return the agents' names in front of a notice; none if it concerns all agents."""
    return () if len(agents) == len(rows) > 1 else ((f"{', '.join(agents)}: ", "title"),)


def _agent_notices(
    row: SearchedAgent, hits: Sequence[Hit], now_ms: int, *, with_mode: bool
) -> Iterator[Notice]:
    """Return the notices of one agent's search."""
    if row.error is not None:
        yield "error", (f"{row.error.message} ({row.error.code})",), row.error.hint
        return
    if with_mode:
        yield "mode", dotted(row.mode, _embedder_of(row)), ""
    yield from _notices(row, hits, now_ms)


def _notices(
    found: SearchReply | SearchedAgent, hits: Sequence[Hit], now_ms: int, *, with_age: bool = False
) -> Iterator[Notice]:
    """Return what a search with these hits lacks; with the age of the oldest pending change if wanted."""
    if found.fallback is not None:
        yield "fallback", fallback_pieces(found.fallback, _embedder_of(found), now_ms), ""
    # With a strong hit, vectors that are being computed wouldn't change the answer.
    is_sure = any(hit.relevance == "strong" for hit in hits)
    degraded = found.degraded
    if degraded is not None and not (is_sure and degraded.code == "vectors_pending"):
        yield "degraded", (degraded.reason, (since(degraded, now_ms), "quiet")), degraded.hint
    if found.partial:
        yield "partial", ("the deadline ended the search early",), ""
    if found.pending is not None:
        pending = found.pending
        waiting = dotted(
            f"{count(pending.files, 'changed file')} not indexed yet" if pending.files else None,
            f"{count(pending.chunks, 'chunk')} without a vector yet"
            if pending.chunks and not is_sure
            else None,
        )
        if waiting:
            age = (f"the oldest for {span(pending.oldest_ms)}", "quiet")
            yield "pending", dotted(*waiting, age) if with_age and pending.oldest_ms else waiting, ""


def _notice_lines(label: str, pieces: Iterable[Piece], hint: str) -> list[Line]:
    lines = [line((f"{label}: ", "warn"), *pieces)]
    return [*lines, line(("hint: ", "label"), hint, indent=INDENT)] if hint else lines


def _embedder_of(found: SearchReply | SearchedAgent) -> str:
    """Return the provider of the compared vectors; empty for keyword search only."""
    return "" if found.mode == "keyword" else embedder(found.provider, found.model)


@click.command(
    "search",
    epilog=examples(
        "memctl search when does the certificate expire",
        "memctl search --agent main --max-results 3 'release checklist'",
        "memctl search --path memory/2026- --json deploy | jq -r .hits[].path",
        "memctl search --explain why sqlite",
        "memctl search --max-chars 2000 which cities did we visit",
        "memctl search --include-weak holiday plans",
        "memctl search --origin user,agent restart the relay",
        "memctl search --min-score 0 holiday plans",
        "memctl search --agent all tax return",
    ),
)
@click.argument("query", nargs=-1, required=True, type=utf8)
@agent_or_all_option
@click.option(
    "--max-results", "--limit", type=click.IntRange(1, MAX_RESULTS), metavar="N", help="Number of hits."
)
@click.option(
    "--max-chars",
    type=click.IntRange(1, MAX_CHARS),
    metavar="N",
    help="Maximum number of characters of all hits; shows as many hits as fit.",
)
@click.option(
    "--include-weak",
    is_flag=True,
    help="Show all weak hits, also those hardly related to QUERY, instead of two or three.",
)
@click.option(
    "--min-score",
    type=Fraction(0, 1),
    metavar="X",
    help="Minimum score of a hit, 0 to 1; 0 shows all hits, also those that are hardly relevant.",
)
@click.option(
    "sources",
    "--source",
    type=at_most(MAX_SOURCE_CHARS),
    metavar="NAME",
    multiple=True,
    help="Search only this source: memory, sessions, or one of `memctl sources`; may be repeated.",
)
@click.option(
    "kinds",
    "--kind",
    type=click.Choice(("notes", "conversations", "work")),
    multiple=True,
    help="Search only notes or conversations, or `work`: commands that agents ran and files that they changed.",
)
@click.option(
    "origins", "--origin", multiple=True, help="Only the words of user, agent, program or outside (others)."
)
@click.option(
    "--project",
    type=at_most(MAX_PATH_CHARS),
    metavar="NAME",
    help="Search only conversations held in this project, by its name or path.",
)
@click.option(
    "--since",
    type=at_most(MAX_SOURCE_CHARS),
    metavar="TIME",
    help="Search only what was said or written since a day (2026-11-02, yesterday) or within a duration (7d).",
)
@click.option(
    "--path",
    type=at_most(MAX_PATH_CHARS),
    metavar="PREFIX",
    help="Search only files whose path starts with PREFIX.",
)
@click.option("--explain", is_flag=True, help="Explain the rank of each hit, and show timings.")
@json_option
@click.pass_obj
def command(
    session: CliSession,
    query: tuple[str, ...],
    agent: str | None,
    max_results: int | None,
    max_chars: int | None,
    include_weak: bool,
    min_score: float | None,
    sources: tuple[str, ...],
    kinds: tuple[str, ...],
    origins: tuple[str, ...],
    path: str | None,
    project: str | None,
    since: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Search an agent's memory for QUERY.

    With `--agent all`, searches the memory of every agent. The exit code is 0 even without hits.
    """
    text = search_text(query)
    limits: dict[str, Any] = {
        "max_results": max_results,
        "max_chars": max_chars,
        "include_weak": include_weak,
        "min_score": min_score,
        "sources": list(sources) or None,
        "kinds": list(kinds) or None,
        "origins": ",".join(origins).split(",") if origins else None,
        "path": path,
        "project": project,
        "since": since and named_day(since),
        "explain": explain,
        "limit_weak": not as_json,
    }
    with session.client() as client:
        reply = _search(client, session.output, text, agent, limits)
    if as_json:
        session.output.reply(reply)
        return
    from memd_client.messages import SearchAgentsReply

    # The commands that open conversations are for a person, who sets no limit of characters.
    with_openers = max_chars is None
    if isinstance(reply, SearchAgentsReply):
        session.output.lines(search_agents_lines(reply, session.now_ms(), with_openers=with_openers))
    else:
        session.output.lines(search_lines(reply, session.now_ms(), with_openers=with_openers))
    if not reply.hits:
        offer_sample(session)


def _search(
    client: Client, output: Output, query: str, agent: str | None, limits: dict[str, Any]
) -> SearchReply | SearchAgentsReply:
    """Return the reply for one agent's memory, or for that of all agents."""
    if agent != ALL_AGENTS:
        return client.search(query, agent=agent, **limits)
    from memd_client.errors import AgentUnknownError

    try:
        reply = client.search(query, agent=agent, **limits)
    except AgentUnknownError:
        return client.search_agents(query, **limits)
    output.note(f"searched only the agent with the id {ALL_AGENTS}")
    return reply


def search_lines(reply: SearchReply, now_ms: int, *, with_openers: bool = True) -> list[Line]:
    """Return the hits of a search as lines, followed by a summary and notices."""
    lines = _all_hit_lines(reply.hits, with_openers=with_openers) or _empty_lines(reply)
    lines.append(line(*_summary(reply)))
    if reply.timings:
        lines.append(
            line(
                ("timings: ", "label"),
                *dotted(*(f"{_timing_name(name)} {span(ms)}" for name, ms in reply.timings.items())),
            )
        )
    for notice in _notices(reply, reply.hits, now_ms, with_age=True):
        lines += _notice_lines(*notice)
    if reply.filling is not None:
        filling = filling_pieces(reply.filling, reply.space, _embedder_of(reply))
        lines.append(line(("filling: ", "label"), *filling))
    return lines


def _timing_name(key: str) -> str:
    """Return the name of a part of a search, from its key in a reply."""
    name = key.removesuffix("_ms")
    return {"scan": "changed files", "keyword": "keywords", "vector": "vectors"}.get(name, name)


def search_agents_lines(reply: SearchAgentsReply, now_ms: int, *, with_openers: bool = True) -> list[Line]:
    """Return the hits of several agents as lines, followed by a summary and notices."""
    lines = _all_hit_lines(reply.hits, with_openers=with_openers) or [line("No relevant results.")]
    return [*lines, *summary_lines(reply, now_ms)]


def _all_hit_lines(hits: Sequence[Hit], *, with_openers: bool) -> list[Line]:
    """Return the hits, and a blank line after each."""
    lines = [each for hit in hits for each in (*_hit_lines(hit, with_opener=with_openers), BLANK)]
    if are_all_weak(hits):
        lines[:0] = [line((NO_STRONG_MATCH, "warn")), BLANK]
    if any(hit.origin == OUTSIDE for hit in hits):
        lines[:0] = [line((NOTICE, "warn")), BLANK]
    return lines


def _hit_lines(hit: Hit, *, with_opener: bool) -> list[Line]:
    """Return the lines of one hit, the command that opens it, and the reasons for its rank."""
    text = text_of_hit(hit)
    place, day, relevance = (
        (text.place, "path"),
        f"{GAP}{text.date}" if text.date else "",
        (f"{GAP}{text.relevance}", "warn" if hit.relevance == "weak" else "quiet"),
    )
    lines = [line(place, day, relevance, (f"{GAP}[{text.origin}]" if text.origin else "", "warn"))]
    lines += [line((each, STYLES_OF_PARTS[part])) for part, each in text.about()]
    if with_opener and hit.session is not None and hit.session.open and not hit.session.deleted:
        lines.append(line(*dotted((hit.session.open, "quiet"), *_work_of(hit.session))))
    lines += [line(*pieces, indent=INDENT) for pieces in marked_lines(hit)]
    if hit.currency is not None:
        lines.append(
            line((text.currency, "quiet" if hit.currency.verdict == "holds" else "warn"), indent=INDENT)
        )
    head = " " * INDENT + BECAUSE
    for why in (hit.explain or {}).get("reasons", ()):
        lines.append(Line(((str(why), "quiet"),), BECAUSE_INDENT, (head, "label")))
        head = ""  # shown once: on a pipe it separates the reasons from the snippet
    return lines


def _work_of(session: SessionInfo) -> list[Piece]:
    """Return how much an agent did in a session, if it did anything."""
    amounts = ((session.commands, "command"), (session.files, "changed file"))
    parts = [count(number, noun) for number, noun in amounts if number]
    return [(", ".join(parts), "quiet")] if parts else []


def marked_lines(hit: Hit) -> Iterator[tuple[Piece, ...]]:
    """Yield the lines of a snippet with the matched terms highlighted, without blank lines around them."""
    if hit.origin == OUTSIDE:
        yield from ((text,) for text in excerpt_of(hit).split("\n"))
        return
    start = len(hit.snippet) - len(hit.snippet.lstrip(LINE_ENDS))
    lines = hit.snippet.strip(LINE_ENDS).split("\n")
    for number, whole in enumerate(lines, start=1):
        text, pieces, at = whole.rstrip(), list[Piece](), 0
        for first, end in hit.spans:
            low, high = max(first - start, at), min(end - start, len(text))
            if low < high:
                pieces += [text[at:low], (text[low:high], "match")]
                at = high
        start += len(whole) + 1
        above = CUT_MARK if hit.is_cut_above and number == 1 else ""
        below = CUT_MARK if hit.is_cut_below and number == len(lines) else ""
        yield tuple(piece for piece in (above, *pieces, text[at:], below) if piece)


def _empty_lines(reply: SearchReply) -> list[Line]:
    """Return why there are no hits, and a hint; older daemons give no reason."""
    if reply.empty is None:
        return [line("No relevant results.")]
    hint = with_options(reply.empty.hint)
    return [line(reply.empty.message), line(("hint: ", "label"), hint, indent=INDENT)]


def _summary(reply: SearchReply) -> tuple[Piece, ...]:
    """Return the summary below the hits."""
    return dotted(
        (count(len(reply.hits), "hit"), "title"),
        reply.mode,
        span(reply.took_ms),
        _embedder_of(reply),
    )
