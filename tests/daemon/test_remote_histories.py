"""Histories of several machines with the same memory: purged, rewritten, and apart from the user's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memd_client.errors import BadParamsError, RemoteRewrittenError
from tests.support.machines import connect, git_in, machines, settle
from tests.support.sampling import one_in

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def all_contents(directory: Path) -> str:
    """Return every object of a repository as text."""
    return git_in(directory, "cat-file", "--batch-all-objects", "--batch", "--buffer")


def test_purge_removes_a_secret_from_the_history_everywhere() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("memory/keys.md", "the password is correct-horse\n")
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)
        laptop.note("memory/keys.md", "the password is in the vault\n")
        settle([laptop, server])
        server.append("MEMORY.md", "not sent yet\n")

        commits = laptop.remote("purge", path="memory/keys.md").commits
        settle([laptop, server])

        assert commits == 3
        for directory in (laptop.repository(), server.repository()):
            contents = all_contents(directory)
            assert "correct-horse" not in contents
            assert "in the vault" in contents
        hub.git("reflog", "expire", "--expire=now", "--all")
        hub.git("gc", "--quiet", "--prune=now")
        assert "correct-horse" not in all_contents(hub.path)
        assert laptop.text("MEMORY.md") == "first\nnot sent yet\n"
        assert server.text("memory/keys.md") == "the password is in the vault\n"


def test_purge_removes_earlier_names_and_copies_of_a_note() -> None:
    with machines(1) as ([laptop], hub):
        body = "".join(f"line {number}\n" for number in range(20))
        laptop.note("memory/keys.md", f"{body}the password is correct-horse\n")
        laptop.note("memory/keys-2026-03-05.md", "kept\n")
        laptop.remote("add", url=hub.url)
        laptop.note("memory/copy.md", laptop.text("memory/keys.md"))
        laptop.remote("sync")
        (laptop.workspace / "memory/keys.md").rename(laptop.workspace / "memory/codes.md")
        laptop.append("memory/codes.md", "renamed\n")
        laptop.remote("sync")
        laptop.note("memory/codes.md", f"{body}the password is in the vault\n")
        laptop.remote("sync")

        with pytest.raises(BadParamsError, match=r"'memory/copy.md' still has an earlier content"):
            laptop.remote("purge", path="memory/codes.md")
        laptop.note("memory/copy.md", "nothing\n")
        purged = laptop.remote("purge", path="memory/codes.md").purged

        assert purged == ["memory/codes.md", "memory/copy.md", "memory/keys.md"]
        assert "correct-horse" not in all_contents(laptop.repository())
        hub.git("reflog", "expire", "--expire=now", "--all")
        hub.git("gc", "--quiet", "--prune=now")
        assert "correct-horse" not in all_contents(hub.path)
        assert sorted(laptop.files()) == ["memory/codes.md", "memory/copy.md", "memory/keys-2026-03-05.md"]


@pytest.mark.parametrize("count", one_in(2, [2_000, 30_000]))
def test_purge_of_a_folder_forgets_all_machines_and_no_match_is_an_error(count: int) -> None:
    with machines(1) as ([laptop], hub):
        for name in ("a", "b"):
            laptop.note(f"memory/doors/{name}.md", f"the code is correct-horse-{name}\n")
        laptop.note("memory/doors-2.md", "the code of the shed\n")
        laptop.remote("add", url=hub.url)
        for name in ("a", "b"):
            laptop.note(f"memory/doors/{name}.md", "the code is in the vault\n")
        laptop.note("memory/doors-2.md", "changed\n")
        laptop.remote("sync")
        tip = hub.git("rev-parse", "memd/main")
        names = (f"refs/memd/main/machines/{'z' * 50}{number:06}" for number in range(count))
        hub.git("pack-refs", "--all")
        with (hub.path / "packed-refs").open("a") as packed:
            packed.writelines(f"{tip} {name}\n" for name in names)

        for path in ("memory/door", "memory/doors/c.md", "."):
            with pytest.raises(BadParamsError, match="the history has no file or folder"):
                laptop.remote("purge", path=path)
        purged = laptop.remote("purge", path="memory/doors/").purged

        assert purged == ["memory/doors/a.md", "memory/doors/b.md"]
        assert "correct-horse" not in all_contents(laptop.repository())
        assert "the code of the shed" in all_contents(laptop.repository())
        assert len(hub.git("for-each-ref").splitlines()) == 3


def test_rewritten_history_is_refused_and_taken_over_without_losing_what_was_not_sent() -> None:
    with machines(2) as ((laptop, server), hub):
        laptop.note("MEMORY.md", "first\n")
        connect([laptop, server], hub.url)
        laptop.append("MEMORY.md", "second\n")
        settle([laptop, server])
        hub.git("update-ref", "refs/heads/memd/main", "refs/heads/memd/main~1")
        server.note("memory/unsent.md", "written here\n")
        before = server.files()

        with pytest.raises(RemoteRewrittenError, match="was rewritten"):
            server.remote("sync")
        assert server.files() == before
        assert server.status().state == "refused"
        server.remote("sync", accept_rewrite=True)

        assert server.text("memory/unsent.md") == "written here\n"
        assert server.text("MEMORY.md") == "first\n"
        assert server.status().state == "ok"


def test_the_users_own_repository_in_the_workspace_is_not_touched(tmp_path: Path) -> None:
    with machines(1) as ([laptop], hub):
        laptop.note("MEMORY.md", "first\n")
        own = laptop.workspace / ".git"
        git_in(own, "init", "--quiet", str(laptop.workspace))
        (own / "index.lock").write_text("")
        before = {
            path: (path.read_bytes() if path.is_file() else b"", os.stat(path).st_mtime_ns)
            for path in sorted(own.rglob("*"))
        }

        laptop.remote("add", url=hub.url)
        laptop.append("MEMORY.md", "second\n")
        laptop.remote("sync")
        laptop.remote("purge", path="MEMORY.md")
        laptop.remote("remove")

        after = {
            path: (path.read_bytes() if path.is_file() else b"", os.stat(path).st_mtime_ns)
            for path in sorted(own.rglob("*"))
        }
        assert after == before
