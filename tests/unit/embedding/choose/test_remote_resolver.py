"""Tests of resolving remote providers: key, address, headers, vector space."""

from __future__ import annotations

import pytest

from memd.embedding.local.reference import space_of
from memd.embedding.prefixes import NONE, prefixes_of
from memd.embedding.provider import BatchLimits
from memd.embedding.remote.catalog import AUTO_ORDER, KNOWN, limits_of
from memd.settings.endpoints import Batch, EndpointSettings, ProviderEntry
from memd.settings.schema import MemorySearch
from memd.settings.search import DEFAULT_MODELS
from memd_client.errors import ConfigInvalidError, MemdError, ProviderUnavailableError
from tests.support.chooser_fixture import KEYS, key_in, plan, remote_resolver

HERE = "http://127.0.0.1:8080/v1"
PROXY = "https://proxy.example/v1"


# --- names ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AUTO_ORDER)
def test_known_provider_uses_its_vendors_interface(name: str) -> None:
    found = plan(name)

    known = KNOWN[name]
    assert found.dialect == name
    assert (found.endpoint.provider, found.endpoint.model) == (name, known.default_model)
    assert found.endpoint.base_url == known.base_url
    assert key_in(found) == f"key-of-{name}"
    assert found.limits == limits_of(known, known.default_model)
    assert found.metered
    assert found.has_bulk is known.has_bulk


def test_ollama_needs_no_key_costs_nothing_and_has_its_prefixes() -> None:
    found = plan("ollama")

    assert (found.dialect, found.endpoint.base_url, key_in(found)) == (
        "ollama",
        "http://127.0.0.1:11434",
        None,
    )
    assert (found.metered, found.has_bulk, found.endpoint.keep_alive_s) == (False, False, 1800)
    wanted = prefixes_of("nomic-embed-text")
    assert wanted != NONE
    assert (found.space.query_prefix, found.space.document_prefix) == (wanted.query, wanted.document)


def test_provider_is_found_by_its_other_names() -> None:
    assert plan("google").endpoint.provider == "gemini"


def test_unknown_name_lists_the_known_providers() -> None:
    with pytest.raises(ConfigInvalidError, match="'opnai'") as caught:
        plan("opnai")
    assert "gemini" in caught.value.hint


@pytest.mark.parametrize(
    ("provider", "model", "own"),
    [
        ("openai", "openai/text-embedding-3-large", "text-embedding-3-large"),
        ("gemini", "models/gemini/gemini-embedding-001", "gemini-embedding-001"),
        ("gemini", "google/gemini-embedding-001", "gemini-embedding-001"),
        ("voyage", "voyage/voyage-4", "voyage-4"),
        ("mistral", "mistral/mistral-embed", "mistral-embed"),
        ("ollama", "ollama/bge-m3", "bge-m3"),
        ("openai", "BAAI/bge-m3", "BAAI/bge-m3"),
        ("openai", "openai/", "openai/"),
    ],
)
def test_vendor_prefix_is_removed_from_the_model_name(provider: str, model: str, own: str) -> None:
    assert plan(provider, model=model).endpoint.model == own


# --- keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AUTO_ORDER)
def test_missing_key_error_lists_the_key_places(name: str) -> None:
    with pytest.raises(ProviderUnavailableError, match=name) as caught:
        plan(name, environ={})

    assert KNOWN[name].key_variables[0] in caught.value.hint
    assert "search.endpoint.apiKey" in caught.value.hint
    assert f"models.providers.{KNOWN[name].entry_names[0]}.apiKey" in caught.value.hint


def test_header_with_a_key_replaces_the_key() -> None:
    found = plan("openai", endpoint=EndpointSettings(headers={"Authorization": "Bearer x"}), environ={})

    assert found.endpoint.headers == {"Authorization": "Bearer x"}


def test_remote_settings_are_not_sent_to_another_vendor() -> None:
    remote = EndpointSettings(base_url=PROXY, api_key="key-of-the-proxy", headers={"X-Team": "a"})

    for name in ("gemini", "voyage", "mistral", "ollama"):
        found = plan(
            "openai", name=name, endpoint=remote, model="text-embedding-3-large", output_dimensionality=64
        )

        assert found.endpoint.base_url == KNOWN[name].base_url
        assert key_in(found) in (f"key-of-{name}", None)
        assert found.endpoint.headers == {}
        assert (found.endpoint.model, found.endpoint.dims) == (KNOWN[name].default_model, None)


def test_remote_settings_apply_to_a_fallback_of_the_same_vendor() -> None:
    found = plan(
        "google", name="gemini", endpoint=EndpointSettings(api_key="mine"), model="gemini-embedding-2"
    )

    assert (key_in(found), found.endpoint.model) == ("mine", "gemini-embedding-2")


def test_remote_settings_apply_to_the_fallback_of_a_local_model() -> None:
    remote = EndpointSettings(api_key="mine")

    assert key_in(plan("local", name="voyage", fallback="voyage", endpoint=remote)) == "mine"
    assert key_in(plan("local", name="openai", fallback="voyage", endpoint=remote)) == "key-of-openai"


def test_auto_applies_remote_settings_to_the_first_provider_only() -> None:
    remote = EndpointSettings(base_url=HERE, api_key="mine")

    assert key_in(plan("auto", name="openai", endpoint=remote)) == "mine"
    assert key_in(plan("auto", name="gemini", endpoint=remote)) == "key-of-gemini"
    assert plan("auto", name="gemini", endpoint=remote).endpoint.base_url == KNOWN["gemini"].base_url


def test_auto_skips_a_provider_without_key_address_or_headers() -> None:
    entry = ProviderEntry(id="openai", base_url=HERE)

    with pytest.raises(ProviderUnavailableError):
        remote_resolver(MemorySearch(), entry, environ={}).plan_auto("openai")
    found = remote_resolver(MemorySearch(endpoint=EndpointSettings(base_url=HERE)), environ={}).plan_auto(
        "openai"
    )
    assert (found.endpoint.base_url, key_in(found)) == (HERE, None)


# --- addresses, headers, entries ------------------------------------------------------------------------


def test_remote_settings_override_the_entry() -> None:
    entry = ProviderEntry(
        id="openai",
        base_url="https://entry.example/v1/",
        api_key="of-the-entry",
        headers={"X-A": "1", "X-B": "1"},
    )

    alone = plan("openai", entry, environ={})
    assert (alone.endpoint.base_url, key_in(alone)) == ("https://entry.example/v1", "of-the-entry")
    assert alone.endpoint.headers == {"X-A": "1", "X-B": "1"}

    both = plan(
        "openai", entry, endpoint=EndpointSettings(base_url=PROXY + "//", headers={"x-b": "2"}), environ={}
    )
    assert (both.endpoint.base_url, key_in(both)) == (PROXY, "of-the-entry")
    assert both.endpoint.headers == {"X-A": "1", "x-b": "2"}


@pytest.mark.parametrize("base_url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1/"])
def test_openai_hosts_use_openais_full_interface(base_url: str) -> None:
    found = plan("openai", endpoint=EndpointSettings(base_url=base_url))

    assert (found.dialect, found.has_bulk, found.limits) == ("openai", True, KNOWN["openai"].limits)


def test_openai_at_another_host_uses_the_compatible_interface() -> None:
    found = plan("openai", endpoint=EndpointSettings(base_url=PROXY))

    assert (found.dialect, found.has_bulk, found.metered) == ("compatible", False, True)
    assert found.limits == KNOWN["compatible"].limits
    assert found.space.id == plan("openai").space.id
    with pytest.raises(ProviderUnavailableError):
        plan("openai", endpoint=EndpointSettings(base_url=PROXY), environ={})
    with pytest.raises(ProviderUnavailableError):
        plan("openai", endpoint=EndpointSettings(base_url="https://api.openai.com.evil.example"), environ={})


@pytest.mark.parametrize("base_url", [HERE, "http://localhost:1234/v1", "http://[::1]:8080/v1"])
def test_loopback_server_is_free_and_needs_no_key(base_url: str) -> None:
    found = plan("openai", endpoint=EndpointSettings(base_url=base_url), environ={})

    assert (found.dialect, key_in(found), found.metered) == ("compatible", None, False)


@pytest.mark.parametrize(
    ("batch", "own", "elsewhere"),
    [
        (Batch(), True, False),
        (Batch(enabled=True, enabled_set=True), True, True),
        (Batch(enabled=False, enabled_set=True), False, False),
    ],
)
def test_batch_api_at_another_host_is_used_if_enabled_explicitly(
    batch: Batch, own: bool, elsewhere: bool
) -> None:
    for name in ("openai", "gemini", "voyage"):
        assert plan(name, endpoint=EndpointSettings(batch=batch)).has_bulk is own
        assert plan(name, endpoint=EndpointSettings(batch=batch, base_url=PROXY)).has_bulk is elsewhere
    assert not plan("mistral", endpoint=EndpointSettings(batch=batch)).has_bulk


def test_entry_uses_the_interface_of_its_api() -> None:
    entry = ProviderEntry(
        id="lab",
        base_url="http://box:8080/v1",
        api_key="${LAB}",
        api="openai-completions",
        models=("chat", "lab-embed"),
    )

    found = plan("lab", entry, environ={"LAB": "key-of-the-lab"})
    assert (found.dialect, found.endpoint.provider, found.endpoint.model) == (
        "compatible",
        "lab",
        "lab-embed",
    )
    assert (found.endpoint.base_url, key_in(found)) == ("http://box:8080/v1", "key-of-the-lab")
    assert plan("lab", entry, model="lab/BAAI/bge-m3", environ={"LAB": "x"}).endpoint.model == "BAAI/bge-m3"

    ollama = ProviderEntry(id="box", base_url="http://box:11434", api="ollama", models=("nomic-embed-text",))
    found = plan("box", ollama)
    assert (found.dialect, found.endpoint.provider, found.metered) == ("ollama", "box", False)
    assert found.space.query_prefix


def test_an_entry_never_gets_the_vendors_own_key() -> None:
    entry = ProviderEntry(
        id="gem", base_url="https://gem.example", api="google-generative-ai", models=("gemini-embedding-001",)
    )

    with pytest.raises(ProviderUnavailableError) as caught:
        plan("gem", entry)
    assert "models.providers.gem.apiKey" in caught.value.hint
    assert "GEMINI_API_KEY" not in caught.value.hint


def test_entry_without_embeddings_is_an_error() -> None:
    with pytest.raises(ConfigInvalidError, match="anthropic-messages"):
        plan("claude", ProviderEntry(id="claude", api="anthropic-messages", base_url=PROXY))


@pytest.mark.parametrize("name", ["compatible", "openai-compatible"])
def test_compatible_server_needs_only_remote_settings(name: str) -> None:
    found = plan(name, model="bge-m3", endpoint=EndpointSettings(base_url=HERE))

    assert (found.dialect, found.endpoint.provider, key_in(found)) == ("compatible", name, None)
    with pytest.raises(ConfigInvalidError, match=r"no model is configured"):
        plan(name, endpoint=EndpointSettings(base_url=HERE))
    with pytest.raises(ConfigInvalidError, match=r"has no base URL"):
        plan(name, model="bge-m3")


@pytest.mark.parametrize(
    "base_url",
    [
        "marker",
        "ftp://marker",
        "https://",
        "https://me:marker@host/v1",
        "https://marker@host/v1",
        "https://host/v1?key=marker",
        "https://host/v1#marker",
        "https://host:99999/marker",
        "https://host/marker\nx",
        "https://[marker/",
    ],
)
def test_invalid_address_names_the_setting_without_its_value(base_url: str) -> None:
    for place, remote in [
        ("search.endpoint.baseUrl", EndpointSettings(base_url=base_url)),
        ("models.providers.openai.baseUrl", None),
    ]:
        entry = ProviderEntry(id="openai", base_url=base_url)
        with pytest.raises(ConfigInvalidError, match=place) as caught:
            plan("openai", entry, endpoint=remote)
        assert "marker" not in str(caught.value.to_wire())


# --- spaces ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AUTO_ORDER)
def test_openclaws_vectors_are_in_the_same_space(name: str) -> None:
    assert plan(name, model=DEFAULT_MODELS[name]).space.id == space_of(name, DEFAULT_MODELS[name])


def test_space_ignores_url_key_headers_and_port() -> None:
    plans = [
        plan("openai"),
        plan("openai", endpoint=EndpointSettings(api_key="other")),
        plan("openai", endpoint=EndpointSettings(base_url=HERE)),
        plan("openai", endpoint=EndpointSettings(base_url="http://127.0.0.1:9090/v1", headers={"A": "b"})),
        plan("openai", ProviderEntry(id="openai", base_url=PROXY, api_key="k")),
    ]

    assert len({one.space.id for one in plans}) == 1
    assert len({one.endpoint.account for one in plans}) == len(plans)


def test_space_depends_on_model_size_and_document_type() -> None:
    spaces = {
        plan("voyage").space.id,
        plan("voyage", model="voyage-4").space.id,
        plan("voyage", output_dimensionality=256).space.id,
        plan("voyage", document_input_type="passage").space.id,
    }

    assert len(spaces) == 4
    assert plan("voyage", query_input_type="question").space == plan("voyage").space
    assert plan("voyage", query_input_type="question").endpoint.query_type == "question"


def test_unsent_document_type_does_not_change_the_space() -> None:
    assert plan("openai", document_input_type="passage").space == plan("openai").space


# --- secrets --------------------------------------------------------------------------------------------


def test_no_plan_and_no_error_shows_a_key() -> None:
    marker = "sk-marker-0123456789"
    remote = EndpointSettings(api_key=marker, headers={"X-Key": marker})
    entry = ProviderEntry(id="lab", base_url=HERE, api_key=marker, headers={"X-Key": marker}, models=("m",))
    environ = dict.fromkeys(KEYS, marker)
    shown = []

    for name in (*KNOWN, "lab", "opnai", "google"):
        for tried in (None, remote, EndpointSettings(api_key=f"{marker}${{NOT_SET}}")):
            chosen = MemorySearch(provider=name, endpoint=tried)
            maker = remote_resolver(chosen, entry, environ=environ)
            shown.append(repr(maker) + repr(chosen) + repr(entry))
            try:
                found = maker.plan(name)
            except MemdError as error:
                shown.append(repr(error) + str(error.to_wire()))
            else:
                shown.append(repr(found) + repr(found.endpoint) + found.endpoint.account)

    assert len(shown) > 40
    assert marker not in " ".join(shown)


def test_plan_has_the_limits_of_its_model() -> None:
    assert isinstance(plan("voyage", model="voyage-4-lite").limits, BatchLimits)
    assert plan("voyage", model="voyage-4-lite").limits.max_tokens > plan("voyage").limits.max_tokens
