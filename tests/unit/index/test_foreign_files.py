"""A file at `store.path` that is not an index of memd is refused and, like files next to it, stays unchanged."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from memd.index.connection import IndexFile
from memd.index.integrity.claims import IndexClaims
from memd_client.errors import IndexIOError
from tests.support.indexes import new_index, openclaw_index, publish, unit
from tests.support.open_indexes import open_and_close
from tests.unit.index.test_opening import sound

NOTE = "# Tea\n\nThe kettle is from 1962.\n"


def open_as(agent: str, path: Path, claims: IndexClaims) -> tuple[IndexFile, int]:
    """Open and close an index as one of several agents; return it and its number of chunks."""
    return open_and_close(path, claim=partial(claims.claim, agent))


def text(path: Path) -> None:
    path.write_text(NOTE * 50)


def text_with_our_id(path: Path) -> None:
    path.write_bytes(b"x" * 68 + b"memd" + b"y" * 200)


def empty(path: Path) -> None:
    path.touch()


def short(path: Path) -> None:
    path.write_bytes(b"SQLite")


def database(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE conversations (text); INSERT INTO conversations VALUES ('hello')")
    db.close()


def blank_database(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE a (b); DROP TABLE a")
    db.close()


def database_with_an_id(path: Path) -> None:
    database(path)
    db = apsw.Connection(str(path))
    db.pragma("application_id", 0x12345678)
    db.close()


def database_in_use(path: Path) -> None:
    """A database whose program was killed: its log and shared memory exist and contain commits."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute("CREATE TABLE conversations (text); INSERT INTO conversations VALUES ('hello')")
    beside = {
        entry: entry.read_bytes() for entry in path.parent.iterdir() if entry.name.startswith(path.name)
    }
    db.close()
    for entry, content in beside.items():
        entry.write_bytes(content)


def journal_mode_wal(path: Path) -> None:
    """A closed database in WAL mode: even opening it for reading would create files next to it."""
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "wal")
    db.execute("CREATE TABLE conversations (text)")
    db.close()


def folder(path: Path) -> None:
    path.mkdir()
    (path / "note.md").write_text(NOTE)


def link_to_a_text(path: Path) -> None:
    (path.parent / "note.txt").write_text(NOTE)
    path.symlink_to("note.txt")


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path.name)  # from the folder itself: a socket's path may be 107 bytes long at most


FILES = (
    text,
    text_with_our_id,
    empty,
    short,
    database,
    blank_database,
    database_with_an_id,
    database_in_use,
    journal_mode_wal,
    folder,
    link_to_a_text,
    link_to_nothing,
    fifo,
    unix_socket,
)


def everything(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return all entries below a folder: mode, inode, ctime and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (facts.st_mode, facts.st_ino, facts.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_other_files_are_refused_and_left_unchanged(
    tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.sqlite"
    make(path)
    before = everything(tmp_path)
    for _ in range(2):
        with pytest.raises(IndexIOError) as caught:
            open_and_close(path)
        assert str(path) in caught.value.message
        assert "store.path" in caught.value.hint
    assert everything(tmp_path) == before


def test_locked_database_is_refused_at_once_and_stays_locked(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    database(path)
    db = apsw.Connection(str(path))
    db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(IndexIOError, match="not an index of memd"):
        open_and_close(path)
    db.execute("INSERT INTO conversations VALUES ('still mine'); COMMIT")
    db.close()


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
@pytest.mark.parametrize("has_index", [True, False])
def test_users_file_with_the_name_of_a_log_is_refused(tmp_path: Path, suffix: str, has_index: bool) -> None:
    path = tmp_path / "mine.sqlite"
    if has_index:
        sound(path)
    (tmp_path / f"mine.sqlite{suffix}").write_text(NOTE)
    before = everything(tmp_path)
    with pytest.raises(IndexIOError, match=rf"mine\.sqlite{suffix} next to it"):
        open_and_close(path)
    assert everything(tmp_path) == before


def test_log_of_a_missing_database_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    database_in_use(path)
    path.rename(tmp_path / "away")
    before = everything(tmp_path)
    with pytest.raises(IndexIOError, match="left by another database"):
        open_and_close(path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", ["MEMORY.md", "a.sqlite-wal", "a.sqlite-journal"])
def test_index_with_the_name_of_a_note_or_a_log_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(IndexIOError, match="name"):
        open_and_close(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.sqlite"))
    with pytest.raises(IndexIOError, match="not UTF-8") as caught:
        open_and_close(path)
    caught.value.message.encode()


@pytest.mark.parametrize("suffix", [".dropped", ".corrupt-notes", ".corrupt-20260101T000000Z-mine"])
def test_users_file_next_to_an_index_stays(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "mine.sqlite"
    beside = tmp_path / f"mine.sqlite{suffix}"
    beside.write_text(NOTE)
    open_and_close(path)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * 100_000)
    assert open_and_close(path)[0].quarantined is not None
    assert beside.read_text() == NOTE


# --- indexes of memd --------------------------------------------------------------------------------


@pytest.mark.parametrize("spoil_at", [0, 100, 8192 * 4])
def test_damaged_index_with_memds_id_is_quarantined_and_rebuilt(tmp_path: Path, spoil_at: int) -> None:
    path = tmp_path / "mine.sqlite"
    sound(path)
    with path.open("r+b") as file:
        file.seek(spoil_at)
        file.write(b"\xa5" * 16)
        if spoil_at:
            file.write(b"\xa5" * 20_000)
    index, chunks = open_and_close(path)
    assert index.quarantined is not None
    assert chunks == 0


def test_a_link_to_an_index_is_followed(tmp_path: Path) -> None:
    sound(tmp_path / "real.sqlite")
    (tmp_path / "mine.sqlite").symlink_to("real.sqlite")
    index, chunks = open_and_close(tmp_path / "mine.sqlite")
    assert (index.path, chunks) == (tmp_path / "real.sqlite", 200)
    assert (tmp_path / "mine.sqlite").is_symlink()


def test_openclaw_index_stays_and_memd_has_one_next_to_it(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite"
    openclaw_index(path, ["walrus"], unit([[1.0, 0.0]])).close()
    before = everything(tmp_path)["theirs.sqlite"]
    index, chunks = open_and_close(path)
    assert (index.path.name, chunks) == ("theirs.memd.sqlite", 0)
    db = new_index(index.path)
    publish(db, "memory/a.md", ["walrus"])
    db.close()
    assert everything(tmp_path)["theirs.sqlite"] == before
    # and again, from its own file
    index, chunks = open_and_close(path)
    assert (index.path.name, chunks) == ("theirs.memd.sqlite", 1)
    # and at the configured path, once OpenClaw has removed its file
    path.unlink()
    index, chunks = open_and_close(path)
    assert (index.path, chunks) == (path, 1)
    assert os.listdir(tmp_path) == ["theirs.sqlite"]


# --- one index, one agent ---------------------------------------------------------------------------


def same(path: Path) -> Path:
    return path


def through_a_linked_folder(path: Path) -> Path:
    (path.parent.parent / "other").symlink_to(path.parent.name)
    return path.parent.parent / "other" / path.name


def through_a_link(path: Path) -> Path:
    (path.parent / "link.sqlite").symlink_to(path.name)
    return path.parent / "link.sqlite"


def through_a_hard_link(path: Path) -> Path:
    (path.parent.parent / "hard.sqlite").hardlink_to(path)
    return path.parent.parent / "hard.sqlite"


@pytest.mark.parametrize(
    "alias",
    [same, through_a_linked_folder, through_a_link, through_a_hard_link],
    ids=lambda alias: alias.__name__,
)
@pytest.mark.parametrize("is_there", [True, False])
def test_second_agent_never_opens_the_first_agents_index(
    tmp_path: Path, alias: Callable[[Path], Path], is_there: bool
) -> None:
    path = tmp_path / "memory" / "first.sqlite"
    path.parent.mkdir()
    claims = IndexClaims()
    if is_there:
        sound(path)
    open_as("first", path, claims)
    second = alias(path)
    before = everything(tmp_path)
    with pytest.raises(IndexIOError, match="index of agent first") as caught:
        open_as("second", second, claims)
    assert "{agentId}" in caught.value.hint
    assert everything(tmp_path) == before
    # the first agent gets it again, and the second one once the first has another
    open_as("first", path, claims)
    claims.release("first")
    open_as("second", second, claims)


def test_claim_is_kept_while_an_index_is_rebuilt(tmp_path: Path) -> None:
    path = tmp_path / "first.sqlite"
    claims = IndexClaims()
    open_as("first", path, claims)
    path.unlink()
    with pytest.raises(IndexIOError, match="index of agent first"):
        open_as("second", path, claims)
    assert not path.exists()


def test_first_agent_in_the_settings_gets_a_shared_path(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    sound(path)
    through_a_link(path)
    claims = IndexClaims()
    claims.reserve([("first", path), ("second", tmp_path / "link.sqlite")])
    with pytest.raises(IndexIOError, match="index of agent first"):
        open_as("second", tmp_path / "link.sqlite", claims)
    assert open_as("first", path, claims)[1] == 200
