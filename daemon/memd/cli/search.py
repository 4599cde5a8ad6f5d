"""`memctl search`: a question to an agent's memory, the hits, and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
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
from memd.cli.options import agent_option, examples, json_option, utf8
from memd.cli.wording import count, span

if TYPE_CHECKING:
    import re

    from memd_client.messages import Degraded, Hit, SearchReply

SNIPPET_INDENT = 2


@click.command(
    "search",
    epilog=examples(
        "memctl search when does the certificate expire",
        "memctl search --agent main --max-results 3 'release checklist'",
        "memctl search --path memory/2026- --json deploy | jq -r .hits[].path",
        "memctl search --explain why sqlite",
    ),
)
@click.argument("query", nargs=-1, required=True, type=utf8)
@agent_option
@click.option("--max-results", type=click.IntRange(min=1), metavar="N", help="At most this many hits.")
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="X", help="No hit below this, 0 to 1.")
@click.option(
    "sources",
    "--source",
    type=click.Choice(["memory", "sessions"]),
    multiple=True,
    help="Only this source; may be given twice.",
)
@click.option("--path", type=utf8, metavar="PREFIX", help="Only files whose path starts with this.")
@click.option("--explain", is_flag=True, help="Show what each score is made of, and timings.")
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

    Ends with 0 also where nothing was found.
    """
    question = " ".join(query)
    with session.client() as client:
        reply = client.search(
            question,
            agent=agent,
            max_results=max_results,
            min_score=min_score,
            sources=list(sources) or None,
            path=path,
            explain=explain,
        )
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    else:
        session.output.lines(search_lines(reply, question, session.now_ms()))


def search_lines(reply: SearchReply, query: str, now_ms: int) -> list[Line]:
    """Return the hits of a search as lines, and below them how they were found.

    Args:
        reply: The daemon's.
        query: The question; its words are marked in the snippets.
        now_ms: The time now, in epoch milliseconds.
    """
    pattern = pattern_for(query)
    lines: list[Line] = []
    for hit in reply.hits:
        lines.extend(_hit_lines(hit, pattern))
        lines.append(BLANK)
    if not reply.hits:
        lines.append(line("Nothing relevant found." if reply.abstained else "No hits."))
    lines.append(line(*_summary(reply)))
    if reply.timings:
        lines.append(
            line(
                ("timings: ", "label"),
                *_listed({k.removesuffix("_ms"): span(v) for k, v in reply.timings.items()}),
            )
        )
    lines.extend(_notices(reply, now_ms))
    return lines


def _hit_lines(hit: Hit, pattern: re.Pattern[str] | None) -> list[Line]:
    """Return one hit: where it is, its score, and the text around what matched."""
    place = ((hit.path, "path"), f":{hit.start_line}-{hit.end_line}")
    copies = f"  {hit.copies} copies" if hit.copies > 1 else ""
    lines = [line(*place, f"  {hit.score:.2f}", (f"  {hit.source}{copies}", "quiet"))]
    if hit.explain is not None:
        parts: dict[str, Any] = {"vector": hit.vector_score, "text": hit.text_score, **hit.explain}
        lines.append(line(("score: ", "label"), *_listed(parts), indent=SNIPPET_INDENT))
    for text in hit.snippet.strip("\r\n").replace("\r\n", "\n").split("\n"):
        lines.append(line(*marked(text.rstrip(), pattern), indent=SNIPPET_INDENT))
    return lines


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


def _listed(parts: Mapping[str, Any]) -> tuple[Piece, ...]:
    """Return names with their values; a nested map's names follow its own after a dot."""
    flat: dict[str, Any] = {}
    for name, value in parts.items():
        if isinstance(value, Mapping):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return dotted(*(f"{name} {_shown(value)}" for name, value in flat.items()))


def _shown(value: object) -> str:
    """Return a value as it reads: four decimals are what scores differ in."""
    if value is None:
        return "none"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
