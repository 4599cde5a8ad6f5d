"""Variants of the ranking: each replaces `query` settings, or constants and functions of modules.

A stage of the ranking is removed by its name, so that every stage has a variant without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final

from memd.search.rank.order import STAGES
from memd.search.relevance import Verdict
from memd.search.snippets import BROAD_LENGTHS, MAX_SNIPPET_CHARACTERS, SHARED_LENGTHS, SnippetLengths

LINES: Final = "memd.search.rank.lines"
ORDER: Final = "memd.search.rank.order"
QUERY: Final = "memd.search.query"
SNIPPETS: Final = "memd.search.snippets"

COSINE: Final = f"{ORDER}:COSINE_WEIGHT"
NEIGHBOURS: Final = "memd.search.rank.fusion:NEIGHBOUR_WEIGHT"
FURTHER: Final = "memd.search.rank.stages:FURTHER_WEIGHT"

LINE_WEIGHTS: Final = {
    "the query's words": f"{LINES}:COVERAGE_WEIGHT",
    "the words of a file": f"{LINES}:FILE_COVERAGE_WEIGHT",
    "adjacent words": f"{LINES}:PAIRS_WEIGHT",
    "named speakers": f"{LINES}:NAMED_SPEAKER_WEIGHT",
    "the user's lines": f"{LINES}:USER_WEIGHT",
}


@dataclass(frozen=True)
class RankingVariant:
    """One row of the sweep.

    Attributes:
        name: The name in tables.
        query: `query` settings over the defaults.
        constants: Values of constants and functions by `module:NAME`.
        vectors: Whether the query has a vector.
    """

    name: str
    query: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    vectors: bool = True


def weights(vector: float) -> dict[str, Any]:
    """Return settings with a vector weight; keywords have the rest."""
    return {"hybrid": {"vector_weight": vector, "text_weight": 1 - vector, "weights_set": True}}


def without_stage(name: str) -> RankingVariant:
    """Return the variant without a stage after fusion."""
    left = tuple(stage for stage in STAGES if stage.name != name)
    return RankingVariant(f"without stage {name}", constants={f"{ORDER}:STAGES": left})


def with_lengths(name: str, shared: SnippetLengths, broad: SnippetLengths) -> RankingVariant:
    """Return a variant with other snippet lengths."""
    constants = {f"{SNIPPETS}:SHARED_LENGTHS": shared, f"{SNIPPETS}:BROAD_LENGTHS": broad}
    return RankingVariant(f"snippets: {name}", constants=constants)


def same_lengths(name: str, grow_above: float, trim_below: float) -> RankingVariant:
    """Return a variant in which all snippets have the same length."""
    lengths = SnippetLengths(MAX_SNIPPET_CHARACTERS, grow_above, trim_below)
    return with_lengths(name, lengths, lengths)


def accept_all(*_: object) -> Verdict:
    """Accept every ranking, instead of the relevance check."""
    return Verdict()


SEARCHES: Final = (
    RankingVariant("keywords alone", vectors=False),
    RankingVariant("vectors alone", query={"hybrid": {"enabled": False}}),
    *(RankingVariant(f"vector weight {share}", query=weights(share)) for share in (0.2, 0.5, 0.7)),
    RankingVariant("rrf", query={"hybrid": {"fusion": "rrf"}}),
    RankingVariant("weighted, no minScore", query={"hybrid": {"fusion": "weighted"}, "min_score": 0.0}),
    RankingVariant("weighted, minScore 0.35", query={"hybrid": {"fusion": "weighted"}}),
    *(
        RankingVariant(f"{count} candidates", constants={"memd.search.retrieve:MAX_CANDIDATES": count})
        for count in (50, 200)
    ),
)
"""Other searches and fusions."""

PARSING: Final = (
    RankingVariant("framing kept", constants={f"{QUERY}:without_framing": lambda text: text}),
    RankingVariant("no query is broad", constants={f"{QUERY}:is_broad": lambda text: False}),
    RankingVariant("parts not searched for", constants={f"{QUERY}:split_parts": lambda text: ()}),
    RankingVariant("part weight 0.6", constants={"memd.search.retrieve:PART_WEIGHT": 0.6}),
)
"""Without what is read from the query."""

WEIGHTS: Final = (
    RankingVariant("no neighbours", constants={NEIGHBOURS: 0.0}),
    *(RankingVariant(f"neighbour weight {share}", constants={NEIGHBOURS: share}) for share in (0.2, 0.5)),
    RankingVariant("no lines", constants=dict.fromkeys(LINE_WEIGHTS.values(), 0.0)),
    *(RankingVariant(f"lines without {name}", constants={at: 0.0}) for name, at in LINE_WEIGHTS.items()),
    RankingVariant("no cosine next to lines", constants={COSINE: 0.0}),
    RankingVariant(
        "no lines, no cosine next to them", constants=dict.fromkeys([COSINE, *LINE_WEIGHTS.values()], 0.0)
    ),
    *(
        RankingVariant(f"{count} candidates read", constants={f"{ORDER}:MAX_CANDIDATES_READ": count})
        for count in (16, 64)
    ),
)
"""Without each part of a score, and with more or less of it."""

AFTER_FUSION: Final = (
    *(without_stage(stage.name) for stage in STAGES),
    RankingVariant("mmr 0.7", query={"hybrid": {"mmr": {"enabled": True, "lambda_": 0.7}}}),
    RankingVariant(
        "decay, 30 days", query={"hybrid": {"temporal_decay": {"enabled": True, "half_life_days": 30}}}
    ),
    *(RankingVariant(f"files spread by {share}", constants={FURTHER: share}) for share in (0.94, 0.9)),
    RankingVariant("nothing refused", constants={"memd.search.find:judge_relevance": accept_all}),
)
"""Without each stage after fusion, with those that are off by default, and without the relevance check."""

SNIPPET_LENGTHS: Final = (
    same_lengths("all long", 0.0, 0.0),
    same_lengths("chunks only", math.inf, 0.0),
    same_lengths("matching lines only", math.inf, math.inf),
    with_lengths("broad queries as others", SHARED_LENGTHS, SHARED_LENGTHS),
    *(
        with_lengths(
            f"limit {limit}", replace(SHARED_LENGTHS, limit=limit), replace(BROAD_LENGTHS, limit=limit)
        )
        for limit in (500, MAX_SNIPPET_CHARACTERS)
    ),
    *(
        RankingVariant(f"shown {share}", constants={f"{SNIPPETS}:MAX_SHOWN_SHARE": share})
        for share in (0.25, 0.5)
    ),
)
"""Other snippet lengths. The default's limit is 600."""

DEFAULT: Final = RankingVariant("default")

VARIANTS: Final = (*SEARCHES, *PARSING, *WEIGHTS, *AFTER_FUSION, *SNIPPET_LENGTHS)


@contextmanager
def constants_set(constants: Mapping[str, Any]) -> Iterator[None]:
    """Replace constants and functions of modules (`module:NAME`) inside the block."""
    before = {}
    try:
        for name, value in constants.items():
            module, attribute = name.split(":")
            before[name] = getattr(import_module(module), attribute)
            setattr(import_module(module), attribute, value)
        yield
    finally:
        for name, value in before.items():
            module, attribute = name.split(":")
            setattr(import_module(module), attribute, value)
