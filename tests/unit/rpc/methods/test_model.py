"""model: made ready on disk with progress, listed, removed."""

from __future__ import annotations

from typing import Any

import pytest

from memd.rpc.methods import model
from memd_client.errors import BadParamsError
from memd_client.messages import ModelParams
from tests.unit.rpc.methods.calling import call_of, run


def test_a_pull_reports_progress_and_returns_the_file() -> None:
    told: list[tuple[Any, ...]] = []
    assert run(model.handle(call_of(told=told), ModelParams(ref="minilm"))).path == "/models/minilm"
    assert told == [("download", 5, 10, "minilm")]


def test_the_models_on_disk_are_listed_without_a_reference() -> None:
    [row] = run(model.handle(call_of(), ModelParams(action="list"))).models
    assert (row.ref, row.used_by, row.loaded) == ("minilm", ["main"], True)


def test_needs_of_a_model_are_returned_also_without_a_reference() -> None:
    reply = run(model.handle(call_of(), ModelParams(action="info")))
    assert reply.ref == "default"
    assert reply.info is not None
    assert run(model.handle(call_of(), ModelParams("minilm", "info"))).ref == "minilm"


def test_a_model_is_removed_and_force_is_passed_on() -> None:
    assert run(model.handle(call_of(), ModelParams("hf:o/r/m.gguf", "remove"))).ref == "hf:o/r/m.gguf"
    with pytest.raises(BadParamsError, match="main"):
        run(model.handle(call_of(), ModelParams("minilm", "remove")))
    assert run(model.handle(call_of(), ModelParams("minilm", "remove", force=True))).ref == "minilm"


def test_a_removal_needs_a_reference() -> None:
    with pytest.raises(BadParamsError, match="`ref`"):
        run(model.handle(call_of(), ModelParams(" ", "remove", force=True)))
