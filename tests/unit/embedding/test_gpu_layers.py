"""`local.gpuLayers`, with an engine that was built for a GPU and one that wasn't."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.embedding.local.engine import GpuLayers
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.process import ModelSettings
from memd_client.reports import ModelStatus
from tests.support.engines import GPU, WHEEL, skip_without, write_engine
from tests.support.models import running_owner
from tests.unit.embedding.model_in_use import only

pytestmark = pytest.mark.model

ALL = 0x7FFFFFFF


@pytest.fixture(autouse=True)
def _wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without("xllamacpp")
    monkeypatch.setenv("LOADS", str(tmp_path / "loads"))


async def status_with(minilm: Path, gpu_layers: GpuLayers) -> ModelStatus:
    """Return the status of a model after it embedded a text."""
    async with running_owner(ModelSettings(query_timeout_s=120)) as owner:
        used = owner.acquire(ModelSpec(minilm, "minilm", gpu_layers=gpu_layers), chunk_tokens=400)
        assert (await used.embed("a text", "text")).size == 384
        return only(owner)


@pytest.mark.parametrize(
    ("wanted", "loads", "layers"),
    [
        ("auto", [f"{ALL} devices"], 6),
        (4, ["4 devices"], 4),
        (99, ["99 devices"], 6),
        (0, ["0 no devices"], 0),
    ],
)
async def test_engine_built_for_a_gpu_gets_the_layers_of_the_setting(
    minilm: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: GpuLayers,
    loads: list[str],
    layers: int,
) -> None:
    monkeypatch.setenv("PYTHONPATH", write_engine(tmp_path, GPU)["PYTHONPATH"])

    status = await status_with(minilm, wanted)

    assert (tmp_path / "loads").read_text().splitlines() == loads
    assert (status.has_gpu, status.gpu_layers, status.problem) == (True, layers, "")


@pytest.mark.parametrize("wanted", ["auto", 0, 12])
async def test_engine_without_gpu_support_uses_the_processor_and_says_so_if_layers_are_set(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: GpuLayers
) -> None:
    monkeypatch.setenv("PYTHONPATH", write_engine(tmp_path, WHEEL)["PYTHONPATH"])

    status = await status_with(minilm, wanted)

    assert (status.has_gpu, status.gpu_layers) == (False, 0)
    problem = "llama-cpp-python was built without GPU support: local.gpuLayers = 12 has no effect"
    assert status.problem == (problem if wanted == 12 else "")


async def test_model_that_auto_can_not_load_into_the_gpu_is_loaded_into_ram(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", write_engine(tmp_path, GPU)["PYTHONPATH"])
    monkeypatch.setenv("FREE_LAYERS", "3")

    status = await status_with(minilm, "auto")

    assert (tmp_path / "loads").read_text().splitlines() == [f"{ALL} devices", "0 no devices"]
    assert (status.state, status.has_gpu, status.gpu_layers) == ("ready", True, 0)
