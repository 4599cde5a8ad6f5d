"""The shared endpoint: questions cost every time, long texts once, and the log says who asked."""

from __future__ import annotations

import base64
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers.server import QUESTION_CHARACTERS, EndpointServer, VectorFile

LONG = "word " * QUESTION_CHARACTERS


class CountingModel:
    """A model that embeds a text by its length, and counts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, text: str, *, truncate: bool) -> list[float]:
        """Return two numbers."""
        self.texts.append(text)
        return [3.0 * len(text), 4.0 * len(text)]


@pytest.fixture
def model() -> CountingModel:
    return CountingModel()


@pytest.fixture
def server(model: CountingModel, tmp_path: Path) -> Iterator[EndpointServer]:
    with EndpointServer(model, VectorFile(str(tmp_path / "kept"))) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def embed(server: EndpointServer, texts: str | list[str], caller: str = "me", **options: str) -> list[Any]:
    body = json.dumps({"model": "minilm", "input": texts, **options}).encode()
    url = f"http://127.0.0.1:{server.server_address[1]}/{caller}/v1/embeddings"
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=30) as reply:
        return [row["embedding"] for row in json.loads(reply.read())["data"]]


def test_a_question_is_embedded_each_time_and_a_long_text_once(
    server: EndpointServer, model: CountingModel
) -> None:
    # when both come twice
    for _ in range(2):
        assert embed(server, ["why", LONG]) == [
            pytest.approx([0.6, 0.8], abs=1e-6),
            pytest.approx([0.6, 0.8], abs=1e-6),
        ]
    # then the long one was kept
    assert model.texts == ["why", LONG, "why"]


def test_instant_vectors_are_units_that_the_text_alone_decides(
    server: EndpointServer, model: CountingModel
) -> None:
    first, other, again = embed(server, ["a", "b", "a"], model="instant")
    assert first == again != other
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert model.texts == []


def test_vectors_are_packed_where_that_is_asked_for(server: EndpointServer) -> None:
    (packed,) = embed(server, "why", encoding_format="base64")
    assert np.frombuffer(base64.b64decode(packed), "<f4") == pytest.approx([0.6, 0.8], abs=1e-6)


def test_the_log_names_who_asked_how_much(server: EndpointServer) -> None:
    embed(server, "why", caller="memd")
    embed(server, ["why", LONG], caller="openclaw")
    with urllib.request.urlopen(
        f"http://127.0.0.1:{server.server_address[1]}/log?from=1", timeout=30
    ) as reply:
        rows = json.loads(reply.read())
    assert [row[:3] for row in rows] == [["openclaw", 2, len(LONG)]]
    assert rows[0][3] > 0


def test_an_unknown_model_is_refused(server: EndpointServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        embed(server, "why", model="huge")
    assert refused.value.code == 404
    refused.value.close()
