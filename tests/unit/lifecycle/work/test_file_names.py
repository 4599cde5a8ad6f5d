"""Which paths are one file: worktrees, clones, links, and earlier names of git and of commands."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memd.index.transcripts import SessionFacts
from memd.lifecycle.work.file_names import (
    committed,
    is_same_file,
    locate,
    moves_in,
    names_by_git,
    source_of,
)
from tests.support.work_rows import Repo, prose


def facts_of(folder: Path, project: Path | None = None) -> SessionFacts:
    return SessionFacts(cwd=str(folder), project=str(project or folder))


def inner_names(path: Path) -> list[str]:
    return [name.inner for name in names_by_git(locate(str(path)))]


def test_names_follow_a_chain_of_renames_with_spaces_and_other_scripts(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("a b.py", prose("queue"))
    repo.commit()
    for source, target in (
        ("a b.py", "очередь.py"),
        ("очередь.py", "src/Jobs.py"),
        ("src/Jobs.py", "src/jobs.py"),
    ):
        repo.write(target, "").unlink()
        repo.git("mv", source, target)
        repo.commit()
    assert inner_names(repo.root / "src/jobs.py") == ["src/jobs.py", "src/Jobs.py", "очередь.py", "a b.py"]
    repo.git("rm", "-q", "src/jobs.py")
    repo.commit()
    assert inner_names(repo.root / "src/jobs.py")[-1] == "a b.py", "it is gone, its history isn't"


def test_copy_has_not_the_names_of_its_original(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.write("old.py", prose("queue"))
    repo.commit()
    repo.git("mv", "old.py", "new.py")
    repo.commit()
    repo.write("copy.py", prose("queue"))
    repo.commit()
    assert inner_names(tmp_path / "copy.py") == ["copy.py"]


def test_name_that_another_file_has_since_is_bounded_in_time(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.write("main.py", prose("first"))
    repo.commit()
    repo.git("mv", "main.py", "server.py")
    moved = repo.commit()
    repo.write("main.py", prose("second"))
    second = repo.commit()

    server, main = names_by_git(locate(str(tmp_path / "server.py")))

    assert server.inner == "server.py"
    assert moved <= main.until_ms < second
    assert server.until_ms == 0


def test_file_in_a_worktree_and_in_a_clone_is_the_same_and_in_a_fork_of_a_template_is_not(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "shop")
    file = repo.write("src/main.go", prose("shop"))
    repo.commit()
    worktree, clone, fork = tmp_path / "shop-fix", tmp_path / "elsewhere" / "shop2", tmp_path / "blog"
    repo.git("worktree", "add", "-q", str(worktree))
    for folder in (clone, fork):
        repo.git("clone", "-q", str(repo.root), str(folder))
    Repo(fork).git("remote", "set-url", "origin", "git@git.test:eva/blog.git")
    other = Repo(tmp_path / "other")
    other.write("src/main.go", prose("other"))
    other.commit()

    def is_same(root: Path, path: str = "src/main.go") -> bool:
        return is_same_file(str(root / path), locate(str(file)), facts_of(root))

    assert is_same(repo.root)
    assert is_same(worktree)
    assert is_same(clone)
    assert not is_same(fork)
    assert not is_same(other.root)
    assert not is_same(repo.root, "cmd/main.go")
    repo.write("vendor/lib/src/main.go", prose("lib"))
    assert not is_same(repo.root / "vendor" / "lib"), "a folder that is not a worktree"


def test_file_in_a_worktree_that_is_gone_is_the_same_if_the_session_was_at_its_root(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    file = repo.write("src/main.go", prose("shop"))
    repo.commit()
    for gone in (repo.root / ".trees" / "fix", tmp_path / "shop-fix"):
        path = str(gone / "src/main.go")
        assert is_same_file(path, locate(str(file)), facts_of(gone, repo.root))
        assert not is_same_file(path, locate(str(file)), facts_of(gone, tmp_path / "blog"))


def test_link_is_the_file_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "real.txt"
    file.write_text("x")
    (tmp_path / "link.txt").symlink_to(file)
    assert is_same_file(str(tmp_path / "link.txt"), locate(str(file)), SessionFacts())
    assert is_same_file(str(file), locate(str(tmp_path / "link.txt")), SessionFacts())
    assert not is_same_file(str(tmp_path / "other.txt"), locate(str(file)), SessionFacts())


def test_committed_line_has_the_times_of_its_commit_and_of_the_one_before(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    file = repo.write("a.py", "one\ntwo\nthree\n")
    repo.commit()
    repo.write("a.py", "one\nTWO\nthree\n")
    second = repo.commit()
    repo.write("a.py", "zero\none\nTWO\nthree\n")
    third = repo.commit()
    repo.write("a.py", "# new\nzero\none\nTWO\nthree\n")

    assert committed(locate(str(file)), "TWO", 4) == (second - 86_400_000, second)
    assert committed(locate(str(file)), "zero", 2) == (second, third)
    assert committed(locate(str(file)), "# new", 1) == (0, 0)


def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    file = repo.write("a.py", prose("a"))
    repo.write(".gitattributes", "* diff=evil filter=evil\n")
    repo.commit()
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "diff.evil.textconv", "filter.evil.clean", "core.pager"):
        repo.git("config", name, str(script))
    repo.git("config", "log.showSignature", "true")
    repo.git("config", "gpg.program", str(script))
    ran.unlink(missing_ok=True)

    assert names_by_git(locate(str(file)))
    assert committed(locate(str(file)), "a line 3 of the a file", 4)[1]
    assert not ran.exists()


def test_file_outside_of_git_has_its_own_name_and_a_broken_repository_does_no_harm(tmp_path: Path) -> None:
    assert [name.path for name in names_by_git(locate(str(tmp_path / "a.py")))] == [str(tmp_path / "a.py")]
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("f" * 40)
    assert [name.path for name in names_by_git(locate(str(tmp_path / "a.py")))] == [str(tmp_path / "a.py")]
    assert committed(locate(str(tmp_path / "a.py")), "x", 1) == (0, 0)
    assert locate("/tmp/\0bad").path == "/tmp/bad"


def test_history_is_read_again_after_a_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.write("a.py", prose("a"))
    repo.commit()
    assert inner_names(tmp_path / "b.py") == ["b.py"]
    repo.git("mv", "a.py", "b.py")
    repo.commit()
    assert inner_names(tmp_path / "b.py") == ["b.py", "a.py"]
    shutil.rmtree(tmp_path / ".git")
    assert inner_names(tmp_path / "b.py")[1:] == []


@pytest.mark.parametrize(
    ("line", "moves"),
    [
        ("git mv a.py b.py", [("/p/a.py", "/p/b.py")]),
        ("mv -v 'a b.py' src/", [("/p/a b.py", "/p/src")]),
        ("cd sub && mv a.py b.py; ls", [("/p/sub/a.py", "/p/sub/b.py")]),
        ("mkdir x\ngit mv -k a.py b.py x", [("/p/a.py", "/p/x"), ("/p/b.py", "/p/x")]),
        ("echo mv a b", []),
        ("mv a", []),
        ("mv 'a", []),
    ],
)
def test_moves_of_a_command_line(line: str, moves: list[tuple[str, str]]) -> None:
    assert list(moves_in(line, "/p")) == moves
    assert list(moves_in(line, "")) == []


def test_source_of_a_path_depends_on_whether_the_target_is_a_folder() -> None:
    assert source_of("/p/b.py", "/p/a.py", "/p/b.py") == "/p/a.py"
    assert source_of("/p/src/a.py", "/p/a.py", "/p/src") == "/p/a.py"
    assert source_of("/p/lib/x/a.py", "/p/src", "/p/lib") == "/p/src/x/a.py"
    assert source_of("/p/lib/src/a.py", "/p/src", "/p/lib") == "/p/src/a.py"
    assert source_of("/p/library/a.py", "/p/src", "/p/lib") == ""
    assert os.path.isabs(source_of("/p/b", "/p/a", "/p/b"))
