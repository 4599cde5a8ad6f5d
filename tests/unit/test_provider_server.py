"""The provider server itself: it has each provider's interface, and refuses and notes every wrong request."""

from __future__ import annotations

import base64
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tests.support.provider_dialects import PROVIDER_FACTS
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import VECTOR_FAULTS, FaultKind
from tests.support.provider_server import KEY, ProviderServer, serve_provider

Answer = tuple[int, dict[str, str], Any]

DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")


def call(
    server: ProviderServer,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    raw: bool = False,
) -> Answer:
    """Send one request and return (status, headers, JSON or bytes)."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=120)
    try:
        own = {"x-goog-api-key": KEY} if server.dialect == "gemini" else {"Authorization": f"Bearer {KEY}"}
        kind = {"Content-Type": "application/json"} if body else {}
        connection.request(method, url.path + path, body, {**own, **kind, **(headers or {})})
        response = connection.getresponse()
        data = response.read()
        named = {name.lower(): value for name, value in response.headers.items()}
        is_json = named.get("content-type") == "application/json" and data and not raw
        return response.status, named, json.loads(data) if is_json else data
    finally:
        connection.close()


def path_of(dialect: DialectName, model: str = "") -> str:
    """Return the path of the embeddings endpoint below the base URL."""
    if dialect == "gemini":
        return f"/models/{model or PROVIDER_FACTS['gemini'].model}:batchEmbedContents"
    return "/api/embed" if dialect == "ollama" else "/embeddings"


def body_of(dialect: DialectName, texts: list[str], **more: Any) -> dict[str, Any]:
    """Return a plain request for some texts."""
    model = PROVIDER_FACTS[dialect].model
    if dialect != "gemini":
        return {"model": model, "input": texts, **more}
    return {
        "requests": [
            {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, **more} for text in texts
        ]
    }


def vectors_in(dialect: DialectName, value: Any) -> np.ndarray[Any, Any]:
    """Return the vectors of a reply, in its order."""
    if dialect == "gemini":
        return np.array([row["values"] for row in value["embeddings"]])
    return np.array(
        value["embeddings"] if dialect == "ollama" else [row["embedding"] for row in value["data"]]
    )


def ask(server: ProviderServer, texts: list[str], raw: bool = False, **more: Any) -> Answer:
    """Ask for the vectors of some texts."""
    body = json.dumps(body_of(server.dialect, texts, **more)).encode()
    return call(server, "POST", path_of(server.dialect), body, raw=raw)


@contextmanager
def speaking(dialect: DialectName) -> Iterator[ProviderServer]:
    """Serve with short vectors."""
    with serve_provider(dialect, dims=64) as server:
        yield server


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_provider_answers_with_a_vector_a_text_in_their_order(dialect: DialectName) -> None:
    with speaking(dialect) as server:
        status, _, value = ask(server, ["the cat is ill", "an invoice is due"])
        assert status == 200
        rows = vectors_in(dialect, value)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert np.allclose(
            rows, [server.vector("the cat is ill"), server.vector("an invoice is due")], atol=1e-6
        )
        assert server.complaints == []
        assert server.texts_embedded == {"the cat is ill": 1, "an invoice is due": 1}
        assert server.calls == 1


def test_texts_that_share_words_are_near_each_other() -> None:
    with speaking("openai") as server:
        question, near, far = (
            server.vector(text) for text in ("the ill cat", "a cat is ill", "pay the invoice")
        )
        assert question @ near > question @ far + 0.2


@pytest.mark.parametrize(("dialect", "kinds"), [("gemini", "taskType"), ("voyage", "input_type")])
def test_a_question_and_a_document_get_different_vectors(dialect: DialectName, kinds: str) -> None:
    names = ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT") if dialect == "gemini" else ("query", "document")
    with speaking(dialect) as server:
        rows = [vectors_in(dialect, ask(server, ["a cat"], False, **{kinds: name})[2])[0] for name in names]
        assert not np.allclose(rows[0], rows[1])
        assert [seen.kind for seen in server.requests] == list(names)


def test_gemini_does_not_normalise_what_it_cuts_and_openai_does() -> None:
    with serve_provider("gemini") as gemini, serve_provider("openai") as openai:
        cut = vectors_in("gemini", ask(gemini, ["a cat"], outputDimensionality=768)[2])[0]
        assert cut.shape == (768,)
        assert np.linalg.norm(cut) < 0.9
        assert abs(np.linalg.norm(vectors_in("gemini", ask(gemini, ["a cat"])[2])[0]) - 1) < 1e-6
        short = vectors_in("openai", ask(openai, ["a cat"], dimensions=256)[2])[0]
        assert short.shape == (256,)
        assert abs(np.linalg.norm(short) - 1) < 1e-6


def test_base64_holds_the_same_numbers() -> None:
    with speaking("openai") as server:
        row = ask(server, ["a cat"], encoding_format="base64")[2]["data"][0]["embedding"]
        assert np.allclose(np.frombuffer(base64.b64decode(row), "<f4"), server.vector("a cat"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_field_is_refused_and_noted(dialect: DialectName) -> None:
    with speaking(dialect) as server:
        assert ask(server, ["a cat"], surprise=1)[0] in (400, 422)
        assert len(server.complaints) == 1
        assert "surprise" in server.complaints[0]
        assert not server.texts_embedded


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if PROVIDER_FACTS[name].asks_key])
def test_a_wrong_key_is_refused_and_noted(dialect: DialectName) -> None:
    with speaking(dialect) as server:
        name = "x-goog-api-key" if dialect == "gemini" else "Authorization"
        body = json.dumps(body_of(dialect, ["a cat"])).encode()
        for key in ("", "Bearer other"):
            assert call(server, "POST", path_of(dialect), body, {name: key})[0] in (400, 401, 403)
        assert len(server.complaints) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_another_model_path_method_or_content_type_is_refused_and_noted(dialect: DialectName) -> None:
    with speaking(dialect) as server:
        body = json.dumps(body_of(dialect, ["a cat"]) | ({} if dialect == "gemini" else {"model": "other"}))
        models_path = path_of(dialect, "other")
        body = body.replace(PROVIDER_FACTS[dialect].model, "other")
        assert call(server, "POST", models_path, body.encode())[0] in (400, 404)
        assert call(server, "POST", "/nowhere", body.encode())[0] == 404
        assert call(server, "GET", path_of(dialect))[0] in (400, 404)
        assert call(server, "POST", path_of(dialect), body.encode(), {"Content-Type": "text/plain"})[0] in (
            400,
            422,
        )
        assert len(server.complaints) == 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_too_many_texts_and_texts_too_long_are_refused(dialect: DialectName) -> None:
    facts = PROVIDER_FACTS[dialect]
    with speaking(dialect) as server:
        if facts.max_texts < 10_000:
            assert ask(server, ["a"] * (facts.max_texts + 1))[0] == 400
        long = "word " * facts.max_text_tokens
        more = {"voyage": {"truncation": False}, "ollama": {"truncate": False}}.get(dialect, {})
        status, _, value = ask(server, [long], **more)
        assert status == (200 if dialect == "gemini" else 400), value
        if dialect == "mistral":
            assert ask(server, ["word " * 5000] * 3)[2]["code"] == "3210"


@pytest.mark.parametrize("value", [-1, 1800, "30m"])
def test_ollama_takes_a_number_or_a_duration_to_keep_a_model_alive(value: object) -> None:
    with speaking("ollama") as server:
        assert ask(server, ["a cat"], keep_alive=value)[0] == 200
        assert ask(server, ["a cat"], keep_alive="-1")[0] == 400


@pytest.mark.parametrize("kind", VECTOR_FAULTS)
@pytest.mark.parametrize("dialect", ["openai", "gemini"])
def test_vectors_are_spoiled_as_named(dialect: DialectName, kind: FaultKind) -> None:
    with speaking(dialect) as server:
        server.fault = kind
        value = ask(server, ["a", "b", "c"])[2]
        rows = value["embeddings"] if dialect == "gemini" else value["data"]
        lengths = [len(row["values" if dialect == "gemini" else "embedding"]) for row in rows]
        flat = [number for row in rows for number in row["values" if dialect == "gemini" else "embedding"]]
        numbers = np.array(flat, dtype=float)
        assert len(rows) == {"too_few": 2, "too_many": 4}.get(kind, 3)
        assert set(lengths) == {"ragged": {64, 65}, "wrong_dims": {33}}.get(kind, {64})
        assert bool(np.isnan(numbers).any()) == (kind in ("nan", "null"))
        assert bool((numbers == 0).all()) is False
        assert bool((numbers[-64:] == 0).all()) == (kind == "zero")
        if dialect == "openai":
            wanted = {
                "shuffled": [2, 1, 0],
                "doubled_index": [0, 0, 0],
                "too_few": [0, 1],
                "too_many": [0, 1, 2, 3],
            }
            assert [row["index"] for row in rows] == wanted.get(kind, [0, 1, 2])


def test_ollama_can_refuse_a_second_request_during_the_first() -> None:
    with speaking("ollama") as server:
        server.one_at_a_time, server.latency_s = True, 0.3
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(ask(server, ["a"])[0])) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert sorted(statuses) == [200, 500]
        assert server.busiest == 2


TEXTS = {"one": "the cat is ill", "two": "an invoice is due", "three": "blue shades"}


def upload(server: ProviderServer, lines: list[dict[str, Any]], purpose: str = "batch") -> tuple[int, Any]:
    """Upload a file of lines."""
    content = "\n".join(json.dumps(line) for line in lines)
    form = (
        f'--BB\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
        '--BB\r\nContent-Disposition: form-data; name="file"; filename="texts.jsonl"\r\n'
        f"Content-Type: application/jsonl\r\n\r\n{content}\r\n--BB--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=BB"}
    status, _, reply = call(server, "POST", "/files", form.encode(), headers)
    return status, reply


def test_what_is_wrong_with_files_and_jobs_is_refused_and_noted() -> None:
    with serve_provider("openai", dims=32) as server:
        good = {"custom_id": "a", "method": "POST", "url": "/v1/embeddings"}
        body = {"model": PROVIDER_FACTS["openai"].model, "input": "a cat"}
        assert upload(server, [{**good, "body": body}], purpose="assistants")[0] == 400
        for lines in (
            [{**good, "body": {**body, "surprise": 1}}],
            [{**good, "body": body}, {**good, "body": body}],
            [{**good, "url": "/v1/other", "body": body}],
        ):
            file_id = upload(server, lines)[1]["id"]
            job = {"input_file_id": file_id, "endpoint": "/v1/embeddings", "completion_window": "24h"}
            assert call(server, "POST", "/batches", json.dumps(job).encode())[0] == 400
        assert call(server, "GET", "/batches/none")[0] == 404
        assert call(server, "GET", "/files/none/content")[0] == 404
        assert len(server.complaints) == 6


def gemini_job(server: ProviderServer, texts: dict[str, str], **more: Any) -> tuple[int, Any]:
    """Start a job at Google's."""
    model = PROVIDER_FACTS["gemini"].model
    content = {"model": f"models/{model}", "taskType": "RETRIEVAL_DOCUMENT"}
    requests = [
        {"request": {**content, "content": {"parts": [{"text": text}]}}, "metadata": {"key": key}}
        for key, text in texts.items()
    ]
    batch = {"displayName": "texts", "inputConfig": {"requests": {"requests": requests}}, **more}
    path = f"/models/{model}:asyncBatchEmbedContent"
    status, _, reply = call(server, "POST", path, json.dumps({"batch": batch}).encode())
    return status, reply


def test_an_unknown_field_of_a_job_at_google_is_refused() -> None:
    with serve_provider("gemini", dims=32) as server:
        assert gemini_job(server, TEXTS, surprise=1)[0] == 400
        assert len(server.complaints) == 1
