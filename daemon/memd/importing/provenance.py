"""The source of an imported file, in one line of the copy. Pure.

The rest of a copy is exactly the source's text, so that one hash shows both whether the source has changed and whether
the copy was edited.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from hashlib import sha256

MARK = "memd-import"

_PROVENANCE_LINE = re.compile(
    r"(?P<bom>\ufeff?)(?:"
    r"<!-- memd-import (?P<comment>\{[^\r\n]*\}) -->(?:\r\n|\n)"
    r"|(?P<fence>---[ \t]*(?:\r\n|\n))# memd-import (?P<key>\{[^\r\n]*\})(?:\r\n|\n))"
)

_FRONTMATTER = re.compile(r"---[ \t]*(\r\n|\n)(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)")
"""YAML between fences at the start of a file."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a copy.

    Attributes:
        kind: The kind of import, such as `claude-code`.
        source: The source's absolute path.
        sha256: Hash of the source's bytes, which are the copy's without this line.
        imported: Time of the import, as ISO 8601 in UTC.
    """

    kind: str
    source: str
    sha256: str
    imported: str


@dataclass(frozen=True, slots=True)
class ImportedCopy:
    """An imported file: its provenance, and its text without it."""

    provenance: Provenance
    body: str

    @property
    def body_hash(self) -> str:
        """The hash of the current text without provenance."""
        return hash_of(self.body)

    @property
    def is_edited(self) -> bool:
        """Whether the copy was changed since it was written."""
        return self.body_hash != self.provenance.sha256


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text as UTF-8, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def with_provenance(text: str, provenance: Provenance) -> str:
    """Return a source's text with a line of provenance.

    The line is an HTML comment at the start, or a YAML comment if the text begins with frontmatter, which has to be
    first.
    """
    bom, rest = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    line = f"{MARK} {_shown(provenance)}"
    if found := _FRONTMATTER.match(rest):
        first = rest.index("\n") + 1
        return f"{bom}{rest[:first]}# {line}{found[1]}{rest[first:]}"
    end = "\r\n" if re.match(r"[^\n]*\r\n", rest) else "\n"
    return f"{bom}<!-- {line} -->{end}{rest}"


def read_copy(text: str) -> ImportedCopy | None:
    """Return the copy with its provenance; None if the file was not imported."""
    found = _PROVENANCE_LINE.match(text)
    if found is None:
        return None
    provenance = _parse_provenance(found["comment"] or found["key"])
    if provenance is None:
        return None
    return ImportedCopy(provenance, found["bom"] + (found["fence"] or "") + text[found.end() :])


def _shown(provenance: Provenance) -> str:
    """Return a provenance as JSON on one line that cannot end its comment."""
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


def _parse_provenance(line: str) -> Provenance | None:
    """Return the provenance in a line; None if it is invalid."""
    try:
        facts = json.loads(line)
        values = [facts[name] for name in ("kind", "source", "sha256", "imported")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Provenance(*values) if all(isinstance(value, str) for value in values) else None
