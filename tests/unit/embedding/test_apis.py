"""Each provider is asked in its own words, field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd import __version__
from memd.embedding.remote.providers.api import ApiRequest
from tests.unit.embedding.adapters import ADAPTERS, KEY, adapter

TEXTS = ["a first text", "ein zweiter: ‘äöü’ 漢字 🦀"]


def body_of(request: ApiRequest) -> Any:
    assert request.method == "POST"
    return json.loads(request.body)


def test_openai_is_asked_for_base64() -> None:
    request = adapter("openai").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "encoding_format": "base64"}
    assert body_of(adapter("openai", dims=256).request(TEXTS, "query"))["dimensions"] == 256


def test_compatible_server_is_asked_for_what_all_of_them_understand() -> None:
    request = adapter("compatible").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "encoding_format": "float"}
    assert body_of(adapter("compatible", dims=256).request(TEXTS, "query"))["dimensions"] == 256


def test_compatible_server_is_told_the_kind_of_input_where_the_settings_name_it() -> None:
    both = adapter("compatible", query_type="search_query", document_type="passage")
    assert body_of(both.request(TEXTS, "query"))["input_type"] == "search_query"
    assert body_of(both.request(TEXTS, "document"))["input_type"] == "passage"
    one = adapter("compatible", query_type="search_query")
    assert "input_type" not in body_of(one.request(TEXTS, "document"))


def test_mistral_is_asked_without_a_format() -> None:
    request = adapter("mistral").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS}
    assert body_of(adapter("mistral", dims=256).request(TEXTS, "query"))["output_dimension"] == 256


def test_voyage_is_told_what_a_text_is_and_to_cut_nothing() -> None:
    request = adapter("voyage").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {
        "model": "a-model",
        "input": TEXTS,
        "input_type": "document",
        "truncation": False,
    }
    assert body_of(adapter("voyage").request(TEXTS, "query"))["input_type"] == "query"
    assert body_of(adapter("voyage", dims=256).request(TEXTS, "query"))["output_dimension"] == 256
    assert body_of(adapter("voyage", query_type="x").request(TEXTS, "query"))["input_type"] == "x"


def test_gemini_is_told_the_task_of_each_text() -> None:
    request = adapter("gemini").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/models/a-model:batchEmbedContents"
    assert body_of(request) == {
        "requests": [
            {
                "model": "models/a-model",
                "content": {"parts": [{"text": text}]},
                "taskType": "RETRIEVAL_DOCUMENT",
            }
            for text in TEXTS
        ]
    }
    one = body_of(adapter("gemini", dims=768).request(TEXTS[:1], "query"))["requests"][0]
    assert one["taskType"] == "RETRIEVAL_QUERY"
    assert one["outputDimensionality"] == 768


def test_second_gemini_model_is_told_in_the_text_since_it_takes_no_task() -> None:
    api = adapter("gemini", model="gemini-embedding-2-preview")
    question = body_of(api.request(["why?"], "query"))["requests"][0]
    document = body_of(api.request(["because"], "document"))["requests"][0]
    assert question["content"]["parts"] == [{"text": "task: search result | query: why?"}]
    assert document["content"]["parts"] == [{"text": "title: none | text: because"}]
    assert "taskType" not in question | document
    again = body_of(api.request(["title: none | text: because"], "document"))["requests"][0]
    assert again == document


def test_gemini_key_is_in_a_header_and_never_in_the_url() -> None:
    request = adapter("gemini").request(TEXTS, "query")
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.url
    assert "Authorization" not in request.headers


def test_gemini_address_of_the_openai_imitation_stands_for_the_one_it_is_part_of() -> None:
    request = adapter("gemini", base_url="https://host.test/v1beta/openai").request(TEXTS, "query")
    assert request.url == "https://host.test/v1beta/models/a-model:batchEmbedContents"


def test_gemini_model_cannot_lead_to_another_address() -> None:
    request = adapter("gemini", model="../x?key=1#").request(TEXTS, "query")
    assert request.url == "https://host.test/v1/models/..%2Fx%3Fkey%3D1%23:batchEmbedContents"


@pytest.mark.parametrize("base", ["http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"])
def test_ollama_is_asked_natively_with_a_whole_number_of_seconds(base: str) -> None:
    request = adapter("ollama", base_url=base, key=None, keep_alive_s=-1).request(TEXTS, "document")
    assert request.url == "http://127.0.0.1:11434/api/embed"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "truncate": False, "keep_alive": -1}
    assert type(body_of(request)["keep_alive"]) is int
    assert body_of(adapter("ollama").request(TEXTS, "query"))["keep_alive"] == 1800
    assert body_of(adapter("ollama", dims=256).request(TEXTS, "query"))["dimensions"] == 256


@pytest.mark.parametrize("name", ["openai", "voyage", "mistral", "compatible", "ollama"])
def test_key_goes_as_a_bearer_and_only_where_there_is_one(name: str) -> None:
    assert adapter(name).request(TEXTS, "query").headers["Authorization"] == f"Bearer {KEY}"
    assert "Authorization" not in adapter(name, key=None).request(TEXTS, "query").headers


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_request_says_what_it_is_and_who_sends_it(name: str) -> None:
    headers = adapter(name).request(TEXTS, "query").headers
    assert headers["Content-Type"] == "application/json"
    assert headers["Accept"] == "application/json"
    assert headers["User-Agent"] == f"memd/{__version__}"


@pytest.mark.parametrize("name", ADAPTERS)
def test_headers_of_the_user_win_whatever_their_case(name: str) -> None:
    users = {"user-agent": "mine", "AUTHORIZATION": "Basic x", "X-GOOG-API-KEY": "other", "X-Org": "1"}
    headers = dict(adapter(name, headers=users).request(TEXTS, "query").headers)
    assert users.items() <= headers.items()
    assert len({header.lower() for header in headers}) == len(headers)
    assert KEY not in str(headers)


@pytest.mark.parametrize("name", ADAPTERS)
def test_no_repr_shows_the_key_or_a_header(name: str) -> None:
    api = adapter(name, headers={"X-Token": "s3cret"})
    for thing in (api, api.endpoint, api.request(TEXTS, "query")):
        assert KEY not in repr(thing)
        assert "s3cret" not in repr(thing)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_any_text_arrives_as_it_is(texts: list[str]) -> None:
    for name in ADAPTERS:
        sent = body_of(adapter(name).request(texts, "document"))
        if name == "gemini":
            assert [one["content"]["parts"][0]["text"] for one in sent["requests"]] == texts
        else:
            assert sent["input"] == texts
