"""Writes docs/errors.md from the tree of errors; `scripts/docs` calls it."""

from __future__ import annotations

import inspect
from pathlib import Path

from memd_client.errors import all_errors

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"

HEAD = Path(__file__).resolve().parent / "texts" / "errors.md"


def render() -> str:
    """Return the whole page."""
    rows = []
    for code, kind in all_errors().items():
        what = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        if code == "internal":
            what = "A defect in the daemon. The log has the details, the reply has none."
        rows.append(f"| `{code}` | `{kind.__name__}` | {what} | {kind.hint} |\n")
    return HEAD.read_text("utf-8") + "".join(rows)
