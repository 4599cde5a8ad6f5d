"""Exports as archives, files and folders: the newest counts, any part is read by itself, damage harms nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memd.programs import export_files, exports
from memd.programs.chatgpt import READER as CHATGPT
from memd.programs.claude_ai import READER as CLAUDE
from memd.programs.export_files import ExportFile, open_export
from memd.programs.exports import ChatExport, split_array
from memd.programs.gemini_takeout import READER as GEMINI
from memd.system.sqlite import ForeignDatabaseError
from tests.support.transcript_programs.exports import (
    ACTIVITY,
    chatgpt_conversation,
    chatgpt_message,
    claude_conversation,
    claude_message,
    gemini_activity,
    gemini_cell,
    gemini_page,
    write_archive,
)

JSON = "conversations.json"


def chat(session: str, text: str = "Which port?", **fields: Any) -> dict[str, Any]:
    """Return a conversation of ChatGPT."""
    return chatgpt_conversation(session, chatgpt_message("user", text), **fields)


def texts_in(path: Path, reader: type[ChatExport] = CHATGPT) -> dict[str, list[str]]:
    """Return the messages of all conversations."""
    export = reader(path)
    found = {session.id: export.read(session.id) for session in export.sessions()}
    assert all(found.values())
    return {name: [each.text for each in read.messages] for name, read in found.items() if read is not None}


def failure(path: Path, reader: type[ChatExport] = CHATGPT) -> ForeignDatabaseError:
    """Return why an export can't be read."""
    export = reader(path)
    with pytest.raises(ForeignDatabaseError) as raised:
        export.sessions()
    assert export.hint.startswith("name the archive")
    return raised.value


@pytest.fixture(params=[zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, None], ids=["packed", "stored", "unpacked"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    """Return what writes an export: an archive, or a file."""

    def write(text: str) -> Path:
        if request.param is not None:
            return write_archive(tmp_path / "export.zip", {JSON: text}, request.param)
        (tmp_path / JSON).write_text(text)
        return tmp_path / JSON

    return write


# --- where an export is -----------------------------------------------------------------------------


def test_large_accounts_have_several_files(tmp_path: Path) -> None:
    files = {f"conversations-{number:03}.json": json.dumps([chat(f"c{number}")]) for number in range(3)}
    assert list(texts_in(write_archive(tmp_path / "export.zip", files))) == ["c0", "c1", "c2"]
    for name, text in files.items():
        (tmp_path / "unpacked").mkdir(exist_ok=True)
        (tmp_path / "unpacked" / name).write_text(text)
    assert list(texts_in(tmp_path / "unpacked")) == ["c0", "c1", "c2"]


def test_of_a_folder_with_several_exports_the_newest_counts(tmp_path: Path) -> None:
    exported = {"old.zip": "old", "new.zip": "new"}
    for number, (name, text) in enumerate(exported.items()):
        path = write_archive(tmp_path / name, {JSON: json.dumps([chat("c", text), chat(text)])})
        os.utime(path, (number, number))
    write_archive(tmp_path / "photos.zip", {"a.jpg": b"\xff"})
    write_archive(
        tmp_path / "claude.zip", {JSON: json.dumps([claude_conversation("x", claude_message("human", "hi"))])}
    )
    (tmp_path / "broken.zip").write_bytes(b"PK")
    assert texts_in(tmp_path) == {"c": ["new"], "new": ["Which port?"]}
    assert texts_in(tmp_path, CLAUDE) == {"x": ["hi"]}
    unpacked = tmp_path / "chatgpt" / JSON
    unpacked.parent.mkdir()
    unpacked.write_text(json.dumps([chat("unpacked")]))
    assert list(texts_in(tmp_path)) == ["unpacked"]


def test_parts_of_one_export_count_together(tmp_path: Path) -> None:
    for number in range(2):
        conversations = [claude_conversation(f"c{number}", claude_message("human", "hi"))]
        path = write_archive(tmp_path / f"data-1-2-batch-000{number}.zip", {JSON: json.dumps(conversations)})
        os.utime(path, (number, number))
    old = write_archive(
        tmp_path / "data-0-1-batch-0000.zip", {JSON: json.dumps([claude_conversation("old")])}
    )
    os.utime(old, (0, 0))
    assert list(texts_in(tmp_path, CLAUDE)) == ["c0", "c1"]


@pytest.mark.parametrize(
    "below", ["", "Takeout", "Takeout/My Activity", "Takeout/My Activity/Gemini Apps", f"{ACTIVITY}.json"]
)
def test_unpacked_takeout_is_found_from_any_of_its_folders(below: str, tmp_path: Path) -> None:
    path = tmp_path / f"{ACTIVITY}.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([gemini_activity("Prompted which port?", "8443.")]))
    (tmp_path / "Takeout/My Activity/Search").mkdir()
    (tmp_path / "Takeout/My Activity/Search/MyActivity.json").write_text("[{}]")
    assert texts_in(tmp_path / below, GEMINI) == {"2026-11-20": ["which port?", "8443."]}


def test_unchanged_export_in_a_changing_folder_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_archive(tmp_path / "export.zip", {JSON: json.dumps([chat("c")])})
    os.utime(path, (1, 1))
    export = CHATGPT(tmp_path)
    before = export.sessions()
    opened: list[Path] = []

    def note(path: Path, names: re.Pattern[str]) -> list[tuple[str, ExportFile]]:
        opened.append(path)
        return open_export(path, names)

    monkeypatch.setattr(exports, "open_export", note)
    write_archive(tmp_path / "photos.zip", {"a.jpg": b"\xff"})
    os.utime(tmp_path / "photos.zip", (0, 0))
    assert export.sessions() == before
    assert opened == []
    os.utime(path, (2, 2))
    assert export.sessions() == before
    assert opened == [path]


def test_change_of_a_conversation_changes_its_stat_alone(tmp_path: Path) -> None:
    export = CHATGPT(tmp_path / "export.zip")
    write_archive(tmp_path / "export.zip", {JSON: json.dumps([chat("a"), chat("b")])})
    before = {session.id: session.stat for session in export.sessions()}
    write_archive(tmp_path / "export.zip", {JSON: json.dumps([chat("b", "Which porx?"), chat("a")])})
    after = {session.id: session.stat for session in export.sessions()}
    assert after["a"] == before["a"]
    assert after["b"] != before["b"]


def test_replaced_export_is_read_by_its_new_contents(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "export.zip", {JSON: json.dumps([chat("a"), chat("b", "old")])})
    export = CHATGPT(path)
    export.sessions()
    write_archive(path, {JSON: json.dumps([chat("b", "new")])})
    assert export.read("a") is None
    found = export.read("b")
    assert found is not None
    assert [message.text for message in found.messages] == ["new"]


# --- any part by itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 7, 64, 1_000])
def test_conversations_are_read_in_any_order_from_blocks_of_any_size(
    block: int, written: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_files, "BLOCK_BYTES", block)
    monkeypatch.setattr(export_files, "MAX_BLOCKS", 1_000_000)
    expected = {f"c{number}": [f'{number} "] }} \\" [{{'] for number in range(6)}
    text = json.dumps([chat(name, said[0]) for name, said in expected.items()], indent=1)
    export = CHATGPT(written(text))
    names = [session.id for session in export.sessions()]
    assert names == list(expected)
    for name in Random(1).sample(names * 3, 18):
        found = export.read(name)
        assert found is not None
        assert [message.text for message in found.messages] == expected[name]


def blocks_of(data: bytes, size: int) -> Iterator[bytes]:
    """Yield data in blocks."""
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("seed", range(30))
def test_objects_of_an_array_are_where_they_were_written(seed: int) -> None:
    random = Random(seed)
    values = [
        {
            "".join(random.choices('a"\\{}[], \n', k=5)): [random.choice(["}", ["]", {}], None, 1])],
            "b": {"c": "[" * 9},
        }
        for _ in range(random.randrange(6))
    ]
    data = json.dumps(values, indent=random.choice([None, 2])).encode()
    found = list(split_array(blocks_of(data, random.choice([1, 3, 50, 10_000]))))
    assert [json.loads(part) for _, part in found] == values
    assert all(data[start : start + len(part)] == part for start, part in found)


def test_large_export_is_never_in_ram_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "BLOCK_BYTES", 500_000)
    conversations = [chat(f"c{number}", "heron " * 4_000) for number in range(1_000)]
    path = write_archive(tmp_path / "export.zip", {JSON: json.dumps(conversations)})
    del conversations
    export = CHATGPT(path)
    tracemalloc.start()
    try:
        assert len(export.sessions()) == 1_000
        assert export.read("c500") is not None
        assert tracemalloc.get_traced_memory()[1] < 10_000_000, "the export has 24 MB"
    finally:
        tracemalloc.stop()


# --- damaged and hostile ones -----------------------------------------------------------------------


@pytest.mark.parametrize("reader", [CHATGPT, CLAUDE, GEMINI])
@pytest.mark.parametrize(
    "files",
    [
        {},
        {"photo.jpg": b"\xff"},
        {JSON: "[]"},
        {JSON: "{}"},
        {JSON: "nonsense"},
        {JSON: "\ufeff" + "[" * 100_000},
        {JSON: '[{"a": 1}, [], 7, "text", null]'},
        {"conversations.txt": json.dumps([chat("c")])},
        {"../conversations.json": json.dumps([chat("c")])},
        {"a/../conversations.json": json.dumps([chat("c")])},
        {f"{ACTIVITY}.html": "<html>"},
        {f"{ACTIVITY}.json": '[{"title": "Prompted"}]'},
        {
            "Takeout/My Activity/Search/MyActivity.html": gemini_page(
                gemini_cell("Prompted a", "2026/11/20 10:11:12 JST")
            )
        },
    ],
)
def test_archive_without_conversations_is_no_export(
    reader: type[ChatExport], files: dict[str, str | bytes], tmp_path: Path
) -> None:
    error = failure(write_archive(tmp_path / "export.zip", files), reader)
    assert error.reason == f"it is no export of {reader.title}"
    assert error.unknown


def test_export_of_another_program_is_no_export(tmp_path: Path) -> None:
    claude = write_archive(
        tmp_path / "a.zip", {JSON: json.dumps([claude_conversation("c", claude_message("human", "hi"))])}
    )
    chatgpt = write_archive(tmp_path / "b.zip", {JSON: json.dumps([chat("c")])})
    assert failure(claude).reason == "it is no export of ChatGPT"
    assert failure(chatgpt, CLAUDE).reason == "it is no export of Claude"
    assert failure(chatgpt, GEMINI).reason == "it is no export of Gemini"


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"text", b"PK\5\6" + b"\xff" * 18, b"PK\5\6" + b"\0" * 18 + b"x" * 70_000]
)
def test_file_that_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "export.zip").write_bytes(data)
    assert "it is no" in failure(tmp_path / "export.zip").reason


def test_incomplete_and_damaged_archives_harm_nothing(tmp_path: Path) -> None:
    conversations = [chat(f"c{number}", f"number {number}") for number in range(20)]
    path = write_archive(tmp_path / "export.zip", {JSON: json.dumps(conversations)})
    whole = path.read_bytes()
    for seed in range(300):
        random, data = Random(seed), bytearray(whole)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(len(data))] = random.randrange(256)
        path.write_bytes(data[: random.choice([len(data), random.randrange(len(data))])])
        export = CHATGPT(path)
        with contextlib.suppress(ForeignDatabaseError):
            for session in export.sessions():
                export.read(session.id)


TEXTS = [
    (CHATGPT, "conversations.json", json.dumps([chat("a", "heron"), chat("b", "stork")])),
    (
        CLAUDE,
        "conversations.json",
        json.dumps([claude_conversation(name, claude_message("human", "heron")) for name in "ab"]),
    ),
    (
        GEMINI,
        "Gemini/a.json",
        json.dumps([gemini_activity(f"Prompted {number}", "heron") for number in range(3)]),
    ),
    (
        GEMINI,
        "Gemini/a.html",
        gemini_page(
            *(gemini_cell(f"Prompted {number}", "2026/11/20 10:11:12 JST", "heron") for number in range(3))
        ),
    ),
]


@pytest.mark.parametrize("seeds", [200, pytest.param(5_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("reader", "name", "text"), TEXTS)
def test_damaged_files_never_raise(
    reader: type[ChatExport], name: str, text: str, seeds: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    for seed in range(seeds):
        random, data = Random(seed), bytearray(text.encode())
        for _ in range(random.randrange(1, 6)):
            start = random.randrange(len(data))
            data[start : start + random.choice([0, 1, 1, 9])] = random.choice(
                [
                    b"",
                    b"\xff",
                    b"\0",
                    b'"',
                    b"[",
                    b"}",
                    b"null",
                    b"7",
                    b'"\\ud800"',
                    b"<",
                    b"&#xD800;",
                    b"9" * 50,
                ]
            )
        path.write_bytes(data)
        export = reader(path)
        with contextlib.suppress(ForeignDatabaseError):
            for session in export.sessions():
                read = export.read(session.id)
                assert read is None or all(message.text.encode() for message in read.messages), seed


def test_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "export.zip", {JSON: json.dumps([chat("c")])})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    assert failure(path).reason == "it is encrypted, or packed in an unknown way"
    write_archive(path, {JSON: json.dumps([chat("c")])}, zipfile.ZIP_BZIP2)
    assert failure(path).reason == "it is encrypted, or packed in an unknown way"


def test_link_in_an_archive_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo(JSON)
        info.external_attr = 0o120777 << 16
        archive.writestr(info, json.dumps([chat("c")]))
    assert failure(path).reason == "it is no export of ChatGPT"


def test_links_and_devices_in_a_folder_are_not_read(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / JSON).write_text(json.dumps([chat("c")]))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / JSON).symlink_to(real / JSON)
    (folder / "below").symlink_to(real)
    os.mkfifo(folder / "export.zip")
    failure(folder)


def test_archive_that_expands_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "MAX_BLOCKS", 3)
    bomb = write_archive(tmp_path / "export.zip", {JSON: b"[" + b" " * (4 * export_files.BLOCK_BYTES)})
    assert bomb.stat().st_size < 100_000
    assert failure(bomb).reason == "it expands to more than 4 GB"


@pytest.mark.parametrize("piece", [b'[{"a": "', b'[{"a": ['])
def test_conversation_without_end_is_refused(
    piece: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_RECORD_BYTES", 10_000_000)
    bomb = write_archive(tmp_path / "export.zip", {JSON: piece + b"1," * 30_000_000})
    assert failure(bomb).reason == "a conversation in it is larger than 128 MB"


def test_list_of_files_of_any_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_archive(tmp_path / "export.zip", {f"{number}.png": b"" for number in range(2_000)})
    monkeypatch.setattr(export_files, "MAX_DIRECTORY_BYTES", 70_000)
    assert failure(path).reason == "it is no zip archive, or it is damaged or not complete"


@pytest.mark.parametrize("offset", [0, 10, 1 << 31, (1 << 32) - 2])
def test_wrong_offset_of_a_file_is_refused(offset: int, tmp_path: Path) -> None:
    path = write_archive(tmp_path / "export.zip", {"a": "b", JSON: json.dumps([chat("c")])})
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\1\2")
    data[entry + 42 : entry + 46] = struct.pack("<I", offset)
    path.write_bytes(data)
    failure(path)


def test_damaged_conversations_are_skipped_and_reported(tmp_path: Path) -> None:
    text = json.dumps([chat("a"), chat("b")])
    path = write_archive(tmp_path / "export.zip", {JSON: f'[{{"a" 1}}, {text[1:-1]}, {{"mapping": '})
    export = CHATGPT(path)
    assert [session.id for session in export.sessions()] == ["a", "b"]
    (problem,) = export.problems
    assert problem.message == f"{path}: 2 conversations are damaged, and are skipped"


def test_missing_export_is_a_passing_failure(tmp_path: Path) -> None:
    assert failure(tmp_path / "export.zip").busy
