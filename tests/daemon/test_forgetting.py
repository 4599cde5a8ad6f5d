"""What a user made memd forget is in none of its files, while the daemon goes on running."""

from __future__ import annotations

import contextlib
import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.opencode import V1, OpencodeWriter

MARKS = ("zqsession", "zqtitle", "zqproject", "zqquestion", "zqanswer")
"""Words of one conversation: its id, title, project and messages. Nothing else has them."""


def opencode(home: StateHome) -> OpencodeWriter:
    """Return a writer of opencode's database of the user."""
    return OpencodeWriter(home.root / "user" / ".local/share/opencode/opencode.db", V1)


def converse(program: OpencodeWriter, others: int = 40) -> None:
    """Write the conversation with the marks among others, which share its pages in the index."""
    for at in range(others):
        program.session(f"ses_{at}", title=f"Heron {at}", directory="/home/eva/shop")
        program.v1(f"ses_{at}", "user", "The heron walks along the river. " * (at % 9 + 1))
        if at == others // 2:
            program.session("zqsession", title="About zqtitle", directory="/home/eva/zqproject")
            program.v1("zqsession", "user", "Where is the zqquestion cormorant?")
            program.v1("zqsession", "assistant", "At the zqanswer pier.")


@contextmanager
def serving(home: StateHome, toml: str) -> Iterator[tuple[DaemonProcess, Client]]:
    """Run a daemon with sources and an index of everything."""
    (home.root / "memd.toml").write_text(toml)
    with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
        client.index()
        yield daemon, client


RECALLS = "recalls.jsonl"


def traces(home: StateHome, *words: str) -> list[str]:
    """Return the files of memd that have some words: state, workspace, sockets' folder and log, copies unpacked.

    The log of recalls is skipped: it has the queries of these tests.
    """
    found = []
    for path in sorted(home.root.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # a log that SQLite removes
            if not path.is_file() or path.is_relative_to(home.root / "user") or path.name == RECALLS:
                continue
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found += [
                f"{path.relative_to(home.root)}: {word}" for word in words if word.encode() in data.lower()
            ]
    return found


def delete(program: OpencodeWriter, session: str) -> None:
    """Delete a session as opencode does."""
    program.db.execute("DELETE FROM part WHERE session_id = ?", (session,))
    program.db.execute("DELETE FROM message WHERE session_id = ?", (session,))
    program.db.execute("DELETE FROM session WHERE id = ?", (session,))


def test_forgotten_conversation_is_in_no_file_while_the_daemon_runs() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        converse(program)
        with serving(home, "[sources.opencode]\nkeep = true\n") as (_, client):
            delete(program, "zqsession")
            (hit,) = client.search("zqanswer").hits
            assert hit.session is not None
            assert hit.session.deleted
            index = home.state / "memory" / "main.memd.sqlite"
            shutil.copy(index, index.with_name(index.name + ".corrupt-20260101T000000Z"))
            client.index()
            present = {trace.rpartition(": ")[2] for trace in traces(home, *MARKS)}
            assert present == set(MARKS)
            assert any("zqsess" in row.path for row in client.usage().often)
            assert client.sources("delete_copies", "opencode", session="zqsess").deleted == 1
            assert "zqanswer" not in str(client.usage())
            assert not (home.state / "memory" / RECALLS).exists()
            assert traces(home, *MARKS) == []
            assert client.search("zqanswer").hits == []
            assert client.search("heron").hits != []
        assert traces(home, *MARKS) == []


def test_vacuum_leaves_no_word_of_a_deleted_note() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        for at in range(30):
            home.note(f"memory/{at}.md", f"# Note {at}\n\nThe heron {at} walks.\n")
        note = home.note("memory/zqname.md", "# Birds\n\nThe zqword cormorant sleeps.\n")
        with serving(home, "") as (daemon, client):
            note.unlink()
            assert client.search("zqword").hits == []
            assert traces(home, "zqname", "zqword") != []
            assert daemon.memctl("vacuum").returncode == 0
            assert traces(home, "zqname", "zqword") == []
            assert client.search("heron").hits != []


def removed(daemon: DaemonProcess, *arguments: str) -> str:
    """Run `memctl sources remove opencode`, and return its output."""
    done = daemon.memctl("sources", "remove", "opencode", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def copies(home: StateHome) -> list[Path]:
    """Return all retained copies."""
    return list((home.state / "memory" / "kept").rglob("*.gz"))


def test_removed_source_says_what_remains_and_can_be_forgotten() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        converse(program, others=3)
        with serving(home, "[sources.opencode]\nkeep = true\n") as (daemon, client):
            delete(program, "zqsession")
            client.search("zqanswer")
            text = removed(daemon)
            assert "4 copies of conversations" in text
            assert str(home.state / "memory" / "kept" / "main" / "opencode") in text
            assert "memctl sources delete-copies opencode" in text
            (source,) = client.sources().removed
            assert (source.name, source.agent, source.retained, source.retained_bytes > 0) == (
                "opencode",
                "main",
                4,
                True,
            )
            assert "4 copies" in daemon.memctl("sources").stdout + daemon.memctl("sources").stderr
            assert daemon.memctl("sources", "delete-copies", "opencode", "--session", "ses_").returncode == 1
            assert len(copies(home)) == 4
            forgotten = daemon.memctl("sources", "delete-copies", "opencode", "--session", "zqs")
            assert forgotten.stdout == "deleted 1 copy\n"
            assert traces(home, *MARKS) == []
            assert daemon.memctl("sources", "delete-copies", "opencode").stdout == "deleted 3 copies\n"
            assert copies(home) == []
            assert client.sources().removed == []
            assert daemon.memctl("sources", "delete-copies", "opencode").returncode == 1


def test_source_is_removed_and_forgotten_at_once_with_the_index_of_an_agent_that_had_only_it() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        converse(program, others=3)
        with serving(home, '[sources.opencode]\nagent = "shared"\nkeep = true\n') as (daemon, client):
            assert client.search("zqanswer", agent="shared").hits != []
            assert "deleted 4 copies" in removed(daemon, "--delete-copies")
            assert traces(home, *MARKS) == []


def test_copies_of_a_source_that_no_longer_keeps_them_can_be_forgotten() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        converse(program, others=1)
        with serving(home, "[sources.opencode]\nkeep = true\n"):
            assert len(copies(home)) == 2
        with serving(home, "[sources.opencode]\n") as (_, client):
            assert client.sources("delete_copies", "opencode").deleted == 2
            assert copies(home) == []
            assert client.search("zqanswer").hits != []
