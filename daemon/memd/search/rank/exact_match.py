"""What outweighs likeness: the days a question names, and the very names that stand in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from memd.search.rank.fusion import Ranked, best_first, with_score

DAY_SHARE = 0.35
"""What being of a day that was asked for counts, of the whole score. A note of another day may still be first where
it alone has to do with the rest of the question."""

MOST_GUESSED = 0.9
"""Highest score of a candidate without the very name that was asked for, where others have it."""


def prefer_days(items: Iterable[Ranked], asked: Collection[str | int]) -> list[Ranked]:
    """Move candidates of the days a question names up."""
    listed = list(items)
    if not asked:
        return best_first(listed)
    return best_first(
        with_score(item, (1 - DAY_SHARE) * item.score + DAY_SHARE * (item.id in asked)) for item in listed
    )


def put_exact_first(items: Sequence[Ranked], held: Mapping[str | int, int]) -> list[Ranked]:
    """Put candidates that hold the very names of a question before all others, those with more of them first."""
    most = max((held.get(item.id, 0) for item in items), default=0)
    if most == 0:
        return best_first(items)
    top = max((item.score for item in items if not held.get(item.id, 0)), default=0.0)
    shrink = min(1.0, MOST_GUESSED / top) if top > 0 else 1.0

    def placed(item: Ranked) -> float:
        count = held.get(item.id, 0)
        if count == 0:
            return min(MOST_GUESSED, item.score * shrink)
        return MOST_GUESSED + (1 - MOST_GUESSED) * (count - 1 + item.score) / most

    # By group, not by the new score: the worst of one group and the best of the next may have the same.
    ordered = sorted(best_first(items), key=lambda item: -held.get(item.id, 0))
    return [with_score(item, placed(item)) for item in ordered]
