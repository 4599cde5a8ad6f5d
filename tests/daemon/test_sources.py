"""Sources of other programs through the whole daemon: read in place, searched, counted, never written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome


@contextlib.contextmanager
def served(home: StateHome, toml: str) -> Iterator[Client]:
    """Run a daemon with sources; programs keep their files below the home's folder `user`."""
    (home.root / "memd.toml").write_text(toml)
    (home.root / "user").mkdir(exist_ok=True)
    with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
        client.index()
        yield client


def write(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_notes_of_a_folder_are_found_in_place_and_as_fresh_as_any_note() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        vault = home.root / "vault"
        write(vault / "Birds" / "cormorant.md", "# Birds\n\nThe cormorant dries its wings.\n")
        with served(home, f'[sources.vault]\npath = "{vault}"\n') as client:
            (hit,) = client.search("cormorant").hits
            assert (hit.path, hit.source, hit.start_line) == ("vault/Birds/cormorant.md", "vault", 1)
            assert client.search("cormorant", sources=["memory"]).hits == []
            assert client.search("cormorant", sources=["vault"]).hits != []
            write(vault / "heron.md", "The heron waits.\n")
            assert [hit.path for hit in client.search("heron").hits] == ["vault/heron.md"]
            (vault / "heron.md").unlink()
            assert client.search("heron").hits == []
            (agent,) = client.status().agents
            (source,) = agent.added
            assert (source.name, source.kind, source.files) == ("vault", "notes", 1)
            assert agent.sources == ["memory", "vault"]
