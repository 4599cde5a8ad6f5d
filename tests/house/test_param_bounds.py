"""Every text and every list that a request may carry has a bound, and the page of requests says it."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
import pytest

from memd.rpc.params import BOUNDS, COMMON, Bound, bound_of, decode_params
from memd_client.errors import BadParamsError
from memd_client.messages import REQUESTS
from tests.support.tree import ROOT

SCALARS = {int, float, bool, type(None)}


def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _kinds(hint: Any) -> set[Any]:
    """Return the possible types of a parameter, without their arguments."""
    members = getattr(hint, "__args__", None) if type(hint).__name__ == "UnionType" else None
    return {getattr(each, "__origin__", each) for each in (members or (hint,))}


GROWING = [
    (request, field)
    for request, (params, _) in REQUESTS.items()
    for field, hint in _hints(params).items()
    if not _kinds(hint) <= SCALARS
]
"""Parameters of variable size."""


def test_parameters_of_variable_size_are_found() -> None:
    assert ("search", "query") in GROWING
    assert ("search", "sources") in GROWING
    assert ("memory_store", "vector") in GROWING
    assert ("call_tool", "arguments") in GROWING
    assert ("search", "max_results") not in GROWING


def test_every_text_and_list_parameter_has_a_bound() -> None:
    assert [f"{request}.{field}" for request, field in GROWING if bound_of(request, field) is None] == []


def test_bounds_table_names_only_existing_parameters() -> None:
    own = {(request, field) for request, fields in BOUNDS.items() for field in fields}
    assert own - set(GROWING) == set()
    assert set(COMMON) - {field for _, field in GROWING} == set()


def test_list_parameter_has_a_bound_on_its_items() -> None:
    hints = {each: _hints(REQUESTS[each[0]][0])[each[1]] for each in GROWING}
    lists = [each for each, hint in hints.items() if _kinds(hint) & {list, Any}]
    assert [each for each in lists if (bound_of(*each) or Bound(0)).items == 0] == []


def _too_long(request: str, field: str, bound: Bound) -> Any:
    """Return a value that exceeds the bound of a parameter by one."""
    hint = _hints(REQUESTS[request][0])[field]
    for value in ("x" * (bound.chars + 1), b"x" * (bound.chars + 1)):
        try:
            return msgspec.convert(value, hint, strict=True)
        except msgspec.ValidationError:
            continue
    if field == "messages":
        return [{"role": "user", "content": "x" * bound.chars}]
    return ["x" * bound.chars, "x"]


@pytest.mark.parametrize(("request_name", "field"), GROWING, ids=".".join)
def test_parameter_beyond_its_bound_is_refused_by_name_and_limit(request_name: str, field: str) -> None:
    bound = bound_of(request_name, field)
    assert bound is not None

    with pytest.raises(
        BadParamsError, match=f"^{request_name}: `{field}` must .* at most {bound.chars} "
    ) as raised:
        decode_params(request_name, {field: _too_long(request_name, field, bound)})

    assert raised.value.data["field"] == field


def test_list_with_more_values_than_its_bound_is_refused() -> None:
    with pytest.raises(BadParamsError, match="`sources` must hold at most 64 values"):
        decode_params("search", {"query": "x", "sources": ["m"] * 65})
    with pytest.raises(BadParamsError, match="`arguments` must hold at most 1000 values"):
        decode_params("call_tool", {"name": "memory_search", "arguments": {"query": [{"a": 1}] * 600}})


@pytest.mark.parametrize(("request_name", "field"), GROWING, ids=".".join)
def test_the_page_of_requests_says_each_bound(request_name: str, field: str) -> None:
    page = (ROOT / "docs" / "requests.md").read_text()
    section = page.split(f"\n## {request_name}\n")[1].split("\nReply:\n")[0]
    row = next(each for each in section.splitlines() if each.startswith(f"| `{field}` |"))

    bound = bound_of(request_name, field)
    assert bound is not None
    assert f" {bound.chars:,} " in row
    assert not bound.items or f" {bound.items:,} values" in row
