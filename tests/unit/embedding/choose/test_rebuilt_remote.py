"""Tests of chosen and rebuilt remote providers, and that none shows a key."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memd.embedding.choose.remote_resolver import ModelChoice, RemotePlan
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, local_space, parse_reference
from memd.embedding.prefixes import NONE, Prefixes
from memd.embedding.remote.catalog import AUTO_ORDER, KNOWN
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.space import VectorSpace
from memd.settings.endpoints import EndpointSettings, ProviderEntry
from memd.settings.schema import DaemonSettings, MemorySearch
from memd_client.errors import (
    ConfigInvalidError,
    MemdError,
    ProviderAuthError,
    ProviderUnavailableError,
    ShuttingDownError,
)
from tests.support import fake_model_child as fake
from tests.support.chooser_fixture import KEYS, ChooserFixture, key_in, remote_resolver
from tests.support.logs import capture_logs
from tests.support.provider_server import KEY, serve_provider


def pulled(cache: Path, reference: str) -> Path:
    return fake.write_model(parse_reference(reference).file(cache))


# --- remote ---------------------------------------------------------------------------------------------


async def test_remote_provider_sends_the_key_to_its_server(tmp_path: Path) -> None:
    with serve_provider("voyage") as server:
        server.key = KEY
        asker = ChooserFixture(tmp_path, environ={"MY_KEY": KEY, "HOST_OF_IT": server.url})
        remote = EndpointSettings(base_url="${HOST_OF_IT}", api_key="${MY_KEY}\n")
        settings = MemorySearch(provider="voyage", endpoint=remote)

        provider = await asker.providers.make("voyage", settings, "main")
        vector = await provider.embed_query("where is the key")
        again = await asker.providers.rebuild(provider.recipe, settings, "main")
        assert again is not None
        same = await again.embed_query("where is the key")

        assert server.complaints == []
        assert np.allclose(vector, same)
        assert again.space == provider.space
        assert again.recipe == provider.recipe
        assert len(asker.clients) == 1
        await provider.aclose()
        await again.aclose()
        await asker.providers.aclose()
        await asker.providers.aclose()
        with pytest.raises(ShuttingDownError):
            await asker.providers.make("voyage", settings, "main")


@pytest.mark.parametrize("name", ["openai", "gemini", "voyage"])
def test_provider_with_a_batch_api_offers_it(tmp_path: Path, name: str) -> None:
    provider = (
        ChooserFixture(tmp_path, environ={f"{name.upper()}_API_KEY": "k"}).choose(provider=name).provider
    )
    assert isinstance(provider, RemoteProvider)
    assert provider.bulk is not None


def test_local_provider_is_rebuilt_from_its_recipe(tmp_path: Path) -> None:
    pulled(tmp_path, DEFAULT_LOCAL_MODEL)
    asker = ChooserFixture(tmp_path, environ={"OPENAI_API_KEY": "k"})
    made = asker.choose(provider="local").provider
    assert made is not None
    assert made.space.query_prefix

    again = asker.rebuild(made.recipe, provider="openai")
    assert again is not None
    assert again.space == made.space

    plain = asker.rebuild({"provider": "local", "model": DEFAULT_LOCAL_MODEL}, provider="openai")
    assert plain is not None
    assert plain.space == local_space(DEFAULT_LOCAL_MODEL, None, prefixed=False)
    assert asker.rebuild(plain.recipe, provider="openai").space == plain.space  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "recipe",
    [
        {},
        {"provider": "local", "model": "minilm"},
        {"provider": "local", "model": ""},
        {"provider": "gone", "model": "m", "base_url": "http://127.0.0.1:1"},
        {"provider": "openai", "model": "m", "base_url": "https://proxy.example/v1"},
        {"provider": "gemini", "model": "m", "base_url": "https://generativelanguage.googleapis.com/v1beta"},
        {"provider": "openai", "model": "m", "base_url": "http://[", "dims": "many"},
    ],
)
def test_unavailable_earlier_provider_is_none(tmp_path: Path, recipe: dict[str, str]) -> None:
    asker = ChooserFixture(tmp_path, environ={"OPENAI_API_KEY": "k"})
    assert asker.rebuild(recipe, provider="voyage") is None


def test_without_remote_providers_no_http_client_is_created(tmp_path: Path) -> None:
    pulled(tmp_path, "minilm")
    asker = ChooserFixture(tmp_path)
    asker.choose()
    assert asker.clients == []
    program = (
        "import sys, memd.embedding.choose.choose;"
        " print([name for name in sys.modules if name.startswith('httpx')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("minutes", "seconds"), [(30, 1800), (0.5, 30), (0, -1), (0.001, 1)])
async def test_ollama_keep_alive_follows_the_daemons_setting(
    tmp_path: Path, minutes: float, seconds: int
) -> None:
    with serve_provider("ollama") as server:
        asker = ChooserFixture(tmp_path, daemon=DaemonSettings(model_keep_alive_minutes=minutes))
        settings = MemorySearch(provider="ollama", endpoint=EndpointSettings(base_url=server.url))
        provider = await asker.providers.make("ollama", settings, "main")
        await provider.embed_query("text")
        await provider.aclose()
        await asker.providers.aclose()
        sent = json.loads(server.requests[-1].asked.body)
        assert (sent["keep_alive"], server.complaints) == (seconds, [])


# --- secrets --------------------------------------------------------------------------------------------

MARKER = "sk-marker-0123456789"


def _shown(make: Callable[[], object]) -> str:
    """Return all texts that an object, or the error raised instead, shows."""
    try:
        made = make()
    except MemdError as error:
        return repr(error) + str(error) + str(error.to_wire())
    return repr(made)


def test_no_key_is_in_any_repr_log_or_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    profiles = tmp_path / "state" / "agents" / "main" / "agent" / "auth-profiles.json"
    profiles.parent.mkdir(parents=True)
    profiles.write_text(f'{{"profiles": {{"openai:default": "{MARKER}"')
    entry = ProviderEntry(
        id="lab", base_url="http://127.0.0.1:9/v1", api_key=MARKER, headers={"X-Key": MARKER}, models=("m",)
    )
    environ = {f"{name.upper()}_API_KEY": MARKER for name in AUTO_ORDER}
    remotes = [
        None,
        EndpointSettings(api_key=MARKER, headers={"X-Key": MARKER}),
        EndpointSettings(api_key=f"{MARKER}\n{MARKER}"),
        EndpointSettings(api_key=f"{MARKER}${{NOT_SET}}"),
        EndpointSettings(base_url=f"https://{MARKER}@host"),
        EndpointSettings(headers={"X-Key": f"{MARKER}\0"}),
    ]
    seen = []

    with capture_logs() as logs:
        for with_keys in (environ, {}):
            asker = ChooserFixture(tmp_path, environ=with_keys, entries={"lab": entry})
            for name in ("auto", *AUTO_ORDER, "ollama", "lab", "compatible"):
                for remote in remotes:
                    settings: dict[str, Any] = {"provider": name, "endpoint": remote, "fallback": "mistral"}
                    selection = asker.choose(**settings)
                    seen += [repr(selection), repr(asker.providers), repr(MemorySearch(**settings))]
                    if selection.problem is not None:
                        seen.append(str(selection.problem.to_wire()))
                    if selection.provider is not None:
                        recipe = selection.provider.recipe
                        seen += [str(recipe), repr(selection.provider.space)]
                        seen.append(_shown(lambda a=asker, r=recipe, s=settings: a.rebuild(r, **s)))  # type: ignore[misc]

    assert len(seen) > 200
    assert MARKER not in " ".join(seen)
    assert MARKER not in str(logs)
    assert MARKER not in caplog.text


async def test_refused_key_is_not_in_the_error(tmp_path: Path) -> None:
    with serve_provider("openai") as server:
        asker = ChooserFixture(tmp_path)
        settings = MemorySearch(
            provider="openai", endpoint=EndpointSettings(base_url=server.url, api_key=MARKER)
        )
        provider = await asker.providers.make("openai", settings, "main")
        with pytest.raises(ProviderAuthError) as caught:
            await provider.embed_query("text")
        assert MARKER not in str(caught.value.to_wire()) + repr(caught.value) + repr(provider)
        await provider.aclose()
        await asker.providers.aclose()


HERE = "http://127.0.0.1:8080/v1"
PROXY = "https://proxy.example/v1"


# --- earlier spaces -------------------------------------------------------------------------------------


def replan(
    earlier: ModelChoice, name: str, *entries: ProviderEntry, environ: Any = KEYS, **settings: Any
) -> RemotePlan | None:
    return remote_resolver(MemorySearch(**settings), *entries, environ=environ).replan(name, earlier)


def test_earlier_provider_gets_the_vendors_current_key() -> None:
    earlier = ModelChoice("text-embedding-ada-002", KNOWN["openai"].base_url, 512, prefixes=NONE)
    remote = EndpointSettings(api_key="mine", base_url=PROXY, headers={"X": "y"})

    found = replan(earlier, "openai", provider="gemini", endpoint=remote)
    assert found is not None
    assert (found.endpoint.base_url, found.endpoint.model, found.endpoint.dims) == (
        KNOWN["openai"].base_url,
        "text-embedding-ada-002",
        512,
    )
    assert (key_in(found), found.endpoint.headers) == ("key-of-openai", {})
    assert found.space == VectorSpace("openai", "text-embedding-ada-002", dims=512)

    moved = replan(earlier, "openai", provider="openai", endpoint=remote)
    assert moved is not None
    assert (key_in(moved), moved.endpoint.headers) == ("key-of-openai", {})

    with pytest.raises(ProviderUnavailableError):
        replan(earlier, "openai", provider="gemini", endpoint=remote, environ={})


def test_earlier_provider_at_the_same_address_gets_all_settings() -> None:
    earlier = ModelChoice("bge-m3", PROXY)
    remote = EndpointSettings(api_key="mine", base_url=PROXY + "/", headers={"X": "y"})

    found = replan(earlier, "openai", provider="openai", model="other", endpoint=remote, environ={})

    assert found is not None
    assert (found.endpoint.model, key_in(found), found.endpoint.headers) == ("bge-m3", "mine", {"X": "y"})


def test_no_key_is_sent_to_an_address_that_is_no_longer_configured() -> None:
    earlier = ModelChoice("bge-m3", PROXY)

    assert replan(earlier, "openai", provider="gemini") is None
    assert (
        replan(earlier, "openai", provider="gemini", endpoint=EndpointSettings(base_url=PROXY, api_key="k"))
        is None
    )

    moved = replan(
        earlier,
        "openai",
        provider="openai",
        endpoint=EndpointSettings(base_url="https://new.example", api_key="k"),
    )
    assert moved is not None
    assert (moved.endpoint.base_url, key_in(moved)) == ("https://new.example", "k")


def test_earlier_provider_without_need_of_a_key_keeps_its_address() -> None:
    earlier = ModelChoice("bge-m3", "http://box:11434", prefixes=Prefixes("q: ", "d: "))

    found = replan(earlier, "ollama", provider="openai", environ=KEYS | {"OLLAMA_API_KEY": "mine"})

    assert found is not None
    assert (found.endpoint.base_url, key_in(found)) == ("http://box:11434", None)
    assert found.space == VectorSpace("ollama", "bge-m3", "q: ", "d: ")


def test_earlier_server_on_this_machine_is_rebuilt() -> None:
    found = replan(ModelChoice("bge-m3", HERE), "compatible", provider="openai")

    assert found is not None
    assert (found.dialect, found.endpoint.base_url) == ("compatible", HERE)


def test_earlier_provider_without_its_entry_is_unavailable() -> None:
    with pytest.raises(ConfigInvalidError):
        replan(ModelChoice("bge-m3", HERE), "lab", provider="openai")
