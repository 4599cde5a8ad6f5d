"""Excluded folders and projects: never indexed, gone at once, and back when they are included again."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter

SOURCES = "[sources.opencode]\nkeep = true\n[sources.claude-code-notes]\n"


def paths(client: Client, query: str) -> list[str]:
    """Return the paths of a query's hits."""
    return [hit.path for hit in client.search(query).hits]


@pytest.mark.parametrize("entry", ["~/client", "client"])
def test_an_excluded_project_disappears_at_once_and_returns_when_it_is_included(entry: str) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        environ = {"HOME": str(user)}
        project = user / "client"
        (project / ".git").mkdir(parents=True)
        slug = str(project).replace("/", "-").replace("_", "-")
        note = user / ".claude/projects" / slug / "memory/MEMORY.md"
        note.parent.mkdir(parents=True)
        note.write_text("The heron is the mascot of this client.\n")
        (home.root / "memd.toml").write_text(SOURCES)
        with OpencodeWriter(user / ".local/share/opencode/opencode.db", V1) as program:
            for session, folder in (("ses_1", project / "api"), ("ses_2", user / "shop")):
                program.session(session, directory=str(folder))
                program.v1(session, "user", f"The cormorant of {session}")
            with DaemonProcess(home, environ) as daemon, daemon.client() as client:
                client.index()
                assert set(paths(client, "cormorant")) == {"opencode/ses_1", "opencode/ses_2"}
                assert paths(client, "heron mascot") != []

                done = daemon.memctl("sources", "exclude", entry, environ=environ)

                assert (done.returncode, done.stderr) == (0, "")
                assert paths(client, "cormorant") == ["opencode/ses_2"]
                assert paths(client, "heron mascot") == []
                program.v1("ses_1", "assistant", "The cormorant again")
                assert paths(client, "cormorant") == ["opencode/ses_2"]
                (source,) = (each for each in client.sources().sources if each.name == "opencode")
                assert source.excluded == {"excluded": 1}
                assert all(b"cormorant of ses_1" not in path.read_bytes() for path in new_copies(home))
                assert "excluded: " in daemon.memctl("sources", environ=environ).stderr

                assert daemon.memctl("sources", "include", entry, environ=environ).returncode == 0

                assert set(paths(client, "cormorant")) == {"opencode/ses_1", "opencode/ses_2"}
                assert paths(client, "heron mascot") != []


def new_copies(home: StateHome) -> list[Path]:
    """Return the copies of conversations that were written after the exclusion: none of them is of an excluded one."""
    return [path for path in home.root.rglob("memory/kept/*/*/*.gz") if "ses_1" not in path.name]


def test_exclusions_hold_from_the_first_start_and_are_listed() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        user = home.root / "user"
        (home.root / "memd.toml").write_text('exclude = ["/srv/secret", "payroll"]\n' + SOURCES)
        with OpencodeWriter(user / ".local/share/opencode/opencode.db", V1) as program:
            for number, folder in enumerate(
                ("/srv/secret/x", "/srv/secrets", "/home/eva/payroll", "/home/eva")
            ):
                program.session(f"ses_{number}", directory=folder)
                program.v1(f"ses_{number}", "user", f"The cormorant in {folder}")
            with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client() as client:
                client.index()
                assert sorted(paths(client, "cormorant")) == ["opencode/ses_1", "opencode/ses_3"]
                assert client.sources().excluded == ["/srv/secret", "payroll"]
                assert not any("ses_0" in path.name for path in home.root.rglob("*.gz"))


def test_an_exclusion_that_is_unknown_or_would_hide_everything_is_refused() -> None:
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home, {"HOME": str(home.root)}) as daemon:
        for arguments, message in (
            (("exclude", "/"), "would exclude everything"),
            (("exclude", "~"), "would exclude everything"),
            (("include", "shop"), "shop is not excluded"),
        ):
            done = daemon.memctl("sources", *arguments, environ={"HOME": str(home.root)})
            assert done.returncode == 1
            assert message in done.stderr
