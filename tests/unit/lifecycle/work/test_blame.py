"""Which sessions touched a file or one of its lines: from rows of work, and real repositories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memd.agents.agent import Agent
from memd.agents.open_agent import OpenAgent
from memd.index.connection import Database
from memd.index.work import WorkRow
from memd.lifecycle.work.blame import (
    COMMITTED,
    FAR,
    NEAR,
    UNKNOWN,
    WROTE,
    find_in,
    line_distance,
    paths_named,
)
from memd.lifecycle.work.file_names import FileName, locate, names_by_git, with_moves
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd.system.clock import wall_clock_ms
from memd_client.work import BlameParams, FileTouch
from tests.support.agents import config_in
from tests.support.indexes import new_index
from tests.support.work_rows import DAY_S, Repo, prose, ran, touched, with_session

DAY_MS = DAY_S * 1000


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    async def never(config: AgentConfig, failures: int) -> OpenAgent:
        raise AssertionError("the index is read directly")

    return Agent(config_in(tmp_path / "state"), never, daemon=DaemonSettings, clock=wall_clock_ms)


@pytest.fixture
def db() -> Database:
    return new_index(extension=False)


class Blame:
    """Sessions in an index, and questions about their files."""

    def __init__(self, db: Database, agent: Agent) -> None:
        self.db, self.agent = db, agent

    def session(
        self, name: str, cwd: Path, *rows: WorkRow, said: Sequence[str] = (), project: Path | None = None
    ) -> None:
        messages = said or (f"User: please do {name}", f"Assistant: {name} is done")
        with_session(self.db, name, cwd, messages, rows, str(project or cwd))

    def names_of(self, file: Path | str) -> list[FileName]:
        return with_moves(self.db, names_by_git(locate(str(file))))

    def of(self, file: Path | str) -> list[FileTouch]:
        found = find_in(self.db, self.agent, BlameParams(str(file)), self.names_of(file))
        return [touch for *_, touch in found]

    def sessions(self, file: Path | str) -> list[str]:
        return sorted(touch.path.removeprefix("codex/") for touch in self.of(file))

    def names(self, file: Path | str) -> list[str]:
        return [name.inner for name in self.names_of(file)]

    def distances(self, file: Path, line: int) -> dict[str, int]:
        found = find_in(self.db, self.agent, BlameParams(str(file), line), self.names_of(file))
        return {touch.path.removeprefix("codex/"): distance for distance, _, touch in found}


@pytest.fixture
def blame(db: Database, agent: Agent) -> Blame:
    return Blame(db, agent)


def test_sessions_of_equally_named_files_of_other_folders_and_projects_are_not_mixed_up(
    blame: Blame, tmp_path: Path
) -> None:
    shop, blog = Repo(tmp_path / "shop"), Repo(tmp_path / "blog")
    for repo in (shop, blog):
        for folder in ("cmd", "web"):
            repo.write(f"{folder}/main.go", prose(f"{repo.root.name} {folder}"))
        repo.commit()
        for folder in ("cmd", "web"):
            path = repo.root / folder / "main.go"
            blame.session(f"{repo.root.name}-{folder}", repo.root, touched(path))
    assert blame.sessions(shop.root / "web/main.go") == ["shop-web"]
    shop.write("api/main.go", prose("api"))
    assert blame.sessions(shop.root / "api/main.go") == [], "it exists, and nobody touched it"


def test_worktree_and_clone_have_the_sessions_of_the_repository(blame: Blame, tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("src/queue.py", prose("queue"))
    shop.commit()
    worktree, clone = tmp_path / "fix", tmp_path / "work" / "shop"
    shop.git("worktree", "add", "-q", str(worktree))
    shop.git("clone", "-q", str(shop.root), str(clone))
    for name, root in (("main", shop.root), ("worktree", worktree), ("clone", clone)):
        blame.session(name, root, touched(root / "src/queue.py"))
    for root in (shop.root, worktree, clone):
        assert blame.sessions(root / "src/queue.py") == ["clone", "main", "worktree"]


def test_file_is_followed_through_renames_by_git_by_commands_and_by_patches(
    blame: Blame, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("first.py", prose("queue"))
    repo.commit()
    repo.git("mv", "first.py", "second ü.py")
    repo.commit()
    root = repo.root
    blame.session("one", root, touched(root / "first.py", "created"))
    blame.session("two", root, touched(root / "second ü.py"))
    blame.session("move", root, ran("mkdir lib && mv 'second ü.py' lib/third.py", root))
    blame.session("three", root, touched(root / "lib/third.py"))
    steps = (
        touched(root / "lib/third.py"),
        touched(root / "lib/third.py", "deleted"),
        touched(root / "lib/fourth.py", "created"),
    )
    blame.session("patch", root, *steps)
    (root / "lib").mkdir()
    (root / "second ü.py").rename(root / "lib/fourth.py")

    assert blame.sessions(root / "lib/fourth.py") == ["one", "patch", "three", "two"]
    assert blame.names(root / "lib/fourth.py") == [
        "lib/fourth.py",
        "lib/third.py",
        "second ü.py",
        "first.py",
    ]
    (root / "lib/fourth.py").unlink()
    assert blame.sessions(root / "lib/fourth.py") == ["one", "patch", "three", "two"], "also if it is gone"


def test_deleting_one_file_and_creating_another_in_one_patch_is_no_move(blame: Blame, tmp_path: Path) -> None:
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    blame.session("before", tmp_path, touched(old))
    blame.session("patch", tmp_path, touched(old, "deleted"), touched(new, "created"))
    assert blame.sessions(new) == ["patch"]


def test_folder_that_was_renamed_by_a_command_is_followed(blame: Blame, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("lib/core/a.py", prose("a"))
    blame.session("before", repo.root, touched(repo.root / "src/core/a.py"))
    blame.session("move", repo.root, ran("git mv src lib", repo.root))
    assert blame.sessions(repo.root / "lib/core/a.py") == ["before"]


def test_name_that_another_file_has_since_has_only_the_sessions_before(blame: Blame, tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    repo.write("main.py", prose("first"))
    first = repo.commit()
    repo.git("mv", "main.py", "server.py")
    repo.commit()
    repo.write("main.py", prose("second"))
    second = repo.commit()
    blame.session("first", tmp_path, touched(tmp_path / "main.py", time_ms=first - 5_000))
    blame.session("second", tmp_path, touched(tmp_path / "main.py", time_ms=second - 5_000))
    assert blame.sessions(tmp_path / "server.py") == ["first"]


def test_base_name_and_end_of_a_path_name_all_such_files(blame: Blame, tmp_path: Path) -> None:
    shop, blog = str(tmp_path / "shop/src/queue.py"), str(tmp_path / "blog/queue.py")
    blame.session("a", tmp_path / "shop", touched(shop))
    blame.session("b", tmp_path / "blog", touched(blog))
    assert sorted(paths_named(blame.db, "queue.py")) == [blog, shop]
    assert paths_named(blame.db, "src/queue.py") == [shop]
    assert paths_named(blame.db, "ueue.py") == []


def test_failed_and_refused_edits_did_not_touch_the_file(blame: Blame, tmp_path: Path) -> None:
    rows = [touched(tmp_path / "a.py")._replace(status=status) for status in ("failed", "refused")]
    blame.session("tried", tmp_path, *rows)
    assert blame.sessions(tmp_path / "a.py") == []


def test_touch_has_the_request_that_led_to_it_and_what_was_decided_about_the_file(
    blame: Blame, tmp_path: Path
) -> None:
    said = [
        "User: rename the login page",
        "Assistant: We decided to call it the welcome page.",
        "User: the queue loses jobs, please repair that",
        "Assistant: We decided that a lost job is tried three times. Done?",
        "User: yes, go on",
        "Assistant: ok",
        "User: now the colours",
        "Assistant: I'll use green. For queue.py we agreed on no logging.",
    ]
    file = tmp_path / "queue.py"
    steps = (
        touched(tmp_path / "login.html", place=2),
        touched(file, place=10),
        touched(tmp_path / "a.css", place=14),
    )
    blame.session("long", tmp_path, *steps, said=said)
    (touch,) = blame.of(file)
    assert touch.request == "the queue loses jobs, please repair that"
    assert touch.decisions == [
        "We decided that a lost job is tried three times.",
        "For queue.py we agreed on no logging.",
    ]
    assert (touch.actions, touch.start_line) == (["edited"], 10)


def test_line_has_the_session_that_wrote_it_and_not_one_that_only_quoted_it(
    blame: Blame, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    file.write_text("import os\n\nlimit = 30_000\ntimeout = 12\n")
    blame.session("wrote", tmp_path, touched(file, new="limit = 30_000", old="limit = 10"))
    blame.session(
        "quoted",
        tmp_path,
        touched(file, new="limit = 30_000\ntimeout = 12", old="limit = 30_000\ntimeout = 9"),
    )
    blame.session("gone", tmp_path, touched(file, new="something_else()", old="x"))
    assert blame.distances(file, 3) == {"wrote": WROTE, "quoted": NEAR, "gone": NEAR + UNKNOWN}
    assert blame.distances(file, 4)["quoted"] == WROTE
    assert set(blame.distances(file, 99).values()) == {UNKNOWN}, "there is no such line"


def test_line_that_was_changed_otherwise_since_has_the_session_before_its_commit(
    blame: Blame, tmp_path: Path
) -> None:
    repo = Repo(tmp_path)
    file = repo.write("a.py", prose("a"))
    first = repo.commit()
    repo.write("a.py", prose("a") + "limit = 30_000\n")
    second = repo.commit()
    blame.session("first", tmp_path, touched(file, new="x", time_ms=first - 5_000))
    blame.session("second", tmp_path, touched(file, new="y", time_ms=second - 5_000))
    blame.session("later", tmp_path, touched(file, new="z", time_ms=second + 5_000))
    assert blame.distances(file, 31)["second"] == COMMITTED
    assert min(distance for name, distance in blame.distances(file, 31).items() if name != "second") > FAR


def test_distance_of_an_edit_is_that_of_its_nearest_line_and_short_lines_tell_nothing() -> None:
    lines = ["}", "alpha_beta()", "}", "}", "gamma_delta()", "}"]
    assert line_distance(touched("a", new="gamma_delta()\n}"), lines, 5) == WROTE
    assert line_distance(touched("a", new="alpha_beta()"), lines, 5) == NEAR + 3
    assert line_distance(touched("a", new="{\n}"), lines, 5) == NEAR + UNKNOWN
    assert line_distance(touched("a", new="x()\n…\n}\n}\ngamma_delta()"), lines, 4) == WROTE
    assert line_distance(touched("a"), lines, 1) == NEAR + UNKNOWN
