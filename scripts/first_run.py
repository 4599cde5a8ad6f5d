"""The part of `scripts/run` after the installation: a keyword search, then the local model.

Options: `--no-local` ends after the keyword search.
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
from memd_client import Client
from memd_client.discovery import home_directory
from memd_client.errors import MemdError
from memd_client.state_folder import own_state_dir

MEMCTL = Path(sys.executable).parent / "memctl"

WITHOUT_MODEL = "Until a local model is installed, memd uses keyword search or the provider you configured."


def main() -> None:
    """Index and search the user's memory, or the sample memory."""
    options = []
    if has_no_memory():
        options = ["--sample"]
        print(f"No OpenClaw and no notes found; using the sample memory in {use_sample()}")
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
    print(f"\nSearch again:  {memctl} search 'your query'\nShow status:   {memctl} status")
    print("Next steps:    docs/getting-started.md")
    print(f"Connect your agents:  {shown(MEMCTL)} setup{programs_here()}")


def has_no_memory() -> bool:
    """Return whether this user has no OpenClaw and no notes of memd or `memd.toml`."""
    home_dir = Path(home_directory())
    found, _, _ = load_settings(os.environ, home_dir)
    if str(found.state_dir) != own_state_dir(os.environ, str(home_dir)):
        return False
    agents = found.agents.values()
    return not any(agent.settings.extra_paths or agent.workspace.is_dir() for agent in agents)


def install_model() -> bool:
    """Install the local part; return False and print a hint if it cannot be built."""
    if "--no-local" in sys.argv:
        print(f"\n{WITHOUT_MODEL} To install a model later, run:\n  scripts/run")
        return False
    part = bootstrap.local_part()
    if bootstrap.is_compiler_needed(part):
        print(
            f"\nNo {bootstrap.missing_compiler()} found to build llama-cpp-python. {WITHOUT_MODEL}"
            f"\nTo install both later, run:\n  {bootstrap.add_compiler()}"
        )
        return False
    if part == "local-build" and not bootstrap.is_local_installed(part):
        print(f"\n{WITHOUT_MODEL} You can search during the build.")
    bootstrap.install_local(part)
    return True


def wants_model() -> bool:
    """Return whether an agent would use vector search if there were a model."""
    with Client() as client:
        agents = client.status().agents
    return any(agent.provider == "none" and agent.degraded is not None for agent in agents)


def pull_model() -> None:
    """Download the small model, or exit; the error is on standard error by then."""
    try:
        run_memctl("model", "pull", "minilm")
    except SystemExit:
        print(f"\n{WITHOUT_MODEL} To try again, run:\n  scripts/run")
        raise


def index() -> None:
    """Sync all indexes; print the progress and a total."""
    reply = json.loads(run_memctl("index", "--json", captured=True))
    files, chunks = (sum(agent[key] for agent in reply["agents"]) for key in ("files", "chunks"))
    agents = "1 agent" if len(reply["agents"]) == 1 else f"{len(reply['agents'])} agents"
    print(f"Indexed {files:,} files in {chunks:,} chunks of {agents}.", flush=True)


def show(arguments: Sequence[str]) -> None:
    """Print a command and its output."""
    print(f"\n$ {shlex.join(['memctl', *arguments])}", flush=True)
    run_memctl(*arguments)


def programs_here() -> str:
    """Return what `memctl setup` would find on this machine; empty for nothing."""
    with Client() as client:
        found = [source for source in client.sources().found if source.kind == "transcripts" and source.files]
    parts = [
        f"{source.title} ({source.files:,} {'files' if source.files > 1 else 'file'})" for source in found
    ]
    return f"    finds {', '.join(parts)}" if parts else ""


def newest_topic() -> str:
    """Return the first heading of the default agent's newest note, as a query."""
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
    """Return a path relative to the working directory, if it is below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def run_memctl(*arguments: str, captured: bool = False) -> str:
    """Run memctl, or exit with its code; return its captured output."""
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
        print("\nInterrupted; run scripts/run again to continue.", file=sys.stderr)
        sys.exit(130)
