"""Every request of the protocol has its method, and the other way round."""

from __future__ import annotations

import inspect
from pkgutil import iter_modules
from typing import get_type_hints

import pytest

from memd.rpc import methods
from memd.rpc.dispatch import error_shape, handler_of
from memd.rpc.params import decode_params
from memd_client.errors import BadParamsError, MemdError
from memd_client.messages import REQUESTS, SearchParams


def test_the_methods_are_those_of_the_protocol() -> None:
    modules = [module.name for module in iter_modules(methods.__path__)]

    assert sorted(modules) == sorted(REQUESTS)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_method_takes_and_returns_the_types_of_its_request(name: str) -> None:
    handler = handler_of(name)
    assert handler.__module__ == f"memd.rpc.methods.{name}"
    assert inspect.iscoroutinefunction(handler)
    hints = get_type_hints(handler)
    assert (hints["params"], hints["return"]) == REQUESTS[name][:2]


def test_numbers_and_none_are_accepted_for_their_parameters() -> None:
    params = decode_params("search", {"query": "x", "min_score": 1, "agent": None})
    assert params == SearchParams(query="x", min_score=1.0)
    with pytest.raises(BadParamsError, match="`max_results`"):
        decode_params("search", {"query": "x", "max_results": 1.5})
    with pytest.raises(BadParamsError, match="`max_results`"):
        decode_params("search", {"query": "x", "max_results": True})


def test_an_error_never_carries_much() -> None:
    shape = error_shape(MemdError("m" * 9999, data={"list": ["x" * 9999], "text": "y" * 9999, "size": 3}))
    assert len(shape["message"]) == 500
    assert len(shape["data"]["list"]) <= 500
    assert len(shape["data"]["text"]) == 500
    assert shape["data"]["size"] == 3
