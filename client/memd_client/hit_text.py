"""How a hit is shown to people and agents: its lines, its length, and how many weak hits are shown. Pure functions.

`memctl search`, the tools of MCP and of hooks, and the daemon, which counts characters, use the same lines:

    codex/0199ab#L12-L18  2026-11-12  strong 0.83
    queue for order mails · shop (main) · codex
    superseded by memory/2026-11-20.md#L3 (2026-11-20)
    # Mails > Retries
    … and the queue for order mails retries three times.
    now: src/queue.py changed in 3 commits since, last on 2026-11-20
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memd_client.escaping import labelled, on_one_line, show_unseen
from memd_client.locations import citation

if TYPE_CHECKING:
    from memd_client.searches import Currency, Hit
    from memd_client.sources import SessionInfo

NO_STRONG_MATCH = "No strong match. Weakly related:"
"""What precedes hits that are all weak."""

MAX_WEAK_HITS, MAX_WEAK_BESIDE_STRONG = 3, 2
"""The most weak hits that are shown; the second number with a strong hit."""

MAX_WEAK_SHARE = 0.25
"""Largest share of weak hits that follow a strong one, in the characters up to them."""

CUT_MARK = "…"
"""Marks an excerpt that starts or ends inside a sentence or a list item."""

INDENT = 2
"""Columns before a line of an excerpt in a terminal; they count everywhere, so that a limit means the same."""

GAP, DOT = "  ", " · "

LINE_ENDS = "\r\n"

MAX_NAME_CHARS = 80
"""Longest title or project."""

T = TypeVar("T")


class HitText(NamedTuple):
    """The parts of a hit in the order in which they are shown; empty ones are not shown."""

    place: str
    date: str
    relevance: str
    conversation: str
    superseded_by: str
    heading: str
    excerpt: str
    currency: str = ""
    origin: str = ""

    @property
    def title(self) -> str:
        """The first line: place, day, relevance and score."""
        return GAP.join(filter(None, self[:3]))

    def about(self) -> Iterator[tuple[str, str]]:
        """Yield the lines between the title and the excerpt, each with the name of its part."""
        if self.conversation:
            yield "conversation", self.conversation
        if self.superseded_by:
            yield "superseded_by", f"superseded by {self.superseded_by}"
        if self.heading:
            yield "heading", f"# {self.heading}"

    def head(self) -> list[str]:
        """Return the lines above the excerpt."""
        return [self.title, *(line for _, line in self.about())]


def text_of_hit(hit: Hit) -> HitText:
    """Return the parts of a hit."""
    copies = f"{GAP}{hit.copies} copies" if hit.copies > 1 else ""
    return HitText(
        hit.citation + agent_label(hit.agent),
        hit.date,
        f"{hit.relevance} {hit.score:.2f}{copies}",
        describe_session(hit.session),
        str(hit.superseded_by or ""),
        hit.heading,
        excerpt_of(hit),
        describe_currency(hit.currency),
        describe_origin(hit),
    )


def hit_for_prompt(text: HitText) -> str:
    """Return a hit as text for a model: its names are escaped, and an excerpt of other people is in a block."""
    below = filter(None, (text.excerpt, on_one_line(text.currency)))
    return show_unseen("\n".join([*map(on_one_line, text.head()), *below]))


def agent_label(agent: str | None) -> str:
    """Return what follows the place of a hit of one of several agents; empty for None."""
    return "" if agent is None else f"{GAP}agent {agent}"


def excerpt_of(hit: Hit) -> str:
    """Return the snippet of a hit, without blank lines around it, with a mark where it cuts a sentence.

    A snippet of other people is in a block that names its origin.
    """
    return labelled(_whole_excerpt(hit), hit.origin, hit.origin_reason)


def _whole_excerpt(hit: Hit) -> str:
    above, below = CUT_MARK if hit.is_cut_above else "", CUT_MARK if hit.is_cut_below else ""
    return f"{above}{hit.snippet.strip(LINE_ENDS)}{below}"


def describe_origin(hit: Hit) -> str:
    """Return whose words a hit is, and why, if they are neither the user's nor an agent's; else an empty string."""
    why = f": {_cut(hit.origin_reason)}" if hit.origin_reason else ""
    return f"{hit.origin}{why}" if hit.origin in ("program", "outside") else ""


def describe_session(session: SessionInfo | None) -> str:
    """Return the title, project and program of a conversation on one line; empty for None."""
    if session is None:
        return ""
    project = session.project.rstrip("/").rpartition("/")[2]
    facts = (
        _cut(session.title),
        _cut(f"{project} ({session.branch})" if project and session.branch else project),
        session.program,
        "deleted there, kept here" if session.deleted else "",
    )
    return DOT.join(filter(None, facts))


def describe_currency(currency: Currency | None) -> str:
    """Return the line below a hit that tells whether it still holds; empty for None."""
    return "" if currency is None else f"now: {currency.text}"


def size_of_hit(hit: Hit) -> int:
    """Return the characters that a hit takes, with indents and the blank line that separates it from the next one.

    A hit of which the day isn't read yet counts as if it had one.
    """
    text = text_of_hit(hit)
    day = 0 if text.date else len(GAP) + len("2026-11-12")
    head = sum(len(line) + 1 for line in text.head())
    below = INDENT + len(text.currency) + 1 if text.currency else 0
    return head + below + day + len(text.excerpt) + INDENT * (text.excerpt.count("\n") + 1) + 2


def are_all_weak(hits: Sequence[Hit]) -> bool:
    """Return whether there are hits, but no strong one."""
    return bool(hits) and all(hit.relevance == "weak" for hit in hits)


def without_surplus_weak(items: Iterable[T], relevance_of: Callable[[T], str]) -> list[T]:
    """Return items without the weak ones beyond the first three, or two after a strong one."""
    shown: list[T] = []
    weak, most = 0, MAX_WEAK_HITS
    for item in items:
        if relevance_of(item) == "strong":
            most = MAX_WEAK_BESIDE_STRONG
        elif weak >= most:
            continue
        else:
            weak += 1
        shown.append(item)
    return shown


def row_of_hit(hit: Hit) -> dict[str, Any]:
    """Return a hit as a row of the result of `memory_search`, in OpenClaw's names.

    It has no citation, which would repeat path and lines, and no empty fields. Without `origin` it is the agent's.
    `memd_client.escaping.mark_outside` puts the snippets of other people in blocks.
    """
    row: dict[str, Any] = {"agent": hit.agent} if hit.agent is not None else {}
    row |= {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": _whole_excerpt(hit),
        "source": hit.source,
    }
    others = {
        "date": hit.date,
        "relevance": "weak" if hit.relevance == "weak" else "",
        "conversation": describe_session(hit.session),
        "supersededBy": str(hit.superseded_by or ""),
        "heading": hit.heading,
        "currency": describe_currency(hit.currency),
        "origin": "" if hit.origin == "agent" else hit.origin,
        "origin_reason": hit.origin_reason,
    }
    return row | {name: value for name, value in others.items() if value}


def text_of_row(row: Mapping[str, Any]) -> HitText:
    """Return the parts of a row of `memory_search`."""
    place = citation(row["path"], row["startLine"], row["endLine"])
    return HitText(
        place + agent_label(row.get("agent")),
        row.get("date", ""),
        f"{row.get('relevance', 'strong')} {row['score']:.2f}",
        row.get("conversation", ""),
        row.get("supersededBy", ""),
        row.get("heading", ""),
        row["snippet"],
        row.get("currency", ""),
    )


def _cut(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}{CUT_MARK}"
