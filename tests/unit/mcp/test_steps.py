"""Progress that only grows."""

from __future__ import annotations

from memd.mcp.steps import Steps
from memd_client.messages import Progress


def report(stage: str, done: int, total: int = 0) -> Progress:
    """Return a progress of the daemon."""
    return Progress(id=1, stage=stage, done=done, total=total, detail="")


def test_stages_are_laid_end_to_end() -> None:
    steps = Steps()

    told = [steps.next(report(*each)) for each in (("text", 1, 2), ("text", 2, 2), ("embedding", 3, 4))]

    assert told == [(1, 2, "text"), (2, 2, "text"), (5, 6, "embedding")]


def test_what_is_no_news_is_not_told() -> None:
    steps = Steps()

    assert [steps.next(report("text", done)) for done in (3, 3, 2, 4)] == [
        (3, None, "text"),
        None,
        None,
        (4, None, "text"),
    ]
