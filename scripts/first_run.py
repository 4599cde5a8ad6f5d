"""What `scripts/run` does once memd is installed: model, daemon, index, status, one search."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import platformdirs

from memd_client import Client
from memd_client.discovery import socket_path
from memd_client.errors import MemdError

MEMCTL = Path(sys.executable).parent / "memctl"
SAMPLE_QUESTION = "why was the archive search slow"


def main() -> None:
    """Show memd at work on the user's memory, or on the sample's."""
    question = choose_memory()
    if "--no-local" not in sys.argv:
        run("model", "pull", "minilm", may_fail=True)
    run("index")
    run("status")
    question = question or newest_topic()
    print(f"\n$ memctl search {question!r}")
    run("search", question)
    print(f"\nSearch again with: {how_to_call()} search 'your question'")


def choose_memory() -> str | None:
    """Work on the sample where there is no state directory; return the question to ask of it."""
    home = Path.home()
    if os.environ.get("OPENCLAW_STATE_DIR") or (home / ".openclaw").exists() or (home / ".clawdbot").exists():
        return None
    from memd.sample import copy_sample

    target = Path(platformdirs.user_data_dir("memd")) / "sample"
    copy_sample(target)
    os.environ["OPENCLAW_STATE_DIR"] = str(target)
    os.environ.setdefault("MEMD_SOCKET", str(Path(socket_path()).with_name("sample.sock")))
    print(f"There is no OpenClaw state directory here, so this works on a sample memory: {target}")
    return SAMPLE_QUESTION


def how_to_call() -> str:
    """Return how to call memctl for this memory from another shell."""
    named = [f"{key}={os.environ[key]}" for key in ("OPENCLAW_STATE_DIR", "MEMD_SOCKET") if key in os.environ]
    return " ".join([*named, str(MEMCTL)])


def newest_topic() -> str:
    """Return the first heading of the newest note that the default agent has, as something to ask for."""
    try:
        with Client() as client:
            workspace = Path(client.status().agents[0].workspace)
    except MemdError:
        return "notes"
    notes = sorted(workspace.glob("memory/**/*.md"), key=lambda path: path.stat().st_mtime, reverse=True)
    for note in notes[:5]:
        found = re.search(r"^#+\s+(.*\w.*)$", note.read_text(errors="replace"), re.MULTILINE)
        if found:
            return found[1].strip()
    return "notes"


def run(*arguments: str, may_fail: bool = False) -> None:
    """Run memctl; stop where it fails, unless memd works without that step too."""
    code = subprocess.run([str(MEMCTL), *arguments], check=False).returncode
    if code and not may_fail:
        sys.exit(code)


if __name__ == "__main__":
    main()
