"""Generator of the asyncio and trio clients' methods from the blocking client's.

Signatures and docstrings are the same; asynchronous methods await `call`. `scripts/generate`
writes the modules; a test fails if they are out of date.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.tree import CLIENT

MODULES: Final = (
    "methods",
    "lifecycle_methods",
    "note_methods",
    "source_methods",
    "remote_methods",
    "maintenance_methods",
)

NOTICE: Final = "Made by `scripts/generate` from `{module}`: don't edit."

REPLACEMENTS: Final = (
    (r'\A""".*?"""', '"""The asynchronous form of `{module}`.\n\n' + NOTICE + '\n"""'),
    (r"\bfrom \.(lifecycle|note|source|remote|maintenance)_methods\b", r"from .async_\1_methods"),
    (r"\b(Lifecycle|Note|Source|Remote|Maintenance|)Methods\b", r"Async\1Methods"),
    (r"^    def ", "    async def "),
    (r"\breturn self\.request\(", "return await self.request("),
)


def generated_files() -> dict[Path, str]:
    """Return the generated modules by path."""
    return {CLIENT / f"async_{module}.py": _asynchronous(module) for module in MODULES}


def _asynchronous(module: str) -> str:
    """Return the asynchronous form of a module of methods."""
    text = (CLIENT / f"{module}.py").read_text("utf-8")
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement.replace("{module}", module), text, flags=re.MULTILINE | re.DOTALL)
    return _ruff("format", _ruff("check", text, "--select=I", "--fix-only"))


def _ruff(command: str, text: str, *options: str) -> str:
    """Return a module of the client as formatted by ruff."""
    program = [sys.executable, "-m", "ruff", command, "-q", *options]
    name = ["--stdin-filename", str(CLIENT / "async_methods.py"), "-"]
    return subprocess.run([*program, *name], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    for path, text in generated_files().items():
        path.write_text(text, "utf-8")
