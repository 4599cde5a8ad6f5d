"""model: made ready on disk, with progress."""

from __future__ import annotations

from typing import Any

import pytest

from memd.rpc.methods import model
from memd_client.errors import BadParamsError
from memd_client.messages import ModelParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_file_is_told_and_progress_on_the_way() -> None:
    told: list[tuple[Any, ...]] = []
    assert run(model.handle(call_of(told=told), ModelParams(ref="minilm"))).path == "/models/minilm"
    assert told == [("download", 5, 10, "minilm")]


def test_an_empty_reference_is_named() -> None:
    with pytest.raises(BadParamsError, match="`ref`"):
        run(model.handle(call_of(), ModelParams(ref="  ")))
