"""Writes docs/errors.md from the tree of errors; `scripts/errors_doc` calls it."""

from __future__ import annotations

import inspect
from pathlib import Path

from memd_client.errors import all_errors

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"

HEAD = """# Errors

An error is `{code, message, data}` on the wire and a class of `memd_client.errors` in Python, all below `MemdError`.
The code is never renamed and never reused; the message names the thing that went wrong; the hint (`data.hint`,
`error.hint`) is the way out, often more exact than the one below. `memctl` prints all three. A code that a client
doesn't know arrives as `MemdError` with the code in `wire_code`.

This page is made by `scripts/errors_doc`.

| code | class | what happened | the way out |
|---|---|---|---|
"""


def render() -> str:
    """Return the whole page."""
    rows = []
    for code, kind in all_errors().items():
        what = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        if code == "internal":
            what = "A defect in the daemon. The log has the details, the reply has none."
        rows.append(f"| `{code}` | `{kind.__name__}` | {what} | {kind.hint} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
