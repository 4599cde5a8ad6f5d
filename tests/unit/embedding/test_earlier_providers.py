"""A provider whose vectors are still in the index is made again, and no key goes astray."""

from __future__ import annotations

from typing import Any

import pytest

from memd.embedding.choose.remote_choice import RemotePlan, Wanted
from memd.embedding.prefixes import NONE, Prefixes
from memd.embedding.remote.catalog import KNOWN
from memd.embedding.space import VectorSpace
from memd.settings.schema import MemorySearch, ProviderEntry, Remote
from memd_client.errors import ConfigInvalidError, ProviderUnavailableError
from tests.support.choosing import KEYS, key_in, remote_choice

HERE = "http://127.0.0.1:8080/v1"
PROXY = "https://proxy.example/v1"


# --- earlier spaces -------------------------------------------------------------------------------------


def replan(
    earlier: Wanted, name: str, *entries: ProviderEntry, environ: Any = KEYS, **settings: Any
) -> RemotePlan | None:
    return remote_choice(MemorySearch(**settings), *entries, environ=environ).replan(name, earlier)


def test_an_earlier_provider_gets_todays_key_of_its_vendor() -> None:
    earlier = Wanted("text-embedding-ada-002", KNOWN["openai"].base_url, 512, prefixes=NONE)
    remote = Remote(api_key="mine", base_url=PROXY, headers={"X": "y"})

    found = replan(earlier, "openai", provider="gemini", remote=remote)
    assert found is not None
    assert (found.endpoint.base_url, found.endpoint.model, found.endpoint.dims) == (
        KNOWN["openai"].base_url,
        "text-embedding-ada-002",
        512,
    )
    assert (key_in(found), found.endpoint.headers) == ("key-of-openai", {})
    assert found.space == VectorSpace("openai", "text-embedding-ada-002", dims=512)

    moved = replan(earlier, "openai", provider="openai", remote=remote)
    assert moved is not None
    assert (key_in(moved), moved.endpoint.headers) == ("key-of-openai", {})

    with pytest.raises(ProviderUnavailableError):
        replan(earlier, "openai", provider="gemini", remote=remote, environ={})


def test_an_earlier_provider_where_it_still_is_gets_all_of_its_settings() -> None:
    earlier = Wanted("bge-m3", PROXY)
    remote = Remote(api_key="mine", base_url=PROXY + "/", headers={"X": "y"})

    found = replan(earlier, "openai", provider="openai", model="other", remote=remote, environ={})

    assert found is not None
    assert (found.endpoint.model, key_in(found), found.endpoint.headers) == ("bge-m3", "mine", {"X": "y"})


def test_no_key_goes_to_an_address_that_is_not_configured_any_more() -> None:
    earlier = Wanted("bge-m3", PROXY)

    assert replan(earlier, "openai", provider="gemini") is None
    assert replan(earlier, "openai", provider="gemini", remote=Remote(base_url=PROXY, api_key="k")) is None

    moved = replan(
        earlier, "openai", provider="openai", remote=Remote(base_url="https://new.example", api_key="k")
    )
    assert moved is not None
    assert (moved.endpoint.base_url, key_in(moved)) == ("https://new.example", "k")


def test_what_needs_no_key_is_asked_where_it_was_and_without_one() -> None:
    earlier = Wanted("bge-m3", "http://box:11434", prefixes=Prefixes("q: ", "d: "))

    found = replan(earlier, "ollama", provider="openai", environ=KEYS | {"OLLAMA_API_KEY": "mine"})

    assert found is not None
    assert (found.endpoint.base_url, key_in(found)) == ("http://box:11434", None)
    assert found.space == VectorSpace("ollama", "bge-m3", "q: ", "d: ")


def test_an_earlier_server_of_this_machine_is_asked_again() -> None:
    found = replan(Wanted("bge-m3", HERE), "compatible", provider="openai")

    assert found is not None
    assert (found.dialect, found.endpoint.base_url) == ("compatible", HERE)


def test_an_earlier_entry_that_is_gone_can_not_be_had() -> None:
    with pytest.raises(ConfigInvalidError):
        replan(Wanted("bge-m3", HERE), "lab", provider="openai")
