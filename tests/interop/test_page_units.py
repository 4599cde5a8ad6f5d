"""The page shows counts, sizes and durations as the command line does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from memd.cli.wording import about, ago, count, percent, rough, size, span
from tests.support.node import run_node
from tests.support.tree import DAEMON

FORMAT = DAEMON / "page" / "static" / "js" / "format.js"
NOW_MS = 10**12

CALLED_FROM_NODE = """
import * as format from FORMAT;
const ago = (age) => format.ago(age === null ? null : NOW, NOW + (age ?? 0));
const shown = {...format, ago, counted: (number, noun) => format.counted(number, noun)};
const calls = JSON.parse(process.argv[2]);
const results = Object.entries(calls).map(([name, rows]) => [name, rows.map((row) => shown[name](...row))]);
console.log(JSON.stringify(Object.fromEntries(results)));
"""

ON_THE_COMMAND_LINE: dict[str, Callable[..., str]] = {
    "size": size,
    "count": "{:,}".format,
    "counted": count,
    "rough": rough,
    "span": span,
    "ago": lambda age_ms: ago(None if age_ms is None else NOW_MS, NOW_MS + (age_ms or 0)),
    "percent": percent,
    "about": about,
}

AMOUNTS = sorted(
    {math.floor(1.07**power) for power in range(500)}
    | {edge + step for edge in (10**3, 10**6, 10**9, 10**12, 60_000, 3_600_000) for step in (-1, 0, 1)}
    | {1250, 12_250, 122_500, 123_500, 60_500, 90_000, 125_000, 2_500, 999_500, 9_995_000, 99_950_000}
)
"""Whole numbers over all units, those at a change of units, and ties of rounding."""

VALUES: dict[str, list[list[Any]]] = {
    "size": [[amount] for amount in AMOUNTS if amount < 10**15],
    "count": [[amount] for amount in AMOUNTS if amount < 2**53],
    "counted": [[0, "file"], [1, "file"], [1300, "file"]],
    "rough": [[amount] for amount in AMOUNTS if amount < 10**15],
    "span": [[amount / 4] for amount in range(60)] + [[amount] for amount in AMOUNTS if amount < 10**13],
    "ago": [[None], [-5], *([amount] for amount in AMOUNTS if amount < 10**12)],
    "percent": [[0, 0], [4, 3]] + [[done, 365] for done in range(366)],
    "about": [[amount] for amount in AMOUNTS if amount < 10**13],
}


@pytest.fixture(scope="module")
def on_the_page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return what the page's functions make of `VALUES`."""
    folder = tmp_path_factory.mktemp("units")
    script = folder / "call.mjs"
    script.write_text(
        CALLED_FROM_NODE.replace("FORMAT", json.dumps(FORMAT.as_uri())).replace("NOW", str(NOW_MS))
    )
    done = run_node([script, json.dumps(VALUES)], cwd=folder)
    assert done.returncode == 0, done.stderr
    results: dict[str, list[str]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("unit", sorted(VALUES))
def test_the_page_and_the_command_line_show_the_same(unit: str, on_the_page: dict[str, list[str]]) -> None:
    shown = [ON_THE_COMMAND_LINE[unit](*values) for values in VALUES[unit]]

    assert dict(zip(map(str, VALUES[unit]), on_the_page[unit], strict=True)) == dict(
        zip(map(str, VALUES[unit]), shown, strict=True)
    )
