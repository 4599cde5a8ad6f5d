"""Records are dataclasses to whoever uses them: made, compared, copied, and never changed."""

from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, dataclass, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd_client.record import field, record


@record
class Made:
    """A record."""

    name: str
    size: int = 3
    rows: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plain:
    """The same as a dataclass."""

    name: str
    size: int = 3
    rows: list[str] = dataclasses.field(default_factory=list)


texts = st.text(max_size=5)
arguments = st.one_of(
    st.tuples(texts),
    st.tuples(texts, st.integers()),
    st.tuples(texts, st.integers(), st.lists(texts, max_size=2)),
)


@given(arguments, st.dictionaries(st.sampled_from(["name", "size", "rows", "other"]), st.none(), max_size=3))
def test_it_is_made_and_shown_as_a_dataclass_is(values: tuple[object, ...], named: dict[str, None]) -> None:
    def outcome(kind: type) -> object:
        try:
            made = kind(*values, **named)
        except TypeError:
            return TypeError
        return repr(made).partition("(")[2], [getattr(made, each.name) for each in fields(made)]

    assert outcome(Made) == outcome(Plain)


def test_equal_values_make_equal_records_of_one_kind() -> None:
    assert Made("a", rows=["x"]) == Made("a", 3, ["x"])
    assert Made("a") != Made("b")
    other: object = Plain("a")
    assert Made("a") != other


def test_every_record_has_a_list_of_its_own() -> None:
    assert Made("a").rows is not Made("a").rows


def test_a_copy_differs_in_what_is_named() -> None:
    assert replace(Made("a", 4), size=5) == Made("a", 5)


def test_a_record_is_never_changed() -> None:
    made = Made("a")
    with pytest.raises(FrozenInstanceError):
        made.size = 4  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del made.size
    assert made.size == 3


def test_what_is_missing_is_named() -> None:
    with pytest.raises(TypeError, match="needs name"):
        Made()  # type: ignore[call-arg]
