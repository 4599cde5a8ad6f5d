"""One fact's line says something else, and every other line stays byte for byte. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memd.lifecycle.facts import lines as fact_lines
from memd.lifecycle.facts.lines import Fact, normal_form, one_line
from memd_client.errors import FactChangedError, FactMissingError
from memd_client.facts import MemoryEditParams

_LEAD = re.compile(r"[ \t]*[-*+][ \t]+")


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit makes of a file: its Markdown, the fact as it stands there, and its twin if it has one.

    Where there is a twin the Markdown is as it was.
    """

    markdown: str
    fact: Fact
    twin: Fact | None = None


def edit_fact(
    markdown: str, params: MemoryEditParams, path: str = fact_lines.PATH, others: Sequence[Fact] = ()
) -> Edited:
    """Return a file in which one fact says something else.

    What its comment says stays, unless other values are given. A line without a comment stays without one, and the
    fact then has another id: the one made of its new text.
    """
    taken = [each.id for each in others if each.position < (len(path), path, 0)]
    facts = fact_lines.read(markdown, path, taken)
    found = next((each for each in facts if each.id == params.id), None)
    if found is None:
        raise FactMissingError(f"there is no fact {params.id[:64]!r}", data={"id": params.id[:64]})
    if params.was is not None and one_line(params.was) != found.text:
        raise FactChangedError(f"the fact {found.id} says something else by now", data={"id": found.id})
    text = one_line(params.text)
    form = normal_form(text)
    twin = next(
        (each for each in (*facts, *others) if each is not found and normal_form(each.text) == form), None
    )
    if twin is not None:
        return Edited(markdown, found, twin)
    wanted = replace(
        found,
        text=text,
        importance=found.importance if params.importance is None else params.importance,
        category=params.category or found.category,
    )
    if wanted == found:
        return Edited(markdown, found)
    lines = markdown.split("\n")
    lines[found.line - 1] = _written(lines[found.line - 1], found, wanted)
    changed = "\n".join(lines)
    fact = next(each for each in fact_lines.read(changed, path, taken) if each.line == found.line)
    return Edited(changed, fact)


def _written(line: str, found: Fact, wanted: Fact) -> str:
    """Return a fact's line as it shall be, with the lead and the line end it has."""
    lead = _LEAD.match(line)
    end = "\r" if line.endswith("\r") else ""
    plain = not fact_lines.has_comment(line) and (found.importance, found.category) == (
        wanted.importance,
        wanted.category,
    )
    body = fact_lines.write(wanted, plain=plain).removeprefix("- ").removesuffix("\n")
    return f"{'- ' if lead is None else lead[0]}{body}{end}"
