"""Work: rows of commands and files, beside the conversations and never mixed with them."""

from __future__ import annotations

from memd.index.connection import Database
from memd.index.database import transaction
from memd.index.files import forget_file
from memd.index.keyword import find_keyword
from memd.index.transcripts import SessionFacts, StoredTranscript, store_transcript
from memd.index.work import (
    WorkCounts,
    WorkRow,
    WorkScope,
    choose_work,
    count_work,
    find_by_error,
    find_failures,
    find_work,
    find_work_sources,
    has_work,
    load_steps,
    store_work,
)
from tests.support.indexes import new_index, publish


def ran(line: str, status: str = "ok", *, error: str = "", output: str = "", at: int = 1) -> WorkRow:
    digest = hash((line, status, error, output, at))
    return WorkRow(at, at * 1000, "ran", status, None, "/p", line, line, error, line, output, digest)


def edited(path: str, new: str = "", *, at: int = 1) -> WorkRow:
    name = path.rpartition("/")[2]
    return WorkRow(at, at * 1000, "edited", "ok", None, "", path, name, "", new, "", hash((path, new, at)))


def with_session(db: Database, path: str, rows: list[WorkRow], project: str = "/p") -> None:
    """Index a conversation with work."""
    source, _, session = path.partition("/")
    publish(db, path, ["User: go on"], source=source)
    with transaction(db):
        facts = SessionFacts(source, session, project=project)
        store_transcript(db, path, StoredTranscript([1], facts=facts))
        store_work(db, path, rows)


def test_rows_at_the_beginning_of_a_session_keep_their_ids_when_it_grows() -> None:
    db = new_index(extension=False)
    with_session(db, "codex/a", [ran("make", "unknown"), ran("make test")])
    first, second = load_steps(db, "codex/a")
    with transaction(db):
        store_work(db, "codex/a", [ran("make", "unknown"), ran("make test", "failed"), edited("/p/a.c")])
    steps = load_steps(db, "codex/a")
    assert [step.subject for step in steps] == ["make", "make test", "/p/a.c"]
    assert steps[0].id == first.id
    assert steps[1].status == "failed"
    assert [step.id for step in steps] == sorted(step.id for step in steps)
    assert [row.subject for row, _ in find_work(db, "test", 9)] == ["make test"]
    assert second.status == "ok"


def test_work_is_found_by_its_own_search_and_never_by_that_of_conversations() -> None:
    db = new_index(extension=False)
    with_session(
        db, "codex/a", [ran("cargo build --release"), edited("/p/src/queue.rs", "let retryDelay = 3;")]
    )
    assert find_keyword(db, "cargo", 9) == []
    assert [row.action for row, _ in find_work(db, "cargo", 9)] == ["ran"]
    assert [row.subject for row, _ in find_work(db, "queue", 9)] == ["/p/src/queue.rs"]
    assert [row.subject for row, _ in find_work(db, "retry AND delay", 9)] == ["/p/src/queue.rs"]


def test_filters_of_work_leave_out_other_projects_sessions_actions_and_times() -> None:
    db = new_index(extension=False)
    with_session(db, "codex/a", [ran("make", at=1), edited("/p/make.c", at=2)])
    with_session(db, "gemini/b", [ran("make all", at=3)], project="/home/eva/shop")

    def found(**filters: object) -> list[str]:
        return sorted(row.subject for row, _ in find_work(db, "make", 9, WorkScope(**filters)))  # type: ignore[arg-type]

    assert found() == ["/p/make.c", "make", "make all"]
    assert found(actions=("ran",)) == ["make", "make all"]
    assert found(project="shop") == ["make all"]
    assert found(sources=("codex",)) == ["/p/make.c", "make"]
    assert found(except_session="a") == ["make all"]
    assert found(since_ms=2000, until_ms=3000) == ["/p/make.c"]
    assert found(statuses=("failed",)) == []
    assert has_work(db, "shop")
    assert not has_work(db, "elsewhere")


def test_failures_are_found_by_their_error_and_listed_once_for_each_error() -> None:
    db = new_index(extension=False)
    with_session(db, "codex/a", [ran("make", "failed", error="e1", output="no rule", at=1), ran("ls")])
    with_session(db, "codex/b", [ran("make", "failed", error="e1", output="no rule", at=5)])
    assert [row.path for row in find_by_error(db, "e1", 9)] == ["codex/b", "codex/a"]
    assert find_by_error(db, "", 9) == []
    assert [row.path for row in find_failures(db, 9)] == ["codex/b"]


def test_work_is_deleted_with_its_conversation_and_with_the_setting_of_its_source() -> None:
    db = new_index(extension=False)
    with transaction(db):
        choose_work(db, ["codex", "gemini"])
    with_session(db, "codex/a", [ran("make")])
    with_session(db, "gemini/b", [ran("make"), edited("/p/a.c")])
    with transaction(db):
        forget_file(db, "codex/a")
    assert count_work(db) == {"gemini": WorkCounts(1, 1, 4)}
    with transaction(db):
        choose_work(db, ["codex"])
    assert find_work_sources(db) == ["codex"]
    assert count_work(db) == {}
    assert find_work(db, "make", 9) == []
    with transaction(db):
        choose_work(db, ["codex", "gemini"])
    assert db.execute("SELECT hash FROM files WHERE path = 'gemini/b'").get == ""
