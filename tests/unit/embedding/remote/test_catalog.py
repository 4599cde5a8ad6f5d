"""Tests of the table of providers, and of loopback addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.remote.catalog import AUTO_ORDER, KNOWN, dialect_of_api, is_loopback, limits_of


def test_every_provider_is_listed_by_name_with_valid_limits() -> None:
    assert list(KNOWN) == ["openai", "gemini", "voyage", "mistral", "ollama", "compatible"]
    for name, known in KNOWN.items():
        assert known.name == name
        for limits in (known.limits, limits_of(known, known.default_model)):
            assert 0 < limits.max_text_tokens <= limits.max_tokens
            assert limits.max_texts > 0
            assert limits.concurrency > 0


def test_auto_order_has_only_providers_with_a_key_variable() -> None:
    assert AUTO_ORDER == ("openai", "gemini", "voyage", "mistral")
    for name in AUTO_ORDER:
        assert KNOWN[name].needs_key
        assert KNOWN[name].key_variables
        assert KNOWN[name].base_url.startswith("https://")
        assert KNOWN[name].default_model


def test_ollama_is_free_keyless_and_sequential() -> None:
    ollama = KNOWN["ollama"]
    assert not ollama.metered
    assert not ollama.needs_key
    assert ollama.limits.concurrency == 1
    assert is_loopback(ollama.base_url)


def test_three_providers_have_a_batch_api() -> None:
    assert [name for name, known in KNOWN.items() if known.has_bulk] == ["openai", "gemini", "voyage"]


@pytest.mark.parametrize(
    ("provider", "texts", "tokens", "text_tokens"),
    [
        ("openai", 2048, 300_000, 8192),
        ("gemini", 100, 204_800, 2048),
        ("voyage", 1000, 120_000, 32_000),
        ("mistral", 512, 16_384, 8192),
    ],
)
def test_limits_stay_between_half_and_three_quarters_of_what_the_provider_allows(
    provider: str, texts: int, tokens: int, text_tokens: int
) -> None:
    limits = KNOWN[provider].limits
    assert limits.max_texts == texts
    assert 0.5 * tokens <= limits.max_tokens <= 0.75 * tokens
    assert 0.5 * text_tokens <= limits.max_text_tokens <= 0.75 * text_tokens


@pytest.mark.parametrize(
    ("model", "allowed", "text"),
    [
        ("voyage-4-large", 120_000, 32_000),
        ("voyage-4", 320_000, 32_000),
        ("voyage-4-lite", 1_000_000, 32_000),
        ("voyage-3.5", 320_000, 32_000),
        ("voyage-3.5-lite", 1_000_000, 32_000),
        ("voyage-3-large", 120_000, 32_000),
        ("voyage-code-3", 120_000, 32_000),
        ("voyage-law-2", 120_000, 16_000),
        ("voyage-2", 320_000, 4_000),
        ("a-model-of-next-year", 120_000, 32_000),
    ],
)
def test_voyage_limits_depend_on_the_model(model: str, allowed: int, text: int) -> None:
    limits = limits_of(KNOWN["voyage"], model)
    assert 0.5 * allowed <= limits.max_tokens <= 0.75 * allowed
    assert 0.5 * text <= limits.max_text_tokens <= 0.75 * text
    assert limits.max_texts == 1000


def test_gemini_embedding_2_accepts_longer_texts() -> None:
    gemini = KNOWN["gemini"]
    assert limits_of(gemini, "gemini-embedding-2").max_text_tokens > gemini.limits.max_text_tokens
    assert limits_of(gemini, "gemini-embedding-001") == gemini.limits


@pytest.mark.parametrize(
    ("api", "provider_id", "dialect"),
    [
        ("openai-completions", "lmstudio", "compatible"),
        ("openai-responses", "my-proxy", "compatible"),
        ("", "vllm", "compatible"),
        ("google-generative-ai", "my-google", "gemini"),
        ("ollama", "gpu-box", "ollama"),
        ("OpenAI-Completions", "Lm-Studio", "compatible"),
        ("openai-completions", "openai", "openai"),
        ("openai-completions", "google", "gemini"),
        ("openai-completions", "Ollama", "ollama"),
        ("", "mistral", "mistral"),
        ("", "voyageai", "voyage"),
        ("anthropic-messages", "anthropic", None),
        ("bedrock-converse-stream", "aws", None),
        ("github-copilot", "copilot", None),
    ],
)
def test_entry_interface_depends_on_its_api_and_id(api: str, provider_id: str, dialect: str | None) -> None:
    assert dialect_of_api(api, provider_id) == dialect


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434",
        "http://LOCALHOST/v1",
        "http://ollama.localhost",
        "http://localhost.:1/",
        "http://127.0.0.1:1",
        "http://127.8.9.10/v1",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "http://user:password@127.0.0.1/",
    ],
)
def test_loopback_addresses_are_recognized(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://192.168.1.5:11434",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://notlocalhost",
        "http://127.0.0.1@example.com/",
        "localhost:11434",
        "",
        "http://[::1",
        "http://0.0.0.0",
    ],
)
def test_other_addresses_are_not_loopback(url: str) -> None:
    assert not is_loopback(url)


@given(st.text())
def test_any_address_is_classified(text: str) -> None:
    assert is_loopback(text) in (True, False)
    assert is_loopback(f"http://{text}") in (True, False)
