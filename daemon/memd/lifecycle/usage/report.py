"""Recalls by day and program, files that were shown often, and queries without a strong hit. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from memd.lifecycle.recalls.recall import Recall
from memd.text.query.keywords import plan_match
from memd.text.query.word_forms import fold, stem_word
from memd_client.messages import RecallDay, RecalledFile, UnansweredQuery
from memd_client.usage import PAGE_CLIENT

MIN_SHARED_TERMS, MAX_GROUPS = 0.6, 500
"""Share of the terms of two queries that makes them similar, and groups of queries that are compared, newest first."""

NOT_ASKED = ("prompt", "start", "action")
"""Ways without a request: most prompts and commands ask memory for nothing. The page searches while the user types."""


def count_days(recalls: Iterable[Recall]) -> list[RecallDay]:
    """Return the recalls by day, program and way, the newest day first."""
    groups: dict[tuple[str, str, str], list[Recall]] = {}
    for recall in recalls:
        day = datetime.fromtimestamp(recall.time_ms / 1000, UTC).date().isoformat()
        groups.setdefault((day, recall.program, recall.way), []).append(recall)
    rows = [
        RecallDay(
            *key,
            recalls=len(group),
            strong=sum(recall.outcome == "strong" for recall in group),
            judged=sum(recall.used is not None for recall in group),
            likely_used=sum(bool(recall.used) for recall in group),
        )
        for key, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (row.day, row.recalls), reverse=True)


def count_files(recalls: Iterable[Recall]) -> dict[tuple[str, str], RecalledFile]:
    """Return the files that recalls, given oldest first, showed, by agent and path, the most frequent first."""
    shown: Counter[tuple[str, str]] = Counter()
    used: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], int] = {}
    for recall in recalls:
        keys = [(hit.agent, hit.place.rpartition("#L")[0] or hit.place) for hit in recall.shown]
        shown.update(set(keys))
        used.update({keys[at] for at in recall.used or () if at < len(keys)})
        last |= dict.fromkeys(keys, recall.time_ms)
    return {key: RecalledFile(*key, shown[key], used[key], last[key]) for key, _ in shown.most_common()}


def group_unanswered(recalls: Sequence[Recall]) -> list[UnansweredQuery]:
    """Return the queries without a strong hit, similar ones together, the most frequent first."""
    groups: list[tuple[frozenset[str], list[Recall]]] = []
    for recall in reversed(recalls):
        if recall.outcome == "strong" or recall.way in NOT_ASKED or recall.program == PAGE_CLIENT:
            continue
        terms = _terms_of(recall.query)
        group = next((group for others, group in groups if _is_similar(terms, others)), None)
        if group is not None:
            group.append(recall)
        elif len(groups) < MAX_GROUPS:
            groups.append((terms, [recall]))
    rows = [
        UnansweredQuery(
            group[0].query, len(group), list(dict.fromkeys(one.program for one in group)), group[0].time_ms
        )
        for _, group in groups
    ]
    return sorted(rows, key=lambda row: -row.count)


def _terms_of(query: str) -> frozenset[str]:
    """Return what queries are compared by: the stems of their content words."""
    return frozenset(stem_word(fold(word))[0] for word in plan_match(query, ()).words) or frozenset({query})


def _is_similar(terms: frozenset[str], others: frozenset[str]) -> bool:
    return len(terms & others) >= MIN_SHARED_TERMS * len(terms | others)
