"""The markers memd itself writes into notes: what they look like, so that no search finds or shows them. Pure.

A fact's id (`memd.lifecycle.facts.lines`), the key of an appended entry (`memd.lifecycle.notes.daily`), and the
origin of an imported file (`memd.importing.provenance`): a comment of HTML, or of YAML in a file that begins with
frontmatter.
Other comments are text of the note.
"""

from __future__ import annotations

import re
from typing import Final

from memd.text.cut.markers import SPACE

OWN_MARKER: Final = re.compile(
    rf"<!--[{SPACE}]*(?:memd:key=|memd-import[{SPACE}]*\{{|fact[{SPACE}]+(?:id|importance|category|created)=)",
    re.ASCII | re.IGNORECASE,
)
"""The opening of an HTML comment that memd wrote."""

_PROVENANCE_KEY = re.compile(r"(\ufeff?---[ \t]*\r?\n)# memd-import \{[^\r\n]*\}")


def hide_provenance_key(text: str) -> str:
    """Return a note whose frontmatter does not say where the note was imported from; that line is empty then."""
    found = _PROVENANCE_KEY.match(text)
    return text if found is None else found[1] + text[found.end() :]
