"""An engine with instructions that the processor lacks: the other one is used, or the error names the way out."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from memd.embedding.local import engine as engines
from memd.embedding.local.engine import ENGINES, EngineCrashes
from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd_client.errors import LocalExtraMissingError
from tests.support.engines import CRASH, CRASH_LATER, WHEEL, skip_without, write_engine
from tests.support.logs import capture_logs
from tests.support.models import running_owner
from tests.unit.embedding.model_in_use import only

SETTINGS = ModelSettings(query_timeout_s=120)
EVENT = "embedding.engine_crashed"


@pytest.fixture(autouse=True)
def _wheel() -> None:
    skip_without("xllamacpp")


def use_engine(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process and its model processes import a package as llama-cpp-python; return its folder."""
    for name, value in write_engine(folder, code).items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "llama_cpp", raising=False)
    return folder / "llama_cpp"


def acquire(owner: ModelOwner, path: Path) -> LocalModel:
    return owner.acquire(ModelSpec(path, "minilm"), chunk_tokens=400)


@pytest.mark.model
@pytest.mark.parametrize("code", [CRASH, CRASH_LATER], ids=["while loading", "at the first text"])
async def test_other_engine_is_used_after_a_crash_that_is_logged_once(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    use_engine(tmp_path, code, monkeypatch)
    copy = shutil.copy(minilm, tmp_path / "copy.gguf")

    with capture_logs() as logs:
        async with running_owner(SETTINGS) as owner:
            used = acquire(owner, minilm)
            assert (await used.embed("a query", "query")).size == 384
            status = only(owner)
            other = acquire(owner, Path(copy))
            assert (await other.embed("a text", "text")).size == 384
            assert [model.restarts for model in owner.status()] == [1, 0], (
                "the second model starts without it"
            )

    assert status.engine == "xllamacpp"
    assert status.problem == (
        "llama-cpp-python crashed on this processor (illegal instruction): xllamacpp is used instead"
    )
    assert [log["engine"] for log in logs if log["event"] == EVENT] == ["llama-cpp-python"]


@pytest.mark.model
async def test_crash_of_the_only_engine_is_an_error_until_it_is_installed_anew(
    minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = use_engine(tmp_path, CRASH, monkeypatch)
    monkeypatch.setattr(engines, "ENGINES", ENGINES[:1])

    with capture_logs() as logs:
        async with running_owner(SETTINGS) as owner:
            used = acquire(owner, minilm)
            for _ in range(3):
                with pytest.raises(
                    LocalExtraMissingError, match=r"llama-cpp-python crashed .* no other package"
                ):
                    await used.embed("a query", "query")
            failed = only(owner)
            write_engine(package.parent, WHEEL)
            os.utime(package / "__init__.py", ns=(1, 1))
            assert (await used.embed("a query", "query")).size == 384
            assert only(owner).engine == "llama-cpp-python"

    assert (failed.state, failed.restarts) == ("failed", 0)
    assert "illegal instruction" in failed.problem
    assert [log["event"] for log in logs].count(EVENT) == 1


def test_crash_is_new_once_for_each_engine() -> None:
    crashes = EngineCrashes()
    assert (crashes.packages(), crashes.add("xllamacpp"), crashes.add("xllamacpp")) == ((), True, False)
    assert crashes.packages() == ("xllamacpp",)
