"""The endpoint with nearly free vectors."""

from __future__ import annotations

import base64

import httpx
import numpy as np
import pytest

from benchmarks.vector_server import MODEL, running_server, vector_of


def test_http_vector_equals_the_local_unit_vector() -> None:
    texts = ["one text", "another", "one text"]
    with running_server() as url:
        asked = {"model": MODEL, "input": texts, "encoding_format": "base64"}
        reply = httpx.post(f"{url}/embeddings", json=asked, timeout=120).json()

    rows = [np.frombuffer(base64.b64decode(item["embedding"]), dtype="<f4") for item in reply["data"]]
    assert [item["index"] for item in reply["data"]] == [0, 1, 2]
    for text, row in zip(texts, rows, strict=True):
        assert np.array_equal(row, vector_of(text))
        assert abs(float(np.linalg.norm(row)) - 1) < 1e-6


def test_the_server_ends_with_its_block() -> None:
    with running_server() as url:
        pass

    with pytest.raises(httpx.ConnectError):
        httpx.post(f"{url}/embeddings", json={"input": ["x"]}, timeout=120)
