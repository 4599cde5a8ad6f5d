"""Examples on the pages for users.

Settings: `json5` blocks are openclaw.json, `toml` blocks memd.toml. Programs: `python` and `js` blocks whose first line
is a comment `example: NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support.tree import ROOT

PAGES: Final = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "client").glob("*/README.md")),
)

BLOCK: Final = re.compile(r"^[ ]*```(\w+)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)

FOREIGN: Final = ("mcp_servers",)
"""What blocks of other programs' settings hold."""


def examples(language: str) -> Iterator[tuple[Path, str]]:
    """Yield the page and the text of every example in a language, other programs' settings left out."""
    for page in PAGES:
        for found in BLOCK.finditer(page.read_text("utf-8")):
            if found[1] == language and not any(word in found[2] for word in FOREIGN):
                yield page, found[2]


def programs(page: Path, language: str) -> dict[str, str]:
    """Return the programs of a page by name; the blocks without a name are pieces that run in none."""
    blocks = re.findall(
        rf"```{language}\n(?:#|//) example: (\w+)\n(.*?)```", page.read_text("utf-8"), re.DOTALL
    )
    return dict(blocks)
