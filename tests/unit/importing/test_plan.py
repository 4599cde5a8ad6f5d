"""What is written, what stays, and why: nothing is lost, and no edit is overwritten."""

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
from tests.unit.importing.stage import Stage

NOTE = "basic-memory/tea.md"
COPY = "basic-memory/main/tea.md"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A home directory with one note of basic-memory."""
    stage = Stage(tmp_path)
    stage.write(NOTE, "green\n")
    return stage


def body(path: Path) -> str:
    """Return what a copy holds of its source."""
    copy = read_copy(path.read_text())
    assert copy is not None
    return copy.body


def test_a_copy_holds_its_source_and_where_it_is_from(stage: Stage) -> None:
    [row] = stage.run("basic-memory")

    assert (row.state, row.target) == ("new", f"memory/imported/{COPY}")
    copy = read_copy(stage.copy(COPY).read_text())
    assert copy is not None
    assert (copy.body, copy.provenance.source) == ("green\n", str(stage.home / NOTE))
    assert (copy.provenance.kind, copy.provenance.imported) == ("basic-memory", "2026-11-22T17:00:00Z")
    assert stat.S_IMODE(stage.copy(COPY).stat().st_mode) == 0o600
    assert stat.S_IMODE(stage.copy("basic-memory").stat().st_mode) == 0o700
    assert sorted(os.listdir(stage.copy("basic-memory/main"))) == ["tea.md"]


def test_a_source_is_never_touched(stage: Stage) -> None:
    source = stage.home / NOTE
    source.chmod(0o400)
    source.parent.chmod(0o500)
    before = source.stat()

    stage.run("basic-memory")

    after = source.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_ino) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_ino,
    )
    assert os.listdir(source.parent) == ["tea.md"]
    source.parent.chmod(0o700)


def test_what_has_not_changed_is_not_written_again(stage: Stage) -> None:
    stage.run("basic-memory")
    before = stage.copy(COPY).stat()

    assert stage.states("basic-memory") == {NOTE: "same"}
    stage.run("basic-memory")
    assert stage.copy(COPY).stat().st_mtime_ns == before.st_mtime_ns


def test_a_changed_source_is_written_over_its_copy(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.write(NOTE, "black\n")

    [row] = stage.run("basic-memory")

    assert row.state == "changed"
    assert body(stage.copy(COPY)) == "black\n"
    assert stage.states("basic-memory") == {NOTE: "same"}


def test_an_edited_copy_stays_while_the_source_does(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.copy(COPY).write_text(stage.copy(COPY).read_text() + "and sweet\n")

    assert stage.states("basic-memory") == {NOTE: "edited"}
    stage.run("basic-memory")
    assert body(stage.copy(COPY)) == "green\nand sweet\n"


def test_an_edited_copy_of_a_changed_source_is_a_conflict_and_stays(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.copy(COPY).write_text(stage.copy(COPY).read_text() + "and sweet\n")
    stage.write(NOTE, "black\n")

    [row] = stage.run("basic-memory")

    assert (row.state, row.target) == ("conflict", f"memory/imported/{COPY}")
    assert body(stage.copy(COPY)) == "green\nand sweet\n"
    stage.copy(COPY).unlink()
    stage.run("basic-memory")
    assert body(stage.copy(COPY)) == "black\n"


@pytest.mark.parametrize("before", ["green\n", "---\ntitle: Tea\n---\ngreen\n", "\ufeffgreen\r\n"])
def test_a_conflict_that_was_settled_for_the_copy_is_none_any_more(stage: Stage, before: str) -> None:
    # given a conflict
    stage.write(NOTE, before)
    stage.run("basic-memory")
    stage.copy(COPY).write_bytes(stage.copy(COPY).read_bytes() + b"and sweet\n")
    stage.write(NOTE, "black\n")
    # when the copy is chosen
    [row] = stage.run("basic-memory", keep_mine=True)
    # then it holds what it held, and is an edited copy from there on
    assert row.state == "kept"
    kept = read_copy(stage.copy(COPY).read_bytes().decode())
    assert kept is not None
    assert kept.body == before + "and sweet\n"
    assert stage.states("basic-memory") == {NOTE: "edited"}
    # until the source changes again
    stage.write(NOTE, "white\n")
    assert stage.states("basic-memory") == {NOTE: "conflict"}


def test_a_copy_edited_while_it_was_being_chosen_is_left_alone(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.copy(COPY).write_text(stage.copy(COPY).read_text() + "and sweet\n")
    stage.write(NOTE, "black\n")
    plan = stage.plan("basic-memory", keep_mine=True)
    stage.copy(COPY).write_text(stage.copy(COPY).read_text() + "and hot\n")

    [row] = carry_out(plan, "basic-memory", stage.workspace, "2026-11-22T18:00:00Z")

    assert row.state == "failed"
    assert body(stage.copy(COPY)) == "green\nand sweet\nand hot\n"
    assert stage.states("basic-memory") == {NOTE: "conflict"}


def test_the_same_change_on_both_sides_is_no_conflict(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.copy(COPY).write_text(stage.copy(COPY).read_text() + "and sweet\n")
    stage.write(NOTE, "green\nand sweet\n")

    assert stage.states("basic-memory") == {NOTE: "same"}


def test_a_copy_that_was_moved_is_still_its_sources_copy(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.copy("drinks").mkdir()
    stage.copy(COPY).rename(stage.copy("drinks/tea.md"))
    stage.write(NOTE, "black\n")

    [row] = stage.run("basic-memory")

    assert row.target == "memory/imported/drinks/tea.md"
    assert body(stage.copy("drinks/tea.md")) == "black\n"


def test_a_name_that_is_taken_is_left_alone_and_the_copy_gets_another(stage: Stage) -> None:
    stage.write(f"workspace/memory/imported/{COPY}", "my own\n")

    [row] = stage.run("basic-memory")

    assert row.target.startswith("memory/imported/basic-memory/main/tea-")
    assert "taken" in row.reason
    assert stage.copy(COPY).read_text() == "my own\n"
    assert stage.states("basic-memory") == {NOTE: "same"}


def test_names_that_differ_in_case_alone_make_two_files_anywhere(stage: Stage) -> None:
    stage.write("basic-memory/TEA.md", "black\n")

    first, second = stage.run("basic-memory")

    assert first.target.casefold() != second.target.casefold()


def test_what_memory_says_already_is_not_written_twice(stage: Stage) -> None:
    stage.write("workspace/memory/2026-01-01.md", "green\n")
    stage.write("basic-memory/other.md", "black\n")
    stage.write("basic-memory/zz.md", "black\n")

    rows = {Path(row.source).name: row for row in stage.run("basic-memory")}

    assert (rows["tea.md"].state, rows["tea.md"].target) == ("duplicate", "memory/2026-01-01.md")
    assert rows["other.md"].state == "new"
    assert (rows["zz.md"].state, rows["zz.md"].target) == ("duplicate", rows["other.md"].target)
    assert stage.states("basic-memory")["basic-memory/zz.md"] == "duplicate"


def test_a_copy_whose_source_is_gone_stays_and_is_named(stage: Stage) -> None:
    stage.run("basic-memory")
    (stage.home / NOTE).unlink()

    assert stage.states("basic-memory") == {NOTE: "gone"}
    assert body(stage.copy(COPY)) == "green\n"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf \n\n", "it is empty"),
        (b"caf\xe9\n", "is not UTF-8 (byte 4)"),
        (b"a\0b\n", "is a binary file (it holds NUL bytes)"),
    ],
)
def test_what_can_not_be_memory_is_left_out_with_a_reason(stage: Stage, content: bytes, reason: str) -> None:
    stage.write("basic-memory/odd.md", content)

    rows = {Path(row.source).name: row for row in stage.run("basic-memory")}

    assert (rows["odd.md"].state, rows["odd.md"].reason) == ("left out", reason)
    assert rows["tea.md"].state == "new"


def test_huge_files_pipes_and_names_that_are_no_text_are_left_out(stage: Stage) -> None:
    with open(stage.home / "basic-memory/huge.md", "wb") as file:
        file.truncate(17 * 1024 * 1024)
    os.mkfifo(stage.home / "basic-memory/pipe.md")
    with open(os.fsencode(stage.home / "basic-memory") + b"/caf\xe9.md", "wb") as file:
        file.write(b"tea")

    reasons = {
        Path(row.source).name: row.reason for row in stage.plan("basic-memory") if row.state == "left out"
    }

    assert reasons == {
        "huge.md": "is too big: 17.8 MB, the limit is 16.8 MB",
        "pipe.md": "not a regular file",
        "caf?.md": "its name is not UTF-8; rename it",
    }


def test_no_link_is_followed(stage: Stage) -> None:
    secret = stage.write("secret/keys.md", "secret\n")
    (stage.home / "basic-memory/link.md").symlink_to(secret)
    (stage.home / "basic-memory/folder").symlink_to(secret.parent)
    stage.write(".claude/CLAUDE.md", "mine\n")
    (stage.home / ".claude/rules").symlink_to(secret.parent)
    stage.write("shop/.claude/x", "")
    (stage.home / "shop/CLAUDE.md").symlink_to(secret)

    rows = [*stage.run("basic-memory"), *stage.run("claude-code"), *stage.run("claude-code", "shop")]

    left = [row for row in rows if row.state == "left out"]
    assert len(left) == 4
    assert all("links are not followed" in row.reason for row in left)
    assert not any("secret" in path.read_text() for path in stage.copy("").rglob("*.md"))


def test_a_file_that_became_a_link_since_the_preview_is_not_read(stage: Stage) -> None:
    secret = stage.write("secret.md", "green\n")
    rows = stage.plan("basic-memory")
    (stage.home / NOTE).unlink()
    (stage.home / NOTE).symlink_to(secret)

    [row] = carry_out(rows, "basic-memory", stage.workspace, "now")

    assert row.state == "failed"
    assert "symbolic link" in row.reason
    assert not stage.copy(COPY).exists()


def test_a_folder_that_became_a_link_since_the_preview_is_not_gone_through(stage: Stage) -> None:
    stage.write(".claude/rules/api.md", "rule\n")
    rows = stage.plan("claude-code")
    (stage.home / ".claude/rules").rename(stage.home / "elsewhere")
    (stage.home / ".claude/rules").symlink_to(stage.home / "elsewhere")

    [row] = carry_out(rows, "claude-code", stage.workspace, "now")

    assert row.state == "failed"
    assert "symbolic link" in row.reason
    assert not stage.copy("claude-code").exists()


def test_what_changed_since_the_preview_is_not_written(stage: Stage) -> None:
    rows = stage.plan("basic-memory")
    stage.write(NOTE, "black\n")

    [row] = carry_out(rows, "basic-memory", stage.workspace, "now")

    assert (row.state, row.reason) == ("failed", "the source has changed since; import again")
    assert not stage.copy(COPY).exists()


def test_an_edit_since_the_preview_is_not_overwritten(stage: Stage) -> None:
    stage.run("basic-memory")
    stage.write(NOTE, "black\n")
    rows = stage.plan("basic-memory")
    stage.copy(COPY).write_text("mine\n")

    [row] = carry_out(rows, "basic-memory", stage.workspace, "now")

    assert row.state == "failed"
    assert "meanwhile" in row.reason
    assert stage.copy(COPY).read_text() == "mine\n"


def test_a_file_that_took_the_name_since_the_preview_stays(stage: Stage) -> None:
    rows = stage.plan("basic-memory")
    stage.write(f"workspace/memory/imported/{COPY}", "mine\n")

    [row] = carry_out(rows, "basic-memory", stage.workspace, "now")

    assert row.state == "failed"
    assert stage.copy(COPY).read_text() == "mine\n"


def test_the_agents_own_workspace_is_never_a_source(stage: Stage) -> None:
    stage.write("workspace/memory/notes.md", "mine\n")

    rows = [*stage.plan("basic-memory", "workspace"), *stage.plan("basic-memory", "workspace/memory")]

    assert {row.reason for row in rows} == {"it lies in the agent's own workspace"}


def test_too_many_files_are_a_wrong_folder(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_FILES", 1)
    stage.write("basic-memory/other.md")

    with pytest.raises(BadParamsError, match="2 Markdown files"):
        stage.plan("basic-memory")


EDITS = st.lists(st.sampled_from(["import", "source", "copy", "delete copy", "delete source"]), max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_whatever_happens_an_edit_is_never_lost_and_no_source_changes(
    tmp_path_factory: pytest.TempPathFactory, edits: list[str]
) -> None:
    stage = Stage(tmp_path_factory.mktemp("home"))
    source, copy = stage.write(NOTE, "0\n"), stage.copy(COPY)
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
            stage.run("basic-memory")
            assert (source.read_text() if source.exists() else None) == written
            if "edit" in held:
                assert copy.read_text() == held
            elif written is not None:
                assert body(copy) == written
