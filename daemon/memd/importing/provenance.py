"""Where an imported file came from, in one line of the copy itself. Pure.

The rest of a copy is the source's text to the last byte, so that one hash serves twice: it tells whether the source
has changed since, and whether somebody has edited the copy.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256

MARK = "memd-import"

_MADE = re.compile(
    r"(?P<bom>\ufeff?)(?:"
    r"<!-- memd-import (?P<comment>\{[^\r\n]*\}) -->(?:\r\n|\n)"
    r"|(?P<fence>---[ \t]*(?:\r\n|\n))# memd-import (?P<key>\{[^\r\n]*\})(?:\r\n|\n))"
)

_FRONTMATTER = re.compile(r"---[ \t]*(\r\n|\n)(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
"""YAML between its fences, at the very beginning of a file."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a copy says of itself.

    Attributes:
        kind: What it was imported from, such as `claude-code`.
        source: The source's absolute path.
        sha256: Of the source's bytes, which are the copy's without this line.
        imported: When, as ISO 8601 in UTC.
    """

    kind: str
    source: str
    sha256: str
    imported: str


@dataclass(frozen=True, slots=True)
class Copy:
    """An imported file: what it says of itself, and whether it still is what was written."""

    provenance: Provenance
    body: str

    @property
    def body_hash(self) -> str:
        """The hash of what it holds now, provenance left out."""
        return hash_of(self.body)

    @property
    def is_edited(self) -> bool:
        """Whether somebody has changed it since it was written."""
        return self.body_hash != self.provenance.sha256


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text as UTF-8, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_provenance(text: str, provenance: Provenance) -> str:
    """Return a source's text with a line about where it came from.

    The line is an HTML comment before everything else, or a comment of YAML where the text begins with frontmatter,
    which has to stay first.
    """
    bom, rest = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    line = f"{MARK} {_shown(provenance)}"
    if found := _FRONTMATTER.match(rest):
        first = rest.index("\n") + 1
        return f"{bom}{rest[:first]}# {line}{found[1]}{rest[first:]}"
    end = "\r\n" if re.match(r"[^\n]*\r\n", rest) else "\n"
    return f"{bom}<!-- {line} -->{end}{rest}"


def read_copy(text: str) -> Copy | None:
    """Return what an imported file says of itself, and what it was made from; None for any other file."""
    found = _MADE.match(text)
    if found is None:
        return None
    provenance = _understood(found["comment"] or found["key"])
    if provenance is None:
        return None
    return Copy(provenance, found["bom"] + (found["fence"] or "") + text[found.end() :])


def _shown(provenance: Provenance) -> str:
    """Return a provenance as JSON on one line that can't end the comment it stands in."""
    facts = {
        "kind": provenance.kind,
        "source": provenance.source,
        "sha256": provenance.sha256,
        "imported": provenance.imported,
    }
    plain = json.dumps(facts, ensure_ascii=False)
    return "".join(
        char if char.isprintable() else json.dumps(char)[1:-1]
        for char in plain.replace("<", "\\u003c").replace(">", "\\u003e")
    )


def _understood(line: str) -> Provenance | None:
    """Return what a line of provenance says; None where it is none."""
    try:
        facts = json.loads(line)
        values = [facts[name] for name in ("kind", "source", "sha256", "imported")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Provenance(*values) if all(isinstance(value, str) for value in values) else None
