"""Programs with tables and documents: times, folders, projects, and the facts of a session."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from memd.programs.amazon_q import AmazonQDatabase
from memd.programs.catalog import PROGRAMS, Places
from memd.programs.crush import CrushDatabase, find_places
from memd.programs.editor_chats import EditorChats
from memd.programs.goose import GooseDatabase
from memd.programs.hermes import HermesDatabase
from memd.programs.program import ConversationDatabase
from memd.programs.tables import moment_ms
from memd.programs.zed import ZedDatabase
from tests.support.transcript_programs.document_stores import (
    CursorWorkspacePlain,
    KiroDatabasePlain,
    ZedPlain,
)
from tests.support.transcript_programs.plain import CWD, START_MS
from tests.support.transcript_programs.tables import CrushPlain, GoosePlain, HermesPlain


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_793_606_400, START_MS),
        (1_793_606_400.25, START_MS + 250),
        (START_MS, START_MS),
        (b"2026-11-02 08:00:00", START_MS),
        (b"2026-11-02T09:00:00+01:00", START_MS),
        (b"Monday", None),
        (b"\xff", None),
        (None, None),
        (-1, None),
        (float("nan"), None),
        (float("inf"), None),
        (2**62, None),
    ],
)
def test_times_are_seconds_milliseconds_or_text(value: object, expected: int | None) -> None:
    assert moment_ms(value) == expected


def only(database: ConversationDatabase, session: str = "s1") -> tuple[str, str, int | None]:
    """Return the title, the folder and the beginning of a session."""
    conversation = database.read(session)
    assert conversation is not None
    facts = conversation.session
    return facts.title, facts.cwd, facts.started_ms


def test_facts_of_a_session_are_those_of_its_row(tmp_path: Path) -> None:
    with closing(GoosePlain(tmp_path)) as goose, closing(HermesPlain(tmp_path)) as hermes:
        for writer in (goose, hermes):
            writer.write("s1", 0, "user", "Which port?")
        conversation = HermesDatabase(hermes.path).read("s1")

        assert only(GooseDatabase(goose.path)) == ("Ports", CWD, START_MS)
    assert conversation is not None
    assert (conversation.session.cwd, conversation.session.branch) == (CWD, "main")


def test_threads_of_zed_have_the_first_of_their_folders(tmp_path: Path) -> None:
    with closing(ZedPlain(tmp_path)) as zed:
        zed.write("s1", 0, "user", "Which port?")

        assert only(ZedDatabase(zed.path)) == ("Ports", CWD, START_MS)


def test_an_upgraded_database_of_kiro_is_read_with_its_new_table_alone(tmp_path: Path) -> None:
    with closing(KiroDatabasePlain(tmp_path)) as kiro:
        kiro.write("s1", 0, "user", "Which port?")
        kiro.insert("conversations", key=CWD, value={"conversation_id": "s1", "history": []})
        database = AmazonQDatabase(kiro.path)

        assert [session.id for session in database.sessions()] == ["s1"]
        assert database.read(CWD) is None


def test_early_chats_of_an_editor_have_the_folder_of_their_workspace(tmp_path: Path) -> None:
    with closing(CursorWorkspacePlain(tmp_path)) as cursor:
        cursor.write("s1", 0, "user", "Which port?")
        (cursor.path.parent / "workspace.json").write_text('{"folder": "file:///home/eva/my%20shop"}')

        assert only(EditorChats(cursor.path))[:2] == ("Ports", "/home/eva/my shop")
        (cursor.path.parent / "workspace.json").write_text('{"folder": "vscode-remote://ssh/home"}')
        assert only(EditorChats(cursor.path))[1] == ""


def test_a_project_of_crush_is_the_folder_of_its_database(tmp_path: Path) -> None:
    with closing(CrushPlain(tmp_path)) as crush:
        crush.write("s1", 0, "user", "Which port?")

        assert only(CrushDatabase(crush.path)) == ("Ports", str(tmp_path / "shop"), START_MS)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([{"path": "/a", "data_dir": "/a/.crush"}], ["/a/.crush/crush.db"]),
        ([{"path": "/a", "data_dir": ".crush"}, {"path": "/a"}, "x", None, {}], ["/a/.crush/crush.db"]),
        ([{"path": 7, "data_dir": []}], []),
        ({"a": 1}, []),
        (None, []),
    ],
)
def test_projects_of_crush_are_those_that_it_lists(
    tmp_path: Path, listed: object, expected: list[str]
) -> None:
    (tmp_path / "projects.json").write_text(json.dumps({"projects": listed}))
    places = Places(tmp_path, {"CRUSH_GLOBAL_DATA": str(tmp_path)}, "linux")

    assert [str(path) for path in find_places(places)] == expected
    assert PROGRAMS["crush"].conversations is not None


def test_compacted_conversations_of_hermes_keep_each_message_once(tmp_path: Path) -> None:
    with closing(HermesPlain(tmp_path)) as hermes:
        hermes.write_traps()
        conversation = HermesDatabase(hermes.path).read("s1")

    assert conversation is not None
    texts = [message.text for message in conversation.messages]
    assert len(texts) == len(set(texts))
