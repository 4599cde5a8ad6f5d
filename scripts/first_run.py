"""What `scripts/run` does once the base is installed: a first answer by keywords, then the local model.

Options: `--no-local` ends after the first answer.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import bootstrap

from memd.sample import QUERY, use_sample
from memd.settings.agents import load_settings
from memd.system.state_dirs import own_state_dir
from memd_client import Client
from memd_client.discovery import home_directory
from memd_client.errors import MemdError

MEMCTL = Path(sys.executable).parent / "memctl"

KEYWORDS_FOR_NOW = "Until there is a local model, search uses keywords, or the provider you configured."


def main() -> None:
    """Show memd at work on the user's memory, or on the sample's."""
    options = []
    if has_no_memory():
        options = ["--sample"]
        print(f"No OpenClaw and no notes here, so this works on a sample memory: {use_sample()}")
    index()
    search = [*options, "search", "--max-results", "1", QUERY if options else newest_topic()]
    show(search)
    with bootstrap.one_installation():
        bootstrap.add_pip()
        is_built = install_model()
    if is_built and wants_model():
        pull_model()
        index()
        show(search)
    memctl = shlex.join([shown(MEMCTL), *options])
    print(f"\nSearch again:  {memctl} search 'your query'\nSee its state: {memctl} status")
    print("Go on with:    docs/getting-started.md")


def has_no_memory() -> bool:
    """Return whether this machine has no OpenClaw, and no notes that are memd's or named in `memd.toml`."""
    home_dir = Path(home_directory())
    found, _, _ = load_settings(os.environ, home_dir)
    if found.state_dir != own_state_dir(os.environ, home_dir):
        return False
    agents = found.agents.values()
    return not any(agent.settings.extra_paths or agent.workspace.is_dir() for agent in agents)


def install_model() -> bool:
    """Install the local part; return False, and say what to do, if it can't be built here."""
    if "--no-local" in sys.argv:
        print(f"\n{KEYWORDS_FOR_NOW} To add it later, run:\n  scripts/run")
        return False
    if bootstrap.is_compiler_needed():
        print(
            f"\nThere is no {bootstrap.missing_compiler()} to build llama-cpp-python with. {KEYWORDS_FOR_NOW}"
            f"\nTo add it later, run:\n  {bootstrap.add_compiler()}"
        )
        return False
    if not bootstrap.is_local_installed():
        print(f"\n{KEYWORDS_FOR_NOW} It works during the build, too.")
    bootstrap.install_local()
    return True


def wants_model() -> bool:
    """Return whether an agent would search by vectors as well if there were a model."""
    with Client() as client:
        agents = client.status().agents
    return any(agent.provider == "none" and agent.degraded is not None for agent in agents)


def pull_model() -> None:
    """Pull the small model, and stop if that fails: the reason is on standard error by then."""
    try:
        run_memctl("model", "pull", "minilm")
    except SystemExit:
        print(f"\n{KEYWORDS_FOR_NOW} To go on, run:\n  scripts/run")
        raise


def index() -> None:
    """Bring all indexes up to date; only progress and a total are shown."""
    reply = json.loads(run_memctl("index", "--json", captured=True))
    files, chunks = (sum(agent[key] for agent in reply["agents"]) for key in ("files", "chunks"))
    print(f"Indexed {files:,} files in {chunks:,} chunks of {len(reply['agents'])} agents.", flush=True)


def show(arguments: Sequence[str]) -> None:
    """Show a command and what it prints."""
    print(f"\n$ {shlex.join(['memctl', *arguments])}", flush=True)
    run_memctl(*arguments)


def newest_topic() -> str:
    """Return the first heading of the newest note that the default agent has, as something to search for."""
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


def shown(path: Path) -> str:
    """Return a path as it is typed here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def run_memctl(*arguments: str, captured: bool = False) -> str:
    """Run memctl, and stop if it fails; return what it printed if that is captured."""
    done = subprocess.run(
        [str(MEMCTL), *arguments], check=False, stdout=subprocess.PIPE if captured else None, text=True
    )
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout or ""


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nInterrupted; scripts/run goes on from here.", file=sys.stderr)
        sys.exit(130)
