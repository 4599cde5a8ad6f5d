"""A search of work alone: commands that agents ran, and files that they read or changed."""

from __future__ import annotations

from collections.abc import Mapping

from memd.index.transcripts import load_session_facts
from memd.index.work import RAN, WorkRow, WorkScope, find_work
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.search.sessions import day_of, session_info
from memd.search.snippets import MAX_SNIPPET_CHARACTERS
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from memd.text.trust.origins import ORIGINS, PROGRAM
from memd_client.messages import Hit


def search_work(
    db: Database, query: str, most: int, scope: WorkScope, programs: Mapping[str, str]
) -> list[Hit]:
    """Return steps that match the words of a query as hits, best first (blocking).

    Args:
        db: The index.
        query: The query.
        most: Most hits.
        scope: Filters.
        programs: The program of each source of conversations.
    """
    plan = plan_match(query)
    matches = find_work(db, plan.any or "", most, scope)
    complete = {row.id for row, _ in find_work(db, plan.strict or "", most, scope)}
    facts = load_session_facts(db, {row.path for row, _ in matches})
    hits = []
    for row, rank in sorted(matches, key=lambda match: match[0].id not in complete):
        source = row.path.partition("/")[0]
        session = facts.get(row.path)
        is_complete = row.id in complete
        hits.append(
            Hit(
                path=row.path,
                start_line=row.place,
                end_line=row.place,
                score=round((0.5 if is_complete else 0.0) + 0.5 * rank / (rank + 10), 4),
                vector_score=None,
                text_score=rank,
                snippet=describe_step(row)[:MAX_SNIPPET_CHARACTERS],
                source=source,
                citation=f"{row.path}#L{row.place}",
                relevance="strong" if is_complete else "weak",
                session=session_info(session, programs.get(source, ""), row.time_ms)
                if session is not None and source != OPENCLAW_SOURCE
                else None,
                date=day_of(row.time_ms),
                origin=ORIGINS[PROGRAM],
            )
        )
    return hits


def describe_step(row: WorkRow) -> str:
    """Return a step as text: what was done, its outcome, and the output or the spans of the edit."""
    code = "" if row.exit_code is None else f", exit status {row.exit_code}"
    if row.action == RAN:
        return f"$ {row.text}\n[{row.status}{code}]" + (f"\n{row.detail}" if row.detail else "")
    lines = [f"{row.action} {row.subject}" + ("" if row.status == "ok" else f" [{row.status}]")]
    lines += [f"- {line}" for line in row.detail.splitlines()]
    return "\n".join([*lines, *(f"+ {line}" for line in row.text.splitlines())])
