"""Files of Codex CLI: transcripts in dated and archived folders, compressed ones, and titles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from memd.programs.codex import READER
from memd.sources.conversations import ConversationFiles
from tests.support.transcript_programs.codex import (
    FORK_ID,
    HOME_ID,
    SOURCE_ID,
    answered,
    asked,
    at,
    meta,
    rollout,
)


@pytest.mark.parametrize(
    "path",
    [
        f"sessions/2026/11/02/{rollout()}",
        f"sessions/2026/11/02/{rollout(ending='.jsonl.zst')}",
        f"archived_sessions/{rollout()}",
        f"sessions/{rollout()}",
        f"2026/11/02/{rollout()}",
    ],
)
def test_transcripts_are_found_by_their_path(path: str) -> None:
    file = READER.transcript_at(path)
    assert file is not None
    assert (file.session_id, file.kind) == (HOME_ID, "main")
    folders = path.split("/")[:-1]
    assert all(READER.is_walked("/".join(folders[: depth + 1])) for depth in range(len(folders)))


@pytest.mark.parametrize(
    "path",
    [
        *("history.jsonl", "session_index.jsonl", f"log/{rollout()}", f"sessions/2026/x/02/{rollout()}"),
        *(
            "sessions/2026/11/02/notes.jsonl",
            f"sessions/{rollout(ending='.jsonl.tmp')}",
            "sessions/rollout-x.jsonl",
        ),
    ],
)
def test_other_files_are_no_transcripts(path: str) -> None:
    assert READER.transcript_at(path) is None


@pytest.mark.parametrize(
    "folder", ["log", "memories", "sessions/2026/11/02/x", "sessions/x", "archived_sessions/x"]
)
def test_other_folders_are_not_walked(folder: str) -> None:
    assert not READER.is_walked(folder)


def test_newer_transcript_of_a_session_ranks_first_then_the_plain_one() -> None:
    names = [
        rollout(written="2026-11-03T08-00-00"),
        rollout(written="2026-11-03T08-00-00", ending=".jsonl.zst"),
        rollout(),
        rollout(ending=".jsonl.zst"),
    ]
    files = [READER.transcript_at(name) for name in names]
    ranks = [file.rank for file in files if file is not None]
    assert ranks == sorted(set(ranks), reverse=True)
    assert len(ranks) == 4


def titles_in(folder: Path) -> dict[str, str]:
    """Return the titles of the sessions s1 to s3."""
    found = {name: READER.read_details(folder, name) for name in ("s1", "s2", "s3")}
    return {name: each.title for name, each in found.items() if each is not None}


def test_last_title_of_a_session_wins(tmp_path: Path) -> None:
    index = tmp_path / "session_index.jsonl"
    assert titles_in(tmp_path) == {}
    entries = [("s1", "Old"), ("s2", "Other"), ("s1", "Ports"), ("s3", "Gone"), ("s3", " ")]
    lines = [json.dumps({"id": each, "thread_name": name, "updated_at": at(0)}) for each, name in entries]
    index.write_text("\n".join([*lines, "{", "7", '{"id": 7, "thread_name": "x"}']))
    assert titles_in(tmp_path) == {"s1": "Ports", "s2": "Other"}
    assert titles_in(tmp_path / "sessions") == {"s1": "Ports", "s2": "Other"}
    index.write_text(json.dumps({"id": "s1", "thread_name": "Ports and hosts"}))
    assert titles_in(tmp_path) == {"s1": "Ports and hosts"}


def test_store_reads_plain_before_compressed_and_titles_next_to_the_folders(tmp_path: Path) -> None:
    day = tmp_path / "sessions/2026/11/02"
    day.mkdir(parents=True)
    packed = zstandard.ZstdCompressor().compress(b"\n".join([meta(FORK_ID), asked("Packed?"), b""]))
    (day / rollout(FORK_ID, ending=".jsonl.zst")).write_bytes(packed)
    (day / rollout(ending=".jsonl.zst")).write_bytes(b"an unfinished copy")
    (day / rollout()).write_bytes(b"\n".join([meta(), asked("Which port?"), answered("8443."), b'{"torn']))
    archived = tmp_path / "archived_sessions"
    archived.mkdir()
    (archived / rollout(SOURCE_ID)).write_bytes(
        meta(SOURCE_ID, source="exec") + b"\n" + asked("Machine") + b"\n"
    )
    (tmp_path / "session_index.jsonl").write_text(json.dumps({"id": HOME_ID, "thread_name": "Ports"}) + "\n")
    transcripts = ConversationFiles("codex", READER, [tmp_path])
    found = transcripts.find().files
    assert found.keys() == {f"codex/{HOME_ID}", f"codex/{FORK_ID}", f"codex/{SOURCE_ID}"}
    plain = transcripts.load(found[f"codex/{HOME_ID}"])
    assert plain.text == "User: Which port?\nAssistant: 8443."
    assert plain.facts is not None
    assert (plain.facts.title, plain.facts.cwd) == ("Ports", "/home/eva/shop")
    assert transcripts.load(found[f"codex/{FORK_ID}"]).text == "User: Packed?"
    assert transcripts.load(found[f"codex/{SOURCE_ID}"]).text == ""
    transcripts.close()
