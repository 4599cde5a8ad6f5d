"""What the log of recalls shows: days, files, and queries without a strong hit."""

from __future__ import annotations

from memd.lifecycle.recalls.recall import Recall, Shown
from memd.lifecycle.usage.report import count_days, count_files, group_unanswered

DAY_US = 86_400 * 1_000_000


def recall(query: str = "port", *shown: Shown, day: int = 1, way: str = "search", **facts: object) -> Recall:
    """Return a recall of a day after 1970-01-01."""
    return Recall(
        id=day * DAY_US, way=way, program=str(facts.get("program", "codex")), query=query, shown=shown,
        used=facts.get("used"),  # type: ignore[arg-type]
    )  # fmt: skip


STRONG, WEAK = Shown("a.md#L3", "main"), Shown("codex/01#L2-L4", "shared", "weak")


def test_recalls_are_counted_by_day_program_and_way() -> None:
    recalls = [
        recall("x", STRONG, used=(0,)),
        recall("x", WEAK, used=()),
        recall("x", day=2),
        recall("x", STRONG, way="mcp"),
    ]

    rows = [
        (row.day, row.way, row.recalls, row.strong, row.judged, row.likely_used)
        for row in count_days(recalls)
    ]

    assert rows == [
        ("1970-01-03", "search", 1, 0, 0, 0),
        ("1970-01-02", "search", 2, 1, 2, 1),
        ("1970-01-02", "mcp", 1, 1, 0, 0),
    ]


def test_a_file_is_counted_once_for_each_recall() -> None:
    again = Shown("a.md#L9-L12", "main")

    files = count_files([recall("x", STRONG, again, WEAK, used=(1, 7)), recall("x", STRONG, day=3)])

    assert list(files) == [("main", "a.md"), ("shared", "codex/01")]
    row = files["main", "a.md"]
    assert (row.recalls, row.likely_used, row.last_ms) == (2, 1, 3 * DAY_US // 1000)


def test_similar_queries_without_a_strong_hit_are_one_row_with_the_newest() -> None:
    recalls = [
        recall("retention policy of backups"),
        recall("port of staging", STRONG),
        recall("what is the retention policy of the backups?", WEAK, day=2, program="claude-code"),
        recall("lunch"),
        recall("prompts ask nothing", way="prompt"),
        recall("typed on the pa", program="memd-page"),
    ]

    first, second = group_unanswered(recalls)

    assert (first.query, first.count) == ("what is the retention policy of the backups?", 2)
    assert (first.programs, first.last_ms) == (["claude-code", "codex"], 2 * DAY_US // 1000)
    assert (second.query, second.count) == ("lunch", 1)


def test_queries_without_a_content_word_are_compared_as_they_are() -> None:
    assert [row.count for row in group_unanswered([recall("?!"), recall("?!"), recall("…")])] == [2, 1]
