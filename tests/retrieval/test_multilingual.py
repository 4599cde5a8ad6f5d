"""Keyword search of notes in ten languages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from tests.support.retrieval import RetrievalQuery, load_queries, recall, serve_set

MIN_MEAN_RECALL = 0.95
"""Minimum mean recall of all queries."""

MIN_GROUP_RECALL = 0.88
"""Minimum recall of each language."""


def test_keyword_search_finds_notes_in_every_language() -> None:
    # given a workspace in ten languages and no vectors
    asked = load_queries("multilingual")

    # when all queries are searched
    with serve_set("multilingual", {"provider": "none"}) as client:
        found = {each: recall(each, client.search(each.query)) for each in asked}

    # then nearly all answers are in the first hits, in each language
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for each, value in found.items():
        groups[each.group].append(value)
    poor = [group for group, values in groups.items() if fmean(values) < MIN_GROUP_RECALL]
    assert fmean(found.values()) >= MIN_MEAN_RECALL, _report(found)
    assert not poor, _report(found)


def _report(found: Mapping[RetrievalQuery, float]) -> str:
    """Return recall by group, and the queries with missing answers."""
    lines = [f"all {fmean(found.values()):.3f}"]
    for group in sorted({each.group for each in found}):
        values = {each: value for each, value in found.items() if each.group == group}
        lines.append(f"{group} {fmean(values.values()):.3f} of {len(values)}")
        lines += [
            f"  {each.id} {value:.2f} {each.query!r} {each.relevant}"
            for each, value in values.items()
            if value < 1
        ]
    return "\n".join(lines)
