"""The folder of files that opencode had before its database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memd.programs.catalog import Places
from memd.programs.conversation import Conversation
from memd.programs.opencode_files import OpencodeFiles
from memd.settings.sources import SourceConfig
from memd.sources.open import open_source
from memd.sources.source import Source
from tests.support.transcript_programs.document_stores import OpencodeFilesPlain
from tests.support.transcript_programs.opencode import MACHINE, V1, OpencodeWriter, machine_parts
from tests.support.transcript_programs.plain import CWD, START_MS


@pytest.fixture
def files(tmp_path: Path) -> OpencodeFilesPlain:
    """Return a writer of the folder."""
    return OpencodeFilesPlain(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """Return opencode's conversations as memd opens them."""
    config = SourceConfig("opencode", "opencode", "transcripts", None)
    with closing(open_source(config, Places(tmp_path, {}, "linux"), 1_000_000).source) as source:
        yield source


def read(files: OpencodeFilesPlain, session: str = "s1") -> Conversation:
    """Return a conversation that exists."""
    conversation = OpencodeFiles(files.root).read(session)
    assert conversation is not None
    return conversation


def test_parts_that_are_no_words_are_left_out(files: OpencodeFilesPlain) -> None:
    files.session("s1")
    files.message("s1", "user", {"type": "text", "text": "Which port?"}, *machine_parts())
    files.message("s1", "assistant", {"type": "text", "text": "8443."}, *machine_parts())
    files.message("s1", "assistant", {"type": "text", "text": MACHINE}, summary=True)
    conversation = read(files)

    assert [message.text for message in conversation.messages] == ["Which port?", "8443."]
    assert not conversation.unknown
    session = conversation.session
    assert (session.title, session.cwd, session.release) == ("Ports", CWD, "0.15.3")
    assert session.started_ms == START_MS


def test_messages_after_a_revert_are_left_out(files: OpencodeFilesPlain) -> None:
    files.session("s1", revert={"messageID": "msg_000002-s1"})
    for text in ("kept", "reverted", "later"):
        files.message("s1", "user", {"type": "text", "text": text})

    assert [message.text for message in read(files).messages] == ["kept"]


@pytest.mark.parametrize("damaged", ["{", "[]", "7", '{"time": 3, "role": []}', ""])
def test_damaged_files_are_skipped_and_counted(files: OpencodeFilesPlain, damaged: str) -> None:
    files.write("s1", 0, "user", "Which port?")
    files.put("message/s1/msg_000002-s1", damaged)
    files.put("session/p1/s2", damaged)
    conversation = read(files)

    assert [message.text for message in conversation.messages] == ["Which port?"]
    assert conversation.broken == 1
    assert [session.id for session in OpencodeFiles(files.root).sessions()] == ["s1", "s2"]
    assert OpencodeFiles(files.root).read("s2") is None


def test_a_session_that_the_database_has_is_read_from_there(
    files: OpencodeFilesPlain, source: Source, tmp_path: Path
) -> None:
    for session in ("s1", "s2"):
        files.write(session, 0, "user", "from a file")
    with OpencodeWriter(tmp_path / ".local/share/opencode/opencode.db", V1) as writer:
        writer.session("s1")
        writer.v1("s1", "user", "from the database")
        texts = {path: source.load(found).text for path, found in source.find().files.items()}

    assert texts == {"opencode/s1": "User: from the database", "opencode/s2": "User: from a file"}


def test_an_answer_that_is_completed_in_place_is_read_again(
    files: OpencodeFilesPlain, source: Source
) -> None:
    files.write("s1", 0, "user", "Which port?")
    files.message("s1", "assistant", {"type": "text", "text": "84"})
    before = source.find().files["opencode/s1"]
    files.put("part/msg_000002-s1/prt_0", {"type": "text", "text": "8443."})
    files.put(
        "message/s1/msg_000002-s1", {"role": "assistant", "time": {"created": START_MS, "completed": 1}}
    )
    after = source.find().files["opencode/s1"]

    assert after.stat != before.stat
    assert source.load(after).text == "User: Which port?\nAssistant: 8443."


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    files: OpencodeFilesPlain, source: Source, tmp_path: Path
) -> None:
    files.write("s1", 0, "user", "Which port?")
    files.root.rename(tmp_path / "other")
    files.root.symlink_to(tmp_path / "other")
    found = source.find()

    assert found.files == {}
    assert "it is a" in found.problems[0].message
