"""Sources of other programs through the whole daemon: read in place, searched, counted, never written."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import FileMissingError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.transcript_programs.exports import chatgpt_conversation, chatgpt_message, write_archive
from tests.support.transcript_programs.opencode import V1, OpencodeWriter
from tests.support.transcript_programs.plain import claude_code


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
            assert client.get(hit.path, from_line=3).text == "The cormorant dries its wings.\n"
            write(vault / "heron.md", "The heron waits.\n")
            assert [hit.path for hit in client.search("heron").hits] == ["vault/heron.md"]
            (vault / "heron.md").unlink()
            assert client.search("heron").hits == []
            (agent,) = client.status().agents
            (source,) = agent.added
            assert (source.name, source.kind, source.files) == ("vault", "notes", 1)
            assert agent.sources == ["memory", "vault"]


KEY = "sk-proj-" + "Zx9" * 16


def opencode(home: StateHome) -> OpencodeWriter:
    """Return a writer of opencode's database of the user."""
    return OpencodeWriter(home.root / "user" / ".local/share/opencode/opencode.db", V1)


def test_a_hit_in_a_conversation_says_title_project_day_speakers_and_how_to_open_it() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1", title="Ports", directory="/home/eva/shop")
        program.v1("ses_1", "user", "Which port does the cormorant use?")
        program.v1("ses_1", "assistant", f"8443, with the key {KEY}.")
        with served(home, "[sources.opencode]\n") as client:
            (hit,) = client.search("cormorant").hits
            assert (hit.path, hit.source) == ("opencode/ses_1", "opencode")
            assert hit.session is not None
            assert (hit.session.title, hit.session.project, hit.session.id) == (
                "Ports",
                "/home/eva/shop",
                "ses_1",
            )
            assert hit.session.speakers == ["user", "assistant"]
            assert hit.session.date == "2026-11-02"
            assert "ses_1" in hit.session.open
            assert "[redacted:" in hit.snippet
            program.v1("ses_1", "user", "And the heron?")
            assert [hit.path for hit in client.search("heron").hits] == ["opencode/ses_1"]


def test_unknown_types_of_records_are_named_by_doctor_and_never_stored_as_text() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        program = claude_code(home.root / "user")
        program.append(UNKNOWN_SESSION, "user", "Which port does the cormorant use?")
        program.write_unknown(UNKNOWN_SESSION)
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
            client.index()
            assert [hit.source for hit in client.search("cormorant").hits] == ["claude-code"]
            assert client.search("telepathy").hits == []
            ((source,),) = [agent.added for agent in client.status().agents]
            assert [(kind.name, kind.records) for kind in source.unknown_types] == [("telepathy", 1)]
            found = json.loads(daemon.memctl("doctor", "--json").stdout)["findings"]
            texts = [each["found"] for each in found if each["name"] == "source claude-code"]
            assert "claude-code: 1 record of unknown types: telepathy (1)" in texts


UNKNOWN_SESSION = "5f2c0a1e-77b0-4f0e-9b1c-2f0d7a1c9e55"

EXPORTED = [
    chatgpt_conversation(
        "6712",
        chatgpt_message("user", "Which port does the heron use?"),
        chatgpt_message("assistant", "8443."),
    )
]


def test_chat_export_is_added_by_its_path_and_replaced_by_a_newer_one() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        first = write_archive(home.root / "user/first.zip", {"conversations.json": json.dumps(EXPORTED)})
        second = write_archive(
            home.root / "user/second.zip",
            {
                "conversations.json": json.dumps(
                    [chatgpt_conversation("99", chatgpt_message("user", "The stork?"))]
                )
            },
        )
        with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
            missing = daemon.memctl("sources", "add", "chatgpt")
            assert missing.returncode == 1
            assert "the path of the archive that you downloaded from ChatGPT is missing" in missing.stderr
            assert "Export data" in missing.stderr
            added = daemon.memctl("sources", "add", "chatgpt", str(first))
            assert "added chatgpt to agent main: 1 file" in added.stdout
            (hit,) = client.search("heron").hits
            assert hit.session is not None
            session = hit.session
            assert (hit.path, session.program, session.title, session.date) == (
                "chatgpt/6712",
                "chatgpt",
                "Ports",
                "2026-11-02",
            )
            assert (session.open, session.project) == ("", "")
            assert first.stat().st_size > 0
            daemon.memctl("sources", "add", "chatgpt", "--path", str(second))
            assert client.search("heron").hits == []
            assert [hit.path for hit in client.search("stork").hits] == ["chatgpt/99"]
            ((source,),) = [agent.added for agent in client.status().agents]
            assert (source.title, source.locations, source.files) == ("ChatGPT", [str(second)], 1)
            second.write_bytes(b"PK")
            assert client.search("stork").hits == []
            ((source,),) = [agent.added for agent in client.status().agents]
            (problem,) = source.problems
            assert problem.message.startswith(f"{second} can't be read: it is no zip archive")
            other = write_archive(home.root / "user/other.zip", {"holiday.txt": "Norway"})
            wrong = daemon.memctl("sources", "add", "claude-ai", str(other))
            assert f"{other} can't be read: it is no export of Claude; name the archive" in wrong.stderr
            assert "it is being indexed" not in wrong.stderr


def test_conversations_are_filtered_by_project_time_and_session() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        for name, project in (("ses_1", "/home/eva/shop"), ("ses_2", "/home/eva/blog")):
            program.session(name, directory=project)
            program.v1(name, "user", f"The cormorant of {project} is here")
        home.note("MEMORY.md", "The cormorant is a bird.\n")
        with served(home, "[sources.opencode]\n") as client:

            def found(**filters: Any) -> set[str]:
                return {hit.path for hit in client.search("cormorant", **filters).hits}

            assert found() == {"opencode/ses_1", "opencode/ses_2", "MEMORY.md"}
            assert found(project="shop") == found(project="/home/eva/shop") == {"opencode/ses_1"}
            assert found(exclude_session="ses_1") == {"opencode/ses_2", "MEMORY.md"}
            assert "opencode/ses_1" in found(since="2026-11-01")
            assert found(since="2100-01-01") == set()
            reply = client.search("cormorant", sources=["codex"])
            assert reply.empty is not None
            assert reply.empty.code == "source_unknown"
            reply = client.search("cormorant", project="shops")
            assert reply.empty is not None
            assert (reply.empty.code, reply.empty.hint) == (
                "project_unknown",
                "Known projects are blog, shop.",
            )
            for known in ("shop", "/home/eva/shop", "SHOP", "/home/eva/shop/"):
                reply = client.search("heron", project=known)
                assert reply.empty is not None
                assert reply.empty.code == "no_match"


def test_a_conversation_is_found_and_read_as_a_session() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        for number in range(30):
            program.v1(
                "ses_1", "user", f"Question {number} about {'the cormorant' if number == 12 else 'boats'}"
            )
            program.v1("ses_1", "assistant", f"Answer {number}")
        with served(home, "[sources.opencode]\n") as client:
            (found,) = client.conversation_search("cormorant").conversations
            assert found.session.id == "ses_1"
            around = client.conversation_read("ses_1", line=found.excerpts[0].line, messages=4)
            assert "Question 12 about the cormorant" in [each.text for each in around.messages]
            assert around.total == 60
            page = client.conversation_read(found.path, first=1, messages=2)
            assert [(each.number, each.speaker, each.text) for each in page.messages] == [
                (1, "user", "Question 0 about boats"),
                (2, "assistant", "Answer 0"),
            ]
            assert client.conversation_read("ses_1", messages=1).messages[0].text == "Answer 29"
            assert client.conversation_search("cormorant", exclude_session="ses_1").conversations == []
            with pytest.raises(FileMissingError):
                client.conversation_read("ses_9")


def test_a_kept_conversation_outlives_its_deletion_until_it_is_forgotten() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        program.v1("ses_1", "user", f"The cormorant has the key {KEY}")
        with served(home, "[sources.opencode]\nkeep = true\n") as client:
            program.db.execute("DELETE FROM part; DELETE FROM message; DELETE FROM session")
            (hit,) = client.search("cormorant").hits
            assert hit.session is not None
            assert hit.session.deleted
            assert client.conversation_read("ses_1").messages[0].text.startswith("The cormorant")
            (source,) = client.sources().sources
            assert (source.retained, source.retained_bytes > 0) == (1, True)
            copies = [path for path in (home.state / "memory" / "kept").rglob("*") if path.is_file()]
            assert [path.stat().st_mode & 0o777 for path in copies] == [0o600]
            assert KEY.encode() not in gzip.decompress(copies[0].read_bytes())
            assert client.sources("delete_copies", "opencode").deleted == 1
            assert client.search("cormorant").hits == []
            assert not any(path.is_file() for path in (home.state / "memory" / "kept").rglob("*"))


def test_copies_are_forgotten_by_the_beginning_of_a_session_id() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        for name in ("ses_5f2c", "ses_5f9a", "ses_7b", "ses_stays"):
            program.session(name)
            program.v1(name, "user", f"The cormorant of {name}")
        (home.root / "memd.toml").write_text("[sources.opencode]\nkeep = true\n")
        with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
            client.index()
            program.db.execute("DELETE FROM session WHERE id != 'ses_stays'")

            def forget(session: str) -> tuple[int, str]:
                done = daemon.memctl("sources", "delete-copies", "opencode", "--session", session)
                return done.returncode, done.stdout + done.stderr

            def remaining() -> set[str]:
                return {hit.path for hit in client.search("cormorant").hits}

            everything = remaining()
            code, text = forget("ses_5f")
            assert code == 1
            assert "ses_5f2c, ses_5f9a" in text
            for unknown in ("ses_6", "ses_5f2c9", "ses_stays", ""):
                assert forget(unknown)[0] != 0, unknown
            assert remaining() == everything
            assert forget("ses_5f2") == (0, "deleted 1 copy\n")
            assert forget("ses_7b") == (0, "deleted 1 copy\n")
            assert remaining() == {"opencode/ses_5f9a", "opencode/ses_stays"}


def test_sessions_in_new_moved_and_removed_folders_are_seen_by_the_next_search() -> None:
    one, two = "0199a213-81c4-7000-8000-000000000001", "0199a213-81c4-7000-8000-000000000002"
    with StateHome(KEYWORD_ONLY) as home:
        program = claude_code(home.root / "user")
        program.append(one, "user", "The cormorant dives")
        projects = home.root / "user/.claude/projects"
        with served(home, "[sources.claude-code]\n") as client:

            def found(query: str) -> list[str]:
                return [hit.path for hit in client.search(query).hits]

            assert found("cormorant") == [f"claude-code/{one}"]
            program.append(one, "assistant", "And the heron waits")
            assert found("heron") == [f"claude-code/{one}"]
            line = (projects / "-home-eva-shop" / f"{one}.jsonl").read_text().splitlines()[0]
            write(
                projects / "-home-eva-blog" / f"{two}.jsonl",
                line.replace(one, two).replace("cormorant", "stork"),
            )
            assert found("stork") == [f"claude-code/{two}"]
            (projects / "-home-eva-blog").rename(projects / "-home-eva-news")
            assert found("stork") == [f"claude-code/{two}"]
            shutil.rmtree(projects / "-home-eva-news")
            assert found("stork") == []
            shutil.rmtree(projects)
            assert found("cormorant") == []
            program.turns.clear()
            program.append(one, "user", "The cormorant is back")
            assert found("cormorant") == [f"claude-code/{one}"]


@pytest.mark.parametrize("table", ["session", "message"])
def test_endless_view_in_a_database_is_reported_and_stops_nothing(table: str) -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
        columns = [str(row[1]) for row in program.db.execute(f"PRAGMA table_info({table})")]
        program.db.execute(f"DROP TABLE {table}")
        program.db.execute(
            f"CREATE VIEW {table} AS {endless} SELECT {', '.join(f'x AS {name}' for name in columns)} FROM n"
        )
        home.note("MEMORY.md", "The cormorant is a bird.\n")
        (home.root / "memd.toml").write_text("[sources.opencode]\n")
        with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon:
            with daemon.client() as client:
                assert [hit.path for hit in client.search("cormorant").hits] == ["MEMORY.md"]
                (source,) = client.sources().sources
                assert "no tables of sessions and messages" in source.problems[0].message
            assert daemon.stop() == 0


def test_an_agent_may_have_nothing_but_sources() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        program.v1("ses_1", "user", "The cormorant")
        with served(home, "[sources.opencode]\n") as client:
            (agent,) = client.status(deep=True).agents
            assert (agent.problems, [check.name for check in agent.checks if not check.ok]) == ([], [])
            reply = client.search("heron")
            assert reply.empty is not None
            assert reply.empty.code == "no_match"


def test_search_in_a_source_without_conversations_says_so() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home):
        home.note("MEMORY.md", "The cormorant is a bird.\n")
        with served(home, "[sources.opencode]\n") as client:
            reply = client.search("cormorant", sources=["opencode"])
            assert reply.empty is not None
            assert (reply.empty.code, reply.empty.message) == (
                "source_empty",
                "There are no conversations in opencode.",
            )


def test_without_keep_a_deleted_conversation_is_gone_at_once() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        program.v1("ses_1", "user", "The cormorant")
        with served(home, "[sources.opencode]\n") as client:
            program.db.execute("DELETE FROM part; DELETE FROM message; DELETE FROM session")
            assert client.search("cormorant").hits == []


def test_what_no_agent_has_is_listed_as_found_and_can_be_added_and_removed() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        program.v1("ses_1", "user", "The cormorant")
        with DaemonProcess(home, {"HOME": str(home.root / "user")}) as daemon, daemon.client() as client:
            assert [each.name for each in client.sources().found] == ["opencode"]
            assert client.search("cormorant").hits == []
            assert "opencode" in daemon.memctl("sources").stdout
            added = daemon.memctl("sources", "add", "opencode", "--agent", "shared")
            assert (added.returncode, added.stdout[:23]) == (0, "added opencode to agent")
            assert [hit.path for hit in client.search("cormorant", agent="shared").hits] == ["opencode/ses_1"]
            assert daemon.memctl("sources", "remove", "opencode").returncode == 0
            assert client.sources().sources == []
            assert daemon.memctl("sources", "add", "opencde").returncode == 1


def test_who_is_given_lines_of_what_is_said_when_programs_and_sources_are_added() -> None:
    with StateHome(KEYWORD_ONLY) as home, opencode(home) as program:
        program.session("ses_1")
        program.v1("ses_1", "user", "The cormorant")
        environ = {"HOME": str(home.root / "user")}
        with DaemonProcess(home, environ) as daemon:

            def said(*arguments: str) -> str:
                done = daemon.memctl(*arguments, environ=environ)
                assert done.returncode == 0, done.stderr
                return done.stderr

            assert "Codex will be given lines of: notes\n" in said("hooks", "install", "codex")
            added = said("sources", "add", "opencode")
            assert "lines of opencode will be given to: agent main, Codex\n" in added
            cursor = said("mcp", "install", "cursor")
            assert "Cursor will be given lines of: notes, opencode\n" in cursor
            claude = said("hooks", "install", "claude-code", "--agent", "work")
            assert "Claude Code will be given lines of: notes; of opencode only if work is" in claude
            said("sources", "remove", "opencode")
            moved = said("sources", "add", "opencode", "--agent", "shared")
            assert "lines of opencode will be given to: agent shared, Codex, Cursor\n" in moved
