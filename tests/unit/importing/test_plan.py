"""Plans and their execution: no edit is lost."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.importing import sources
from memd.importing.plan import carry_out
from memd.importing.provenance import read_copy
from memd_client.errors import BadParamsError
from tests.unit.importing.import_home import ImportHome

NOTE = "basic-memory/tea.md"
COPY = "basic-memory/main/tea.md"


@pytest.fixture
def home(tmp_path: Path) -> ImportHome:
    """A home directory with one note of basic-memory."""
    home = ImportHome(tmp_path)
    home.write(NOTE, "green\n")
    return home


def body(path: Path) -> str:
    """Return the text of a copy without provenance."""
    copy = read_copy(path.read_text())
    assert copy is not None
    return copy.body


def test_copy_has_its_source_and_provenance(home: ImportHome) -> None:
    [row] = home.run("basic-memory")

    assert (row.state, row.target) == ("new", f"memory/imported/{COPY}")
    copy = read_copy(home.copy(COPY).read_text())
    assert copy is not None
    assert (copy.body, copy.provenance.source) == ("green\n", str(home.home / NOTE))
    assert (copy.provenance.kind, copy.provenance.imported) == ("basic-memory", "2026-11-22T17:00:00Z")
    assert stat.S_IMODE(home.copy(COPY).stat().st_mode) == 0o600
    assert stat.S_IMODE(home.copy("basic-memory").stat().st_mode) == 0o700
    assert sorted(os.listdir(home.copy("basic-memory/main"))) == ["tea.md"]


def test_sources_are_never_changed(home: ImportHome) -> None:
    source = home.home / NOTE
    source.chmod(0o400)
    source.parent.chmod(0o500)
    before = source.stat()

    home.run("basic-memory")

    after = source.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_ino) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_ino,
    )
    assert os.listdir(source.parent) == ["tea.md"]
    source.parent.chmod(0o700)


def test_unchanged_source_is_not_written_again(home: ImportHome) -> None:
    home.run("basic-memory")
    before = home.copy(COPY).stat()

    assert home.states("basic-memory") == {NOTE: "same"}
    home.run("basic-memory")
    assert home.copy(COPY).stat().st_mtime_ns == before.st_mtime_ns


def test_changed_source_replaces_its_copy(home: ImportHome) -> None:
    home.run("basic-memory")
    home.write(NOTE, "black\n")

    [row] = home.run("basic-memory")

    assert row.state == "changed"
    assert body(home.copy(COPY)) == "black\n"
    assert home.states("basic-memory") == {NOTE: "same"}


def test_edited_copy_of_an_unchanged_source_is_kept(home: ImportHome) -> None:
    home.run("basic-memory")
    home.copy(COPY).write_text(home.copy(COPY).read_text() + "and sweet\n")

    assert home.states("basic-memory") == {NOTE: "edited"}
    home.run("basic-memory")
    assert body(home.copy(COPY)) == "green\nand sweet\n"


def test_edited_copy_of_a_changed_source_is_a_conflict_and_kept(home: ImportHome) -> None:
    home.run("basic-memory")
    home.copy(COPY).write_text(home.copy(COPY).read_text() + "and sweet\n")
    home.write(NOTE, "black\n")

    [row] = home.run("basic-memory")

    assert (row.state, row.target) == ("conflict", f"memory/imported/{COPY}")
    assert body(home.copy(COPY)) == "green\nand sweet\n"
    home.copy(COPY).unlink()
    home.run("basic-memory")
    assert body(home.copy(COPY)) == "black\n"


@pytest.mark.parametrize("before", ["green\n", "---\ntitle: Tea\n---\ngreen\n", "\ufeffgreen\r\n"])
def test_keep_mine_resolves_a_conflict(home: ImportHome, before: str) -> None:
    # given a conflict
    home.write(NOTE, before)
    home.run("basic-memory")
    home.copy(COPY).write_bytes(home.copy(COPY).read_bytes() + b"and sweet\n")
    home.write(NOTE, "black\n")
    # when the copy is chosen
    [row] = home.run("basic-memory", keep_mine=True)
    # then it is unchanged, and is an edited copy from now on
    assert row.state == "kept"
    kept = read_copy(home.copy(COPY).read_bytes().decode())
    assert kept is not None
    assert kept.body == before + "and sweet\n"
    assert home.states("basic-memory") == {NOTE: "edited"}
    # until the source changes again
    home.write(NOTE, "white\n")
    assert home.states("basic-memory") == {NOTE: "conflict"}


def test_copy_edited_during_the_import_is_unchanged(home: ImportHome) -> None:
    home.run("basic-memory")
    home.copy(COPY).write_text(home.copy(COPY).read_text() + "and sweet\n")
    home.write(NOTE, "black\n")
    plan = home.plan("basic-memory", keep_mine=True)
    home.copy(COPY).write_text(home.copy(COPY).read_text() + "and hot\n")

    [row] = carry_out(plan, "basic-memory", home.workspace, "2026-11-22T18:00:00Z")

    assert row.state == "failed"
    assert body(home.copy(COPY)) == "green\nand sweet\nand hot\n"
    assert home.states("basic-memory") == {NOTE: "conflict"}


def test_equal_changes_are_not_a_conflict(home: ImportHome) -> None:
    home.run("basic-memory")
    home.copy(COPY).write_text(home.copy(COPY).read_text() + "and sweet\n")
    home.write(NOTE, "green\nand sweet\n")

    assert home.states("basic-memory") == {NOTE: "same"}


def test_moved_copy_is_recognized(home: ImportHome) -> None:
    home.run("basic-memory")
    home.copy("drinks").mkdir()
    home.copy(COPY).rename(home.copy("drinks/tea.md"))
    home.write(NOTE, "black\n")

    [row] = home.run("basic-memory")

    assert row.target == "memory/imported/drinks/tea.md"
    assert body(home.copy("drinks/tea.md")) == "black\n"


def test_copy_gets_an_alternative_name_if_its_name_is_used(home: ImportHome) -> None:
    home.write(f"workspace/memory/imported/{COPY}", "my own\n")

    [row] = home.run("basic-memory")

    assert row.target.startswith("memory/imported/basic-memory/main/tea-")
    assert "is another file" in row.reason
    assert home.copy(COPY).read_text() == "my own\n"
    assert home.states("basic-memory") == {NOTE: "same"}


def test_names_that_differ_only_in_case_become_two_files(home: ImportHome) -> None:
    home.write("basic-memory/TEA.md", "black\n")

    first, second = home.run("basic-memory")

    assert first.target.casefold() != second.target.casefold()


def test_text_that_memory_has_already_is_a_duplicate(home: ImportHome) -> None:
    home.write("workspace/memory/2026-01-01.md", "green\n")
    home.write("basic-memory/other.md", "black\n")
    home.write("basic-memory/zz.md", "black\n")

    rows = {Path(row.source).name: row for row in home.run("basic-memory")}

    assert (rows["tea.md"].state, rows["tea.md"].target) == ("duplicate", "memory/2026-01-01.md")
    assert rows["other.md"].state == "new"
    assert (rows["zz.md"].state, rows["zz.md"].target) == ("duplicate", rows["other.md"].target)
    assert home.states("basic-memory")["basic-memory/zz.md"] == "duplicate"


def test_copy_of_a_missing_source_is_kept_and_listed(home: ImportHome) -> None:
    home.run("basic-memory")
    (home.home / NOTE).unlink()

    assert home.states("basic-memory") == {NOTE: "gone"}
    assert body(home.copy(COPY)) == "green\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf \n\n", "it is empty"),
        (b"caf\xe9\n", "is not UTF-8 (byte 4)"),
        (b"a\0b\n", "is a binary file (it contains NUL bytes)"),
    ],
)
def test_invalid_files_are_excluded_with_a_reason(home: ImportHome, content: bytes, reason: str) -> None:
    home.write("basic-memory/odd.md", content)

    rows = {Path(row.source).name: row for row in home.run("basic-memory")}

    assert (rows["odd.md"].state, rows["odd.md"].reason) == ("left out", reason)
    assert rows["tea.md"].state == "new"


def test_huge_files_pipes_and_invalid_names_are_excluded(home: ImportHome) -> None:
    with open(home.home / "basic-memory/huge.md", "wb") as file:
        file.truncate(17 * 1024 * 1024)
    os.mkfifo(home.home / "basic-memory/pipe.md")
    with open(os.fsencode(home.home / "basic-memory") + b"/caf\xe9.md", "wb") as file:
        file.write(b"tea")

    reasons = {
        Path(row.source).name: row.reason for row in home.plan("basic-memory") if row.state == "left out"
    }

    assert reasons == {
        "huge.md": "is too big: 17.8 MB, the limit is 16.8 MB",
        "pipe.md": "not a regular file",
        "caf?.md": "its name is not UTF-8; rename it",
    }


def test_links_are_not_followed(home: ImportHome) -> None:
    secret = home.write("secret/keys.md", "secret\n")
    (home.home / "basic-memory/link.md").symlink_to(secret)
    (home.home / "basic-memory/folder").symlink_to(secret.parent)
    home.write(".claude/CLAUDE.md", "mine\n")
    (home.home / ".claude/rules").symlink_to(secret.parent)
    home.write("shop/.claude/x", "")
    (home.home / "shop/CLAUDE.md").symlink_to(secret)

    rows = [*home.run("basic-memory"), *home.run("claude-code"), *home.run("claude-code", "shop")]

    left = [row for row in rows if row.state == "left out"]
    assert len(left) == 4
    assert all("links are not followed" in row.reason for row in left)
    assert not any("secret" in path.read_text() for path in home.copy("").rglob("*.md"))


def test_file_that_became_a_link_after_planning_is_not_read(home: ImportHome) -> None:
    secret = home.write("secret.md", "green\n")
    rows = home.plan("basic-memory")
    (home.home / NOTE).unlink()
    (home.home / NOTE).symlink_to(secret)

    [row] = carry_out(rows, "basic-memory", home.workspace, "now")

    assert row.state == "failed"
    assert "symbolic link" in row.reason
    assert not home.copy(COPY).exists()


def test_folder_that_became_a_link_after_planning_is_not_read(home: ImportHome) -> None:
    home.write(".claude/rules/api.md", "rule\n")
    rows = home.plan("claude-code")
    (home.home / ".claude/rules").rename(home.home / "elsewhere")
    (home.home / ".claude/rules").symlink_to(home.home / "elsewhere")

    [row] = carry_out(rows, "claude-code", home.workspace, "now")

    assert row.state == "failed"
    assert "symbolic link" in row.reason
    assert not home.copy("claude-code").exists()


def test_source_changed_after_planning_is_not_written(home: ImportHome) -> None:
    rows = home.plan("basic-memory")
    home.write(NOTE, "black\n")

    [row] = carry_out(rows, "basic-memory", home.workspace, "now")

    assert (row.state, row.reason) == ("failed", "the source has changed in the meantime; import again")
    assert not home.copy(COPY).exists()


def test_copy_edited_after_planning_is_not_replaced(home: ImportHome) -> None:
    home.run("basic-memory")
    home.write(NOTE, "black\n")
    rows = home.plan("basic-memory")
    home.copy(COPY).write_text("mine\n")

    [row] = carry_out(rows, "basic-memory", home.workspace, "now")

    assert row.state == "failed"
    assert "in the meantime" in row.reason
    assert home.copy(COPY).read_text() == "mine\n"


def test_file_created_at_the_target_after_planning_is_kept(home: ImportHome) -> None:
    rows = home.plan("basic-memory")
    home.write(f"workspace/memory/imported/{COPY}", "mine\n")

    [row] = carry_out(rows, "basic-memory", home.workspace, "now")

    assert row.state == "failed"
    assert home.copy(COPY).read_text() == "mine\n"


def test_own_workspace_is_never_a_source(home: ImportHome) -> None:
    home.write("workspace/memory/notes.md", "mine\n")

    rows = [*home.plan("basic-memory", "workspace"), *home.plan("basic-memory", "workspace/memory")]

    assert {row.reason for row in rows} == {"it is in the agent's own workspace"}


def test_too_many_files_are_an_error(home: ImportHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_FILES", 1)
    home.write("basic-memory/other.md")

    with pytest.raises(BadParamsError, match="2 Markdown files"):
        home.plan("basic-memory")


EDITS = st.lists(st.sampled_from(["import", "source", "copy", "delete copy", "delete source"]), max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_edits_are_never_lost_and_sources_never_change(
    tmp_path_factory: pytest.TempPathFactory, edits: list[str]
) -> None:
    home = ImportHome(tmp_path_factory.mktemp("home"))
    source, copy = home.write(NOTE, "0\n"), home.copy(COPY)
    for number, edit in enumerate(edits, 1):
        if edit == "source":
            source.write_text(f"{number}\n")
        elif edit == "copy" and copy.exists():
            copy.write_text(copy.read_text() + f"edit {number}\n")
        elif edit == "delete copy":
            copy.unlink(missing_ok=True)
        elif edit == "delete source":
            source.unlink(missing_ok=True)
        else:
            held = copy.read_text() if copy.exists() else ""
            written = source.read_text() if source.exists() else None
            home.run("basic-memory")
            assert (source.read_text() if source.exists() else None) == written
            if "edit" in held:
                assert copy.read_text() == held
            elif written is not None:
                assert body(copy) == written
