"""Tests of the choice of a provider, and of its errors and hints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, local_space, parse_reference
from memd.embedding.remote.catalog import AUTO_ORDER
from memd.settings.endpoints import EndpointSettings
from memd.settings.local import Local
from memd.settings.schema import MemorySearch
from memd_client.errors import (
    ConfigInvalidError,
    LocalExtraMissingError,
    ModelInvalidError,
    ModelMissingError,
    ProviderUnavailableError,
)
from tests.support import fake_model_child as fake
from tests.support.chooser_fixture import Choice, ChooserFixture
from tests.support.logs import capture_logs

DOWNLOADABLE = "hf:owner/repo/m.gguf"


def choose(cache: Path, *, asker: ChooserFixture | None = None, **settings: Any) -> Choice:
    """Return the configured provider of these settings, or why there is none."""
    return (asker or ChooserFixture(cache)).choose(**settings)


def pulled(cache: Path, reference: str) -> Path:
    cache.mkdir(exist_ok=True)
    return fake.write_model(parse_reference(reference).file(cache))


# --- auto -----------------------------------------------------------------------------------------------


def test_auto_takes_a_pulled_model(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    selection = choose(tmp_path, asker=ChooserFixture(tmp_path, environ={"OPENAI_API_KEY": "k"}))
    assert selection.provider is not None
    assert selection.provider.model == "minilm"
    assert selection.provider.space == local_space("minilm", None)


def test_auto_takes_e5_only_without_minilm(tmp_path: Path) -> None:
    pulled(tmp_path, "e5")
    provider = choose(tmp_path).provider
    assert provider is not None
    assert (provider.space.query_prefix, provider.space.document_prefix) == ("query: ", "passage: ")
    assert provider.space.model == "e5"
    pulled(tmp_path, "minilm")
    provider = choose(tmp_path).provider
    assert provider is not None
    assert provider.space.model == "minilm"


def test_auto_takes_the_configured_model_before_a_pulled_one(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    mine = fake.write_model(tmp_path / "mine.gguf")
    selection = choose(tmp_path, local=Local(model_path=str(mine)))
    assert selection.provider is not None
    assert selection.provider.model == "mine.gguf"


@pytest.mark.parametrize("position", range(len(AUTO_ORDER)))
def test_auto_takes_the_first_provider_that_has_a_key(tmp_path: Path, position: int) -> None:
    environ = {f"{name.upper()}_API_KEY": "k" for name in AUTO_ORDER[position:]}
    provider = choose(tmp_path, asker=ChooserFixture(tmp_path, environ=environ)).provider
    assert provider is not None
    assert provider.id == AUTO_ORDER[position]


def test_auto_skips_unusable_providers_and_logs_them(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    with capture_logs() as logs:
        selection = choose(
            tmp_path,
            asker=ChooserFixture(tmp_path, extra=False, environ={"VOYAGE_API_KEY": "k"}),
            endpoint=EndpointSettings(api_key="${NOT_SET}"),
        )
    assert selection.provider is not None
    assert selection.provider.id == "voyage"
    assert [(entry["event"], entry["code"]) for entry in logs] == [
        ("embedding.provider_passed_over", "local_extra_missing")
    ]


def test_auto_without_any_provider_hints_at_the_remedy(tmp_path: Path) -> None:
    selection = choose(tmp_path)
    assert selection.provider is None
    assert isinstance(selection.problem, ProviderUnavailableError)
    assert "memctl model pull minilm" in selection.problem.hint


def test_auto_raises_a_configuration_error_if_no_provider_is_usable(tmp_path: Path) -> None:
    problem = choose(tmp_path, endpoint=EndpointSettings(api_key="${NOT_SET}")).problem
    assert isinstance(problem, ConfigInvalidError)
    assert "NOT_SET" in problem.message


# --- local ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("minilm", "memctl model pull minilm"),
        (None, f"memctl model pull {DEFAULT_LOCAL_MODEL}` to download 334 MB"),
        (DOWNLOADABLE, f"memctl model pull {DOWNLOADABLE}"),
        ("https://host/m.gguf", "memctl model pull https://host/m.gguf"),
        ("/nowhere/m.gguf", "local.modelPath"),
    ],
)
async def test_missing_local_model_is_named_with_the_pull_command(
    tmp_path: Path, reference: str | None, hint: str
) -> None:
    settings = MemorySearch(provider="auto", fallback="none", local=Local(model_path=reference))

    with pytest.raises(ModelMissingError) as caught:
        await ChooserFixture(tmp_path).providers.make("local", settings, "main")
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("settings", "begun"),
    [
        ({"provider": "local"}, DEFAULT_LOCAL_MODEL),
        ({"provider": "local", "local": Local(model_path=DOWNLOADABLE)}, DOWNLOADABLE),
        ({"provider": "local", "local": Local(model_path="https://host/m.gguf")}, "https://host/m.gguf"),
        ({"provider": "local", "local": Local(model_path="minilm")}, None),
        ({"provider": "local", "local": Local(model_path="/nowhere/m.gguf")}, None),
        ({"provider": "auto", "local": Local(model_path=DOWNLOADABLE)}, None),
        ({"provider": "openai", "fallback": "local", "local": Local(model_path=DOWNLOADABLE)}, None),
    ],
)
def test_configured_local_model_is_downloaded(
    tmp_path: Path, settings: dict[str, Any], begun: str | None
) -> None:
    asker = ChooserFixture(tmp_path)
    selection = choose(tmp_path, asker=asker, **settings)
    assert selection.provider is None
    assert [(reference.text, folder) for reference, folder in asker.downloads] == (
        [(begun, tmp_path)] if begun else []
    )
    assert selection.problem is not None
    assert ("being downloaded" in selection.problem.hint) is bool(begun)


def test_model_that_is_not_downloaded_is_not_announced(tmp_path: Path) -> None:
    problem = choose(tmp_path, asker=ChooserFixture(tmp_path, online=False), provider="local").problem
    assert problem is not None
    assert "memctl model pull" in problem.hint


def test_pulled_model_is_found_in_the_configured_cache(tmp_path: Path) -> None:
    pulled(tmp_path / "other", DOWNLOADABLE)
    local = Local(model_path=DOWNLOADABLE, model_cache_dir=str(tmp_path / "other"))
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


def test_missing_local_packages_are_named(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    assert isinstance(
        choose(tmp_path, asker=ChooserFixture(tmp_path, extra=False)).problem, LocalExtraMissingError
    )


def test_missing_local_packages_are_named_before_a_missing_model(tmp_path: Path) -> None:
    asker = ChooserFixture(tmp_path, extra=False)
    selection = choose(tmp_path, asker=asker, provider="local", local=Local(model_path="minilm"))
    assert isinstance(selection.problem, LocalExtraMissingError), "a pull would fail without it"


def test_invalid_model_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_text("hello")
    selection = choose(tmp_path, provider="local", local=Local(model_path=str(tmp_path / "m.gguf")))
    assert isinstance(selection.problem, ModelInvalidError)


def test_invalid_reference_is_named(tmp_path: Path) -> None:
    selection = choose(tmp_path, provider="local", local=Local(model_path="hf:nonsense"))
    assert isinstance(selection.problem, ConfigInvalidError)


def test_unknown_provider_is_named(tmp_path: Path) -> None:
    assert isinstance(choose(tmp_path, provider="opnai").problem, ConfigInvalidError)
