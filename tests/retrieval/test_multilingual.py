"""Notes and questions in ten languages, found by their words alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from tests.support.retrieval import Asked, load_set, recall, serving

LEAST_MEAN = 0.95
"""Of all questions together."""

LEAST_OF_A_GROUP = 0.88
"""Of each group: no language may pay for the others."""


def test_every_language_is_found_by_its_words() -> None:
    # given a workspace in ten languages and no vectors
    asked = load_set("multilingual")

    # when everything is asked
    with serving("multilingual", {"provider": "none"}) as client:
        found = {each: recall(each, client.search(each.query)) for each in asked}

    # then nearly all answers lie in the first hits, in each language
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for each, value in found.items():
        groups[each.group].append(value)
    poor = [group for group, values in groups.items() if fmean(values) < LEAST_OF_A_GROUP]
    assert fmean(found.values()) >= LEAST_MEAN, _report(found)
    assert not poor, _report(found)


def _report(found: Mapping[Asked, float]) -> str:
    """Return the figure of each group and the questions whose answers weren't all seen."""
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
