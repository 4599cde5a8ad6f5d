"""Converts the source files of a named model to a GGUF file.

Run as ``python -m memd.embedding.local.convert NAME SOURCE_DIR TARGET``. Writes progress to stdout, one JSON list
``[done, total]`` a line. A failure is one line on stderr and exit code 1. The target is replaced atomically.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from memd.embedding.local.convert_e5 import convert_e5
from memd.embedding.local.convert_minilm import convert_minilm

CONVERSIONS: Final = {"minilm": convert_minilm, "e5": convert_e5}


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""

    def report(done: int, total: int) -> None:
        sys.stdout.write(json.dumps([done, total]) + "\n")
        sys.stdout.flush()

    name, source_dir, target = arguments
    try:
        CONVERSIONS[name](Path(source_dir), Path(target), report)
    except (ImportError, OSError, ValueError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
