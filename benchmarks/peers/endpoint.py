"""The embedding endpoint of all sides, a process of its own behind OpenAI's API.

    python -m benchmarks.peers.endpoint [MODEL_FILE CACHE_FILE]

Prints its port, and serves `POST /v1/embeddings` until its standard input closes. With the model `minilm` it embeds:
queries every time, longer texts once, because corpora are used again and their vectors are kept in a file. With
`instant` it makes a unit vector of the text's hash, which is nearly free and needs no model file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import sys
import threading
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import numpy as np
from numpy.typing import NDArray

from benchmarks.processes import READY_S, module_driver

if TYPE_CHECKING:
    from llama_cpp import Llama

DIMS: Final = 384
MINILM: Final = "minilm"
INSTANT: Final = "instant"
MODEL_TOKENS: Final = 256
"""The limit of the model's card; texts are truncated."""

QUERY_CHARACTERS: Final = 120
"""Longest text that counts as a query."""


class EndpointProcess:
    """The endpoint's process, with the files of a model and of its kept vectors, or with `instant` alone.

    Resources: one process, ended by leaving the context.
    """

    def __init__(self, log: Path, *files: Path) -> None:
        self._driver = module_driver("benchmarks.peers.endpoint", *map(str, files), log=log)
        try:
            self._port = int(self._driver.receive(READY_S))
        except BaseException:
            self._driver.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.close()

    @property
    def url(self) -> str:
        """Its address, as OpenAI's clients expect it."""
        return f"http://127.0.0.1:{self._port}/v1"


def load_model(file: str) -> Llama:
    """Return the model, on all cores."""
    import llama_cpp

    return llama_cpp.Llama(
        file,
        embedding=True,
        flash_attn=True,
        n_ctx=MODEL_TOKENS,
        n_batch=MODEL_TOKENS,
        n_ubatch=MODEL_TOKENS,
        n_threads_batch=os.cpu_count() or 1,
        verbose=False,
    )


class Embedder:
    """Vectors of the model; those of long texts are kept in a file."""

    def __init__(self, model: Llama, kept: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._db = sqlite3.connect(kept, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors(hash BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def vector(self, text: str) -> bytes:
        """Return a text's vector."""
        with self._lock:
            if len(text) <= QUERY_CHARACTERS:
                return self._embed(text)
            key = _hash(text)
            row = self._db.execute("SELECT vector FROM vectors WHERE hash = ?", (key,)).fetchone()
            if row is not None:
                return bytes(row[0])
            vector = self._embed(text)
            with self._db:
                self._db.execute("INSERT INTO vectors VALUES (?, ?)", (key, vector))
            return vector

    def _embed(self, text: str) -> bytes:
        return _unit(np.asarray(self._model.embed(text, truncate=True))).tobytes()


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@lru_cache(maxsize=100_000)
def instant_vector(text: str) -> NDArray[np.float32]:
    """Return a unit vector that depends only on the text's hash."""
    seed = int.from_bytes(_hash(text)[:8], "big")
    return _unit(np.random.default_rng(seed).standard_normal(DIMS))


def _unit(vector: np.ndarray) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (vector / np.linalg.norm(vector)).astype("<f4")
    return scaled


class EndpointServer(ThreadingHTTPServer):
    """The endpoint; without an embedder it has `instant` alone."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, embedder: Embedder | None = None) -> None:
        super().__init__(("127.0.0.1", 0), EndpointHandler)
        self._embedder = embedder

    def vectors(self, model: str, texts: list[str]) -> list[bytes] | None:
        """Return little-endian float32 unit vectors of some texts, None if there is no such model."""
        if model == INSTANT:
            return [instant_vector(text).tobytes() for text in texts]
        if model == MINILM and self._embedder is not None:
            return [self._embedder.vector(text) for text in texts]
        return None


class EndpointHandler(BaseHTTPRequestHandler):
    """One persistent connection; a reply is sent as one piece."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: EndpointServer

    def do_POST(self) -> None:
        """Embed."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        vectors = self.server.vectors(asked["model"], texts)
        if vectors is None:
            self._reply(404, {"error": {"message": "no such model"}})
            return
        packed = asked.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": place, "embedding": _written(vector, packed=packed)}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._reply(200, {"object": "list", "data": data, "model": asked["model"], "usage": usage})

    def _reply(self, status: int, reply: object) -> None:
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named in the library
        """Say nothing."""


def _written(vector: bytes, *, packed: bool) -> str | list[float]:
    """Return a vector in the encoding of the request: base64 or numbers."""
    if packed:
        return base64.b64encode(vector).decode()
    numbers: list[float] = np.frombuffer(vector, "<f4").tolist()
    return numbers


def main(*files: str) -> None:
    """Serve until standard input closes."""
    server = EndpointServer(Embedder(load_model(files[0]), files[1]) if files else None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
