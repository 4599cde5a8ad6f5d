"""`memctl import` with a real daemon: imported memory is found and kept current."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config


@pytest.fixture
def home() -> Iterator[StateHome]:
    """A state directory with the agents `main` and `work`, and a home directory."""
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("memory/2026-01-01.md", "The lease ends in June.\n")
        home.note("memory/2026-01-01.md", "Nothing yet.\n", agent="work")
        yield home


def user(home: StateHome) -> Path:
    """Return the user's home directory."""
    return home.root / "ann"


def write(home: StateHome, path: str, text: str) -> Path:
    """Write a file into the user's home directory."""
    location = user(home) / path
    location.parent.mkdir(parents=True, exist_ok=True)
    location.write_text(text)
    return location


def daemon_of(home: StateHome) -> DaemonProcess:
    """Return a daemon, not yet started, with the user's home directory."""
    user(home).mkdir(exist_ok=True)
    return DaemonProcess(home, {"HOME": str(user(home))})


def run_import(daemon: DaemonProcess, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Import for `work`; return the finished process and its JSON document."""
    ran = daemon.memctl("import", *arguments, "--agent", "work", "--yes", "--json")
    assert ran.returncode == 0, ran.stderr
    return ran, json.loads(ran.stdout)


def hit_paths(daemon: DaemonProcess, query: str, agent: str = "work") -> list[str]:
    """Return the paths of an agent's hits for a query."""
    with daemon.client() as client:
        return [hit.path for hit in client.search(query, agent=agent).hits]


SOURCES = {
    "claude-code": (
        ".claude/projects/-home-ann-shop/memory/MEMORY.md",
        "The shop sells oolong on Tuesdays.\n",
    ),
    "codex": (".codex/memories/MEMORY.md", "The shop sells oolong on Tuesdays.\n"),
    "memsearch": (".memsearch/memory/2026-02-09.md", "## Session\nThe shop sells oolong on Tuesdays.\n"),
    "basic-memory": (
        "basic-memory/shop.md",
        "---\ntitle: Shop\ntags: [tea]\n---\n\n- [fact] The shop sells oolong on Tuesdays #tea\n- owns [[Ann]]\n",
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_imported_notes_are_found_by_their_agent_alone(home: StateHome, kind: str) -> None:
    path, text = SOURCES[kind]
    source = write(home, path, text)
    with daemon_of(home) as daemon:
        _, document = run_import(daemon, kind, *([str(user(home))] if kind == "memsearch" else []))

        [file] = document["files"]
        assert file["state"] == "new"
        assert document["indexed"]["agents"][0]["files"] == 2
        assert hit_paths(daemon, "oolong Tuesdays") == [file["target"]]
        assert hit_paths(daemon, "oolong Tuesdays", "main") == []
        with daemon.client() as client:
            held = client.get(file["target"], agent="work").text
    assert text.splitlines()[-1] in held
    assert "memd-import" in held
    assert source.read_text() == text


def test_changed_source_is_imported_again_and_a_user_edit_is_kept(home: StateHome) -> None:
    source = write(home, ".codex/AGENTS.md", "Tests run with make.\n")
    with daemon_of(home) as daemon:
        run_import(daemon, "codex")
        source.write_text("Tests run with ninja.\n")
        _, document = run_import(daemon, "codex")

        assert document["counts"] == {"changed": 1}
        assert hit_paths(daemon, "ninja") == ["memory/imported/codex/AGENTS.md"]
        assert "make" not in home.workspace("work").joinpath("memory/imported/codex/AGENTS.md").read_text()


def test_import_without_a_daemon_writes_files_that_a_later_daemon_finds(home: StateHome) -> None:
    write(home, ".codex/AGENTS.md", "Tests run with ninja.\n")
    daemon = daemon_of(home)
    ran, document = run_import(daemon, "codex")

    assert document["applied"] is True
    assert document["indexed"] is None
    assert "once it runs" in ran.stderr
    with daemon:
        assert hit_paths(daemon, "ninja") == ["memory/imported/codex/AGENTS.md"]


def test_vault_is_searched_in_place_without_its_hidden_folders(home: StateHome) -> None:
    for name in (".obsidian/plugins/x.md", ".trash/old.md", "daily/2026-11-22.md"):
        write(home, f"Notes/{name}", "Oolong arrives on Friday.\n")
    config = home.state / "openclaw.json"
    config.write_text("// settings of ours\n" + config.read_text())
    with daemon_of(home) as daemon:
        _, document = run_import(daemon, "obsidian", str(user(home) / "Notes"))

        assert document["state"] == "new"
        assert document["files"] == 1
        assert document["indexed"]["agents"][0]["files"] == 2
        [path] = hit_paths(daemon, "oolong")
        assert path.endswith("ann/Notes/daily/2026-11-22.md")
        assert hit_paths(daemon, "oolong", "main") == []
    assert config.read_text().startswith("// settings of ours\n")
    assert not (home.workspace("work") / "memory/imported").exists()


def test_preview_writes_nothing(home: StateHome) -> None:
    write(home, ".codex/AGENTS.md", "Tests run with ninja.\n")
    with daemon_of(home) as daemon:
        shown = daemon.memctl("import", "codex", "--agent", "work", "--dry-run")
        unasked = daemon.memctl("import", "codex", "--agent", "work")

    assert (shown.returncode, unasked.returncode) == (0, 2)
    assert "1 file to write" in shown.stdout
    assert not (home.workspace("work") / "memory/imported").exists()
