"""Writes the inputs of each requirement file into a folder: `requirements.py FOLDER`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write `<part>.in` for every part, and an empty file of pins."""
    target = Path(sys.argv[1])
    daemon = tomllib.loads((ROOT / "daemon" / "pyproject.toml").read_text())["project"]
    optional = daemon["optional-dependencies"]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    parts = {
        "run": [each for each in daemon["dependencies"] if not each.startswith("memd-client")],
        "local": optional["local"],
        "local-build": optional["local-build"],
        "build": groups["build"],
        "dev": groups["dev"],
    }
    for name, requirements in parts.items():
        (target / f"{name}.in").write_text("\n".join(requirements) + "\n")
    (target / "pinned.txt").write_text("")


if __name__ == "__main__":
    main()
