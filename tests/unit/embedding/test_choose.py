"""Which provider is chosen, and that whatever stands in its way is named with a way out."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.config import Local, MemorySearch
from memd.embedding.choose import LATER, Selection, choose_provider
from memd.embedding.model.owner import ModelOwner
from memd.embedding.model.reference import DEFAULT_LOCAL_MODEL, parse_reference
from memd.embedding.space import local_space
from memd_client.errors import (
    ConfigInvalidError,
    LocalExtraMissingError,
    ModelInvalidError,
    ModelMissingError,
    ProviderUnavailableError,
)
from tests.support import fake_model_child as fake


def choose(cache: Path, *, extra: bool = True, **settings: object) -> Selection:
    async def body() -> Selection:
        chosen = MemorySearch(**settings)  # type: ignore[arg-type]
        return await choose_provider(chosen, models=ModelOwner(), cache_dir=cache, has_extra=lambda: extra)

    return trio.run(body)


def pulled(cache: Path, reference: str) -> Path:
    cache.mkdir(exist_ok=True)
    return fake.write_model(parse_reference(reference).file(cache))


def test_auto_takes_a_pulled_model(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    selection = choose(tmp_path)
    assert selection.provider is not None
    assert selection.provider.model == "minilm"
    assert selection.provider.space == local_space("minilm", None)
    assert (selection.wanted, selection.problem, selection.fell_back_from) == ("auto", None, None)


def test_auto_takes_the_configured_model_before_a_pulled_one(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    mine = fake.write_model(tmp_path / "mine.gguf")
    selection = choose(tmp_path, local=Local(model_path=str(mine)))
    assert selection.provider is not None
    assert selection.provider.model == "mine.gguf"


def test_auto_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    selection = choose(tmp_path)
    assert selection.provider is None
    assert isinstance(selection.problem, ProviderUnavailableError)
    assert "memctl model pull minilm" in selection.problem.hint


def test_none_is_a_wish_and_no_problem(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    assert choose(tmp_path, provider="none") == Selection("none", None)


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("minilm", "memctl model pull minilm"),
        (None, f"memctl model pull {DEFAULT_LOCAL_MODEL}"),
        ("hf:owner/repo/m.gguf", "memctl model pull hf:owner/repo/m.gguf"),
        ("https://host/m.gguf", "memctl model pull https://host/m.gguf"),
        ("/nowhere/m.gguf", "local.modelPath"),
    ],
)
def test_local_model_that_is_not_there_is_named_with_the_command(
    tmp_path: Path, reference: str | None, hint: str
) -> None:
    selection = choose(tmp_path, provider="local", local=Local(model_path=reference))
    assert selection.provider is None
    assert isinstance(selection.problem, ModelMissingError)
    assert hint in selection.problem.hint


def test_pulled_model_is_found_in_the_configured_cache(tmp_path: Path) -> None:
    pulled(tmp_path / "other", "hf:owner/repo/m.gguf")
    local = Local(model_path="hf:owner/repo/m.gguf", model_cache_dir=str(tmp_path / "other"))
    assert choose(tmp_path, provider="local", local=local).provider is not None


def test_moving_a_model_file_keeps_its_space(tmp_path: Path) -> None:
    spaces = []
    for directory in ("a", "b"):
        (tmp_path / directory).mkdir()
        path = fake.write_model(tmp_path / directory / "m.gguf")
        provider = choose(tmp_path, provider="local", local=Local(model_path=str(path))).provider
        assert provider is not None
        spaces.append(provider.space.id)
    path.write_bytes(path.read_bytes() + b"other weights")
    provider = choose(tmp_path, provider="local", local=Local(model_path=str(path))).provider
    assert provider is not None
    assert spaces[0] == spaces[1] != provider.space.id


def test_missing_extra_is_named(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    assert isinstance(choose(tmp_path, extra=False).problem, LocalExtraMissingError)


def test_file_that_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_text("hello")
    selection = choose(tmp_path, provider="local", local=Local(model_path=str(tmp_path / "m.gguf")))
    assert isinstance(selection.problem, ModelInvalidError)


def test_reference_that_is_none_is_named(tmp_path: Path) -> None:
    selection = choose(tmp_path, provider="local", local=Local(model_path="hf:nonsense"))
    assert isinstance(selection.problem, ConfigInvalidError)


@pytest.mark.parametrize("provider", LATER)
def test_provider_of_a_later_release_is_said_to_be_one(tmp_path: Path, provider: str) -> None:
    selection = choose(tmp_path, provider=provider)
    assert selection.wanted == provider
    assert isinstance(selection.problem, ProviderUnavailableError)
    assert provider in str(selection.problem)


def test_unknown_provider_is_named(tmp_path: Path) -> None:
    assert isinstance(choose(tmp_path, provider="opnai").problem, ConfigInvalidError)


def test_fallback_says_what_it_fell_back_from_and_why(tmp_path: Path) -> None:
    pulled(tmp_path, DEFAULT_LOCAL_MODEL)
    selection = choose(tmp_path, provider="openai", fallback="local")
    assert selection.provider is not None
    assert (selection.wanted, selection.fell_back_from) == ("openai", "openai")
    assert isinstance(selection.problem, ProviderUnavailableError)


def test_fallback_that_fails_too_leaves_the_first_reason(tmp_path: Path) -> None:
    selection = choose(tmp_path, provider="openai", fallback="local")
    assert selection.provider is None
    assert "openai" in str(selection.problem)
