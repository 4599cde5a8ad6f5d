"""Long tables of cases: some of them in each run of the tests, all with `--long`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases of a test; all but each `step`-th are long.

    A case is a value, or a tuple for several parameters.
    """
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        if at % step
        else case
        for at, case in enumerate(cases)
    ]
