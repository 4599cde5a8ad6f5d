"""Tests of the HTTP interfaces: request formats, and rejection of invalid replies."""

from __future__ import annotations

import base64
import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd import __version__
from memd.embedding.provider import FloatArray
from memd.embedding.remote.endpoint import ApiRequest
from memd.embedding.remote.providers.table import APIS
from memd_client.errors import ProviderReplyError
from tests.support.remote_fixture import SECRET_KEY, adapter

TEXTS = ["a first text", "ein zweiter: ‘äöü’ 漢字 🦀"]


def body_of(request: ApiRequest) -> Any:
    assert request.method == "POST"
    return json.loads(request.body)


def test_openai_request_asks_for_base64() -> None:
    request = adapter("openai").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "encoding_format": "base64"}
    assert body_of(adapter("openai", dims=256).request(TEXTS, "query"))["dimensions"] == 256


def test_compatible_request_has_only_common_fields() -> None:
    request = adapter("compatible").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "encoding_format": "float"}
    assert body_of(adapter("compatible", dims=256).request(TEXTS, "query"))["dimensions"] == 256


def test_compatible_request_has_the_configured_input_type() -> None:
    both = adapter("compatible", query_type="search_query", document_type="passage")
    assert body_of(both.request(TEXTS, "query"))["input_type"] == "search_query"
    assert body_of(both.request(TEXTS, "document"))["input_type"] == "passage"
    one = adapter("compatible", query_type="search_query")
    assert "input_type" not in body_of(one.request(TEXTS, "document"))


def test_mistral_request_has_no_encoding_format() -> None:
    request = adapter("mistral").request(TEXTS, "document")
    assert request.url == "https://host.test/v1/embeddings"
    assert body_of(request) == {"model": "a-model", "input": TEXTS}
    assert body_of(adapter("mistral", dims=256).request(TEXTS, "query"))["output_dimension"] == 256


def test_voyage_request_has_the_input_type_and_no_truncation() -> None:
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


def test_gemini_request_has_the_task_of_each_text() -> None:
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


def test_gemini_embedding_2_gets_the_task_as_a_prefix() -> None:
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
    assert request.headers["x-goog-api-key"] == SECRET_KEY
    assert SECRET_KEY not in request.url
    assert "Authorization" not in request.headers


def test_gemini_openai_address_is_mapped_to_the_native_one() -> None:
    request = adapter("gemini", base_url="https://host.test/v1beta/openai").request(TEXTS, "query")
    assert request.url == "https://host.test/v1beta/models/a-model:batchEmbedContents"


def test_gemini_model_name_can_not_change_the_path() -> None:
    request = adapter("gemini", model="../x?key=1#").request(TEXTS, "query")
    assert request.url == "https://host.test/v1/models/..%2Fx%3Fkey%3D1%23:batchEmbedContents"


@pytest.mark.parametrize("base", ["http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"])
def test_ollama_request_is_native_with_integer_keep_alive(base: str) -> None:
    request = adapter("ollama", base_url=base, key=None, keep_alive_s=-1).request(TEXTS, "document")
    assert request.url == "http://127.0.0.1:11434/api/embed"
    assert body_of(request) == {"model": "a-model", "input": TEXTS, "truncate": False, "keep_alive": -1}
    assert type(body_of(request)["keep_alive"]) is int
    assert body_of(adapter("ollama").request(TEXTS, "query"))["keep_alive"] == 1800
    assert body_of(adapter("ollama", dims=256).request(TEXTS, "query"))["dimensions"] == 256


@pytest.mark.parametrize("name", ["openai", "voyage", "mistral", "compatible", "ollama"])
def test_key_is_sent_as_a_bearer_token_if_there_is_one(name: str) -> None:
    assert adapter(name).request(TEXTS, "query").headers["Authorization"] == f"Bearer {SECRET_KEY}"
    assert "Authorization" not in adapter(name, key=None).request(TEXTS, "query").headers


@pytest.mark.parametrize("name", APIS)
def test_every_request_has_content_type_and_user_agent(name: str) -> None:
    headers = adapter(name).request(TEXTS, "query").headers
    assert headers["Content-Type"] == "application/json"
    assert headers["Accept"] == "application/json"
    assert headers["User-Agent"] == f"memd/{__version__}"


@pytest.mark.parametrize("name", APIS)
def test_configured_headers_override_defaults_in_any_case(name: str) -> None:
    users = {
        "user-agent": "mine",
        "AUTHORIZATION": "Basic x",
        "X-GOOG-API-KEY": "other",
        "X-Org": "1",
    }
    headers = dict(adapter(name, headers=users).request(TEXTS, "query").headers)
    assert users.items() <= headers.items()
    assert len({header.lower() for header in headers}) == len(headers)
    assert SECRET_KEY not in str(headers)


@pytest.mark.parametrize("name", APIS)
def test_no_repr_shows_the_key_or_a_header(name: str) -> None:
    api = adapter(name, headers={"X-Token": "s3cret"})
    for thing in (api, api.endpoint, api.request(TEXTS, "query")):
        assert SECRET_KEY not in repr(thing)
        assert "s3cret" not in repr(thing)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_any_text_is_sent_unchanged(texts: list[str]) -> None:
    for name in APIS:
        sent = body_of(adapter(name).request(texts, "document"))
        if name == "gemini":
            assert [one["content"]["parts"][0]["text"] for one in sent["requests"]] == texts
        else:
            assert sent["input"] == texts


OPENAI_SHAPED = ("openai", "voyage", "mistral", "compatible")

Rows = list[Any]


def reply(name: str, rows: Rows, tokens: int | None = 7) -> bytes:
    """Return the body of a valid reply with these vectors."""
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    value: dict[str, Any] = {"object": "list", "data": data, "model": "a-model"}
    counted: dict[str, Any] = {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    if name == "gemini":
        value = {"embeddings": [{"values": row} for row in rows]}
        counted = {"usageMetadata": {"promptTokenCount": tokens}}
    elif name == "ollama":
        value = {"model": "a-model", "embeddings": rows, "total_duration": 1, "load_duration": 2}
        counted = {"prompt_eval_count": tokens}
    return json.dumps(value | (counted if tokens is not None else {})).encode()


def refused(name: str, body: bytes, count: int, **fields: Any) -> ProviderReplyError:
    with pytest.raises(ProviderReplyError) as caught:
        adapter(name, **fields).parse(body, count)
    assert caught.value.message.startswith(f"{name} sent ")
    return caught.value


# --- valid replies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APIS)
def test_vectors_are_in_the_order_of_the_texts_with_token_count(name: str) -> None:
    parsed = adapter(name).parse(reply(name, [[0.5, -0.25], [1, 2]]), 2)
    assert parsed.vectors.dtype == np.float32
    assert parsed.vectors.tolist() == [[0.5, -0.25], [1.0, 2.0]]
    assert parsed.tokens == 7


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("tokens", [None, -1, "many", 1.5, True])
def test_missing_token_count_is_none(name: str, tokens: Any) -> None:
    assert adapter(name).parse(reply(name, [[0.5]], tokens), 1).tokens is None


@pytest.mark.parametrize("name", APIS)
def test_integers_and_exponents_are_valid_numbers(name: str) -> None:
    body = reply(name, [["@"]]).replace(b'"@"', b"0, -1, 2e-3, 1E2, 12345678901234567890, -0.0, 3")
    assert adapter(name).parse(body, 1).vectors[0].tolist() == pytest.approx(
        [0.0, -1.0, 0.002, 100.0, 1.2345679e19, 0.0, 3.0]
    )


@pytest.mark.parametrize("name", OPENAI_SHAPED)
def test_shuffled_positions_are_sorted(name: str) -> None:
    for order in itertools.permutations(range(3)):
        data = [{"index": place, "embedding": [float(place) + 1]} for place in order]
        parsed = adapter(name).parse(json.dumps({"data": data}).encode(), 3)
        assert parsed.vectors.tolist() == [[1.0], [2.0], [3.0]]


@pytest.mark.parametrize("name", OPENAI_SHAPED)
def test_reply_without_positions_is_in_the_order_of_the_texts(name: str) -> None:
    body = json.dumps({"data": [{"embedding": [1.0]}, {"embedding": [2.0]}], "usage": None}).encode()
    assert adapter(name).parse(body, 2).vectors.tolist() == [[1.0], [2.0]]


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=64).filter(any))
def test_base64_and_numbers_are_bit_identical(numbers: list[float]) -> None:
    exact = np.array(numbers, dtype="<f4")
    spelled = base64.b64encode(exact.tobytes()).decode()
    for name in ("openai", "compatible"):
        by_base64 = adapter(name).parse(reply(name, [spelled]), 1).vectors
        by_numbers = adapter(name).parse(reply(name, [numbers]), 1).vectors
        assert by_base64.tobytes() == by_numbers.tobytes() == exact.tobytes()
        assert by_base64.dtype == np.float32


# --- invalid replies --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APIS)
def test_wrong_number_of_vectors_is_refused(name: str) -> None:
    for rows in ([], [[1.0]], [[1.0]] * 3):
        assert f"{len(rows)} vectors for 2 texts" in refused(name, reply(name, rows), 2).message


@pytest.mark.parametrize("name", OPENAI_SHAPED)
@pytest.mark.parametrize("places", [[0, 0], [1, 1], [0, 2], [-1, 0], [0, None], [1, 2]])
def test_duplicate_missing_and_invalid_positions_are_refused(name: str, places: list[int | None]) -> None:
    data = [{"index": place, "embedding": [1.0]} for place in places]
    error = refused(name, json.dumps({"data": data}).encode(), 2)
    assert "duplicate or missing" in error.message


@pytest.mark.parametrize("name", APIS)
def test_vectors_of_different_or_no_length_are_refused(name: str) -> None:
    assert "1 and 2 dimensions" in refused(name, reply(name, [[1.0], [1.0, 2.0]]), 2).message
    assert "0 dimensions" in refused(name, reply(name, [[], []]), 2).message
    refused(name, reply(name, [[], [1.0]]), 2)


@pytest.mark.parametrize("name", APIS)
def test_wrong_dimensions_are_refused_with_a_hint(name: str) -> None:
    error = refused(name, reply(name, [[1.0, 2.0]]), 1, dims=3)
    assert "2 dimensions instead of 3" in error.message
    assert "outputDimensionality" in error.hint


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "nan", "1e999", "1e39", "null", "true", '"1"', "[1]", "{}"]
)
def test_non_finite_numbers_are_refused(name: str, number: str) -> None:
    refused(name, reply(name, [[1.0, "@"]]).replace(b'"@"', number.encode()), 1)


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("row", [[0, 0], [0.0, -0.0], [1e-60, 1e-60]])
def test_vector_of_zeros_is_refused(name: str, row: list[float]) -> None:
    assert "zeros" in refused(name, reply(name, [[1.0, 1.0], row]), 2).message


@pytest.mark.parametrize("name", APIS)
def test_truncated_reply_is_refused(name: str) -> None:
    whole = reply(name, [[0.5, -0.25], [1.0, 2.0]])
    for end in range(len(whole)):
        refused(name, whole[:end], 2)


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b'"x"',
        b"{}",
        b'{"data": null, "embeddings": null}',
        b'{"data": [null], "embeddings": [null]}',
        b'{"data": [{}], "embeddings": [{}]}',
        b'{"error": {"message": "sent with status 200"}}',
        b"\xff\xfe",
        b'{"data": "\xff", "embeddings": "\xff"}',
        b"[" * 100_000,
        b'{"data":' * 50_000,
    ],
)
def test_invalid_json_and_other_structures_are_refused(name: str, body: bytes) -> None:
    refused(name, body, 1)


@pytest.mark.parametrize("name", APIS)
def test_web_page_is_refused_with_its_own_message(name: str) -> None:
    for page in (b"<!DOCTYPE html><html>a diary</html>", b"\n  <html>"):
        error = refused(name, page, 1)
        assert "web page" in error.message
        assert "endpoint.baseUrl" in error.hint


@pytest.mark.parametrize("name", OPENAI_SHAPED)
@pytest.mark.parametrize(
    "row", ["", "AAAA", "not base64!", "AAAAAAA", "AACAfw==", "AAAAAA==", "AAAA\u00e4AA="]
)
def test_base64_without_a_valid_vector_is_refused(name: str, row: str) -> None:
    # empty, three bytes, invalid base64 twice, infinity, zero, not ASCII
    refused(name, reply(name, [row]), 1)


@pytest.mark.parametrize("name", APIS)
def test_error_contains_nothing_of_the_reply(name: str) -> None:
    for body in (b'{"data": ["a diary"], "embeddings": ["a diary"]}', b"a diary", b'{"a diary": 1}'):
        error = refused(name, body, 1)
        assert "diary" not in error.message + error.hint
        assert error.__cause__ is None


def sound(vectors: FloatArray, count: int) -> bool:
    """Return whether vectors can be normalized and stored."""
    lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1))
    return vectors.shape[0] == count and bool(np.isfinite(lengths).all()) and bool((lengths > 0).all())


numbers = st.one_of(st.floats(), st.integers(), st.none(), st.booleans(), st.just("AACAPw=="))
vectors = st.one_of(st.lists(numbers, max_size=3), st.none(), st.text(), st.just("AACAPw=="))
items = st.fixed_dictionaries(
    {}, optional={"embedding": vectors, "index": st.one_of(st.integers(-1, 3), st.none(), st.text()),
                  "values": vectors}
)  # fmt: skip


@given(
    st.sampled_from(sorted(APIS)),
    st.integers(1, 3),
    st.one_of(
        st.binary(),
        st.fixed_dictionaries(
            {}, optional={"data": st.lists(items, max_size=3), "usage": numbers,
                          "embeddings": st.lists(st.one_of(items, vectors), max_size=3)}
        ).map(lambda value: json.dumps(value).encode()),
    ),
)  # fmt: skip
def test_any_body_is_valid_or_refused(name: str, count: int, body: bytes) -> None:
    try:
        parsed = adapter(name).parse(body, count)
    except ProviderReplyError:
        return
    assert sound(parsed.vectors, count)


@given(st.data())
def test_reply_with_a_changed_byte_is_valid_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(APIS)))
    body = bytearray(reply(name, [[0.5, -0.25], [1.0, 2.0]]))
    body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        parsed = adapter(name).parse(bytes(body), 2)
    except ProviderReplyError:
        return
    assert sound(parsed.vectors, 2)
