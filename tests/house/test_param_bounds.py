"""Every text and every list that a request may carry has a bound, and the page of requests says it."""

from __future__ import annotations

from typing import Any

import pytest

from memd.rpc.params import LIMITS, RULES, decode_params
from memd_client.errors import BadParamsError
from memd_client.messages import REQUESTS
from tests.support.record_docs import record_fields
from tests.support.tree import ROOT

GROWING = {
    (request, field.name): field.hint.removesuffix(" | None")
    for request, known in REQUESTS.items()
    for field in record_fields(known.params)
    if not field.hint.startswith(("int", "float", "bool"))
}
"""Parameters of variable size, and their types."""


def _rule(request: str, field: str, name: str) -> int | None:
    """Return a number of `extra` of a parameter's limits."""
    found: int | None = RULES[request].get(field, {}).get(name)
    return found


def _lengths(request: str, field: str) -> list[int]:
    """Return the longest value, and the longest value inside."""
    return [each.max_length for each in LIMITS[request][field] if each.max_length]


def test_parameters_of_variable_size_are_found() -> None:
    assert GROWING["search", "query"] == "str"
    assert GROWING["search", "sources"] == "list[str]"
    assert GROWING["memory_store", "vector"] == "bytes"
    assert GROWING["call_tool", "arguments"] == "Any"
    assert ("search", "max_results") not in GROWING


@pytest.mark.parametrize(("request_name", "field"), GROWING, ids=".".join)
def test_every_text_and_list_has_a_bound(request_name: str, field: str) -> None:
    kind, lengths = GROWING[request_name, field], _lengths(request_name, field)
    if kind == "Any":
        assert _rule(request_name, field, "values")
        assert _rule(request_name, field, "chars")
    elif kind.startswith("list"):
        patterns = [each.pattern for each in LIMITS[request_name][field] if each.pattern]
        assert len(lengths) == 2 or patterns or _rule(request_name, field, "chars")
    else:
        assert lengths


def _too_large(request: str, field: str) -> tuple[Any, str]:
    """Return a value that exceeds the bound of a parameter by one, and what the error says about it."""
    kind, lengths, chars = GROWING[request, field], _lengths(request, field), _rule(request, field, "chars")
    if kind == "Any":
        return "x" * ((chars or 0) + 1), f"at most {chars} characters"
    if kind.startswith("list"):
        return [{} if "dict" in kind else "x"] * (lengths[0] + 1), str(lengths[0])
    return ("x" if kind == "str" else b"x") * (lengths[0] + 1), str(lengths[0])


@pytest.mark.parametrize(("request_name", "field"), GROWING, ids=".".join)
def test_parameter_beyond_its_bound_is_refused_by_name_and_limit(request_name: str, field: str) -> None:
    value, said = _too_large(request_name, field)
    needed = {"call_tool": {"name": "x"}}.get(request_name, {})

    with pytest.raises(BadParamsError, match=f"^{request_name}: `{field}` must ") as raised:
        decode_params(request_name, {**needed, field: value})

    expected = RULES[request_name].get(field, {}).get("expected")
    assert (expected or said) in str(raised.value)
    assert raised.value.data["field"] == field


def test_everything_in_a_list_or_map_together_has_a_bound() -> None:
    with pytest.raises(BadParamsError, match="`arguments` must hold at most 1000 values in all"):
        decode_params("call_tool", {"name": "memory_search", "arguments": {"query": [{"a": 1}] * 600}})
    with pytest.raises(BadParamsError, match="`texts` must hold at most 4000000 characters in all"):
        decode_params("embed", {"texts": ["x" * 2_000_001] * 2})
    with pytest.raises(BadParamsError, match="`include` must have at most 64 characters each"):
        decode_params("tools", {"include": ["x" * 65]})


@pytest.mark.parametrize(("request_name", "field"), GROWING, ids=".".join)
def test_the_page_of_requests_says_each_bound(request_name: str, field: str) -> None:
    page = (ROOT / "docs" / "requests.md").read_text()
    section = page.split(f"\n## {request_name}\n")[1].split("\nReply:\n")[0]
    row = next(each for each in section.splitlines() if each.startswith(f"| `{field}` |"))

    bounds = [*_lengths(request_name, field)[:1], _rule(request_name, field, "chars")]
    assert all(f" {each:,} " in row for each in bounds if each)
