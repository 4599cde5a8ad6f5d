"""Work in steps: one alone, and several that take each step one after the other."""

from __future__ import annotations

import pytest

from memd.search.steps import Steps, run_alone, run_in_step


class WentWrongError(Exception):
    """What a step raises here."""


def counting(name: str, steps: int, seen: list[str], fails_at: int | None = None) -> Steps[str]:
    """Note each step; return the name."""
    for step in range(steps):
        seen.append(f"{name}{step}")
        if step == fails_at:
            raise WentWrongError(name)
        yield
    return name


def test_one_alone_takes_all_its_steps() -> None:
    seen = list[str]()
    assert run_alone(counting("a", 3, seen)) == "a"
    assert seen == ["a0", "a1", "a2"]


def test_one_without_steps_has_its_result_too() -> None:
    assert run_alone(counting("a", 0, [])) == "a"


def test_what_one_alone_raises_is_raised() -> None:
    with pytest.raises(WentWrongError):
        run_alone(counting("a", 3, [], fails_at=1))


def test_several_take_each_step_one_after_the_other() -> None:
    seen = list[str]()
    came = run_in_step([counting("a", 2, seen), counting("b", 3, seen), counting("c", 1, seen)])
    assert came == ["a", "b", "c"]
    assert seen == ["a0", "b0", "c0", "a1", "b1", "b2"]


def test_one_that_fails_ends_no_other() -> None:
    seen = list[str]()
    came = run_in_step([counting("a", 2, seen), counting("b", 2, seen, fails_at=0), counting("c", 2, seen)])
    assert came[0] == "a"
    assert isinstance(came[1], WentWrongError)
    assert came[2] == "c"
    assert seen == ["a0", "b0", "c0", "a1", "c1"]


def test_none_at_all_give_nothing() -> None:
    assert run_in_step(list[Steps[str]]()) == []
