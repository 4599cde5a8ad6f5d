"""The endpoint and the processes of a comparison."""

from __future__ import annotations

import base64
import json
import os
import select
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers.endpoint import QUERY_CHARACTERS, Embedder, EndpointServer
from benchmarks.processes import ChildError, Driver, run_once

LONG = "word " * QUERY_CHARACTERS


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
    with EndpointServer(Embedder(model, str(tmp_path / "kept"))) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def embed(server: EndpointServer, texts: str | list[str], **options: str) -> list[Any]:
    body = json.dumps({"model": "minilm", "input": texts, **options}).encode()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1/embeddings"
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=120) as reply:
        return [row["embedding"] for row in json.loads(reply.read())["data"]]


def test_queries_are_embedded_every_time_and_long_texts_once(
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


def test_instant_vectors_are_unit_vectors_of_the_text(server: EndpointServer, model: CountingModel) -> None:
    first, other, again = embed(server, ["a", "b", "a"], model="instant")
    assert first == again != other
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert model.texts == []


def test_vectors_are_packed_on_request(server: EndpointServer) -> None:
    (packed,) = embed(server, "why", encoding_format="base64")
    assert np.frombuffer(base64.b64decode(packed), "<f4") == pytest.approx([0.6, 0.8], abs=1e-6)


def test_an_unknown_model_is_refused(server: EndpointServer) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        embed(server, "why", model="huge")
    assert refused.value.code == 404
    refused.value.close()


ENVIRON = {"PATH": os.defpath}

ECHO = """
import sys
import time
for line in sys.stdin:
    print('{"error": "no"}' if "bad" in line else line.strip(), flush=True)
"""


def test_run_has_its_output(tmp_path: Path) -> None:
    run = run_once([sys.executable, "-c", "print(1 + 1)"], ENVIRON, tmp_path, 60)
    assert run.output == "2\n"
    assert run.ms > 1


def test_failing_run_has_its_error(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="ended with 3: out of luck"):
        run_once(["/bin/sh", "-c", "echo out of luck >&2; exit 3"], ENVIRON, tmp_path, 60)


def test_run_beyond_its_deadline_is_killed(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match="ended with -9"):
        run_once(["/bin/sh", "-c", "sleep 600"], ENVIRON, tmp_path, 0.2)


def test_a_driver_answers_line_by_line(tmp_path: Path) -> None:
    with Driver([sys.executable, "-c", ECHO], ENVIRON, tmp_path / "log") as driver:
        assert driver.ask({"n": 1}, 60) == {"n": 1}
        assert driver.ask({"n": 2}, 60) == {"n": 2}


def test_error_of_a_driver_is_raised_and_the_driver_continues(tmp_path: Path) -> None:
    with Driver([sys.executable, "-c", ECHO], ENVIRON, tmp_path / "log") as driver:
        with pytest.raises(ChildError, match="no"):
            driver.ask({"bad": 1}, 60)
        assert driver.ask({"n": 2}, 60) == {"n": 2}


def test_silent_and_ended_drivers_raise(tmp_path: Path) -> None:
    with Driver(["/bin/sh", "-c", "read line; read line"], ENVIRON, tmp_path / "log") as driver:
        with pytest.raises(ChildError, match=r"silent for 0.1 s"):
            driver.ask({}, 0.1)
        with pytest.raises(ChildError, match="has ended"):
            driver.ask({}, 60)


def test_children_of_a_driver_end_with_it(tmp_path: Path) -> None:
    # given a driver that started a process and ends
    program = "sleep 600 & echo $!; read line"
    with Driver(["/bin/sh", "-c", program], ENVIRON, tmp_path / "log") as driver:
        started = os.pidfd_open(driver.receive(60))
    # then the other one ends, too
    assert select.select([started], [], [], 60)[0]
    os.close(started)
