"""What a daemon brings into memory before it has done anything."""

from __future__ import annotations

import subprocess
import sys

NEVER = tuple(
    "asyncio click gguf h11 html.entities json5 llama_cpp memd.cli.main memd.lifecycle.facts.facts "
    "memd.replication.service numkong rich sqlite3 watchfiles".split()
)
"""Also modules that some daemons use: those import them on first use."""


def test_the_daemon_imports_nothing_it_never_uses() -> None:
    code = "import sys, memd.__main__; print(*(name for name, module in sys.modules.items() if module))"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    imported = set(ran.stdout.split())

    assert "memd.app" in imported
    assert imported.isdisjoint(NEVER)
