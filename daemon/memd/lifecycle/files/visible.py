"""Characters that show nothing, or make a line show something other than what it says, written out.

Pure. Joiners stay as they are: emoji and some scripts are written with them.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but tab and newline
    "\u200b\u200e\u200f\u061c\u2060-\u2064\ufeff"  # zero width, direction marks, invisible signs
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u206f"  # overrides, embeddings and isolates of direction, and what they replaced
    "\ufff9-\ufffb"  # annotations
    "\ud800-\udfff"  # halves of pairs, which nobody can encode
    "\U000e0000-\U000e007f"  # tags: whole sentences can be hidden in them
    "]"
)


def show_unseen(text: str) -> str:
    r"""Return a text with unseen characters written as `\u202e`; its lines and words stay as they are."""
    return _UNSEEN.sub(_written_out, text.replace("\r\n", "\n"))


def on_one_line(text: str, limit: int) -> str:
    """Return a text as one line without unseen characters, cut visibly."""
    line = show_unseen(text).replace("\n", "\\n").replace("\t", " ")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _written_out(match: re.Match[str]) -> str:
    r"""Return a character as `\uXXXX`, beyond that as the pair JSON writes."""
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
