"""The embedding endpoint of all sides: MiniLM from memd's own file behind OpenAI's API.

    python -m benchmarks.peers.server MODEL_FILE CACHE_FILE

Prints its port, and serves `POST /v1/embeddings` until its standard input closes. With the model `minilm` it embeds:
queries every time, longer texts once, because corpora are used again and their vectors are kept in a file. With
`instant` it makes a unit vector of the text's hash, which is nearly free. The path before `/v1` is the caller's name;
`GET /log?from=N` returns the requests from number N on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import numpy as np

if TYPE_CHECKING:
    from llama_cpp import Llama

DIMS: Final = 384
MINILM: Final = "minilm"
INSTANT: Final = "instant"
MODEL_TOKENS: Final = 256
"""The limit of the model's card; texts are truncated."""

QUERY_CHARACTERS: Final = 120
"""Longest text that counts as a query."""


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


class VectorFile:
    """Vectors by the hash of their text, in a file; used under the server's lock."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors(hash BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def find(self, text: str) -> bytes | None:
        """Return a text's vector, if it is there."""
        row = self._db.execute("SELECT vector FROM vectors WHERE hash = ?", (_hash(text),)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, text: str, vector: bytes) -> None:
        """Store a text's vector."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (_hash(text), vector))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@lru_cache(maxsize=100_000)
def instant_vector(text: str) -> bytes:
    """Return a unit vector that depends only on the text's hash."""
    seed = int.from_bytes(_hash(text)[:8], "big")
    return unit(np.random.default_rng(seed).standard_normal(DIMS))


def unit(vector: np.ndarray) -> bytes:
    """Return a vector of length one as little-endian float32."""
    packed: bytes = (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
    return packed


class EndpointServer(ThreadingHTTPServer):
    """The endpoint and its log.

    An entry is (caller, texts, characters of the longest text, milliseconds).
    """

    daemon_threads = True

    def __init__(self, model: Llama, kept: VectorFile) -> None:
        super().__init__(("127.0.0.1", 0), EndpointHandler)
        self.log: list[tuple[str, int, int, float]] = []
        self._model = model
        self._kept = kept
        self._lock = threading.Lock()

    def vectors(self, model: str, texts: list[str]) -> list[bytes]:
        """Return little-endian float32 unit vectors of some texts."""
        if model == INSTANT:
            return [instant_vector(text) for text in texts]
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        with self._lock:
            if len(text) <= QUERY_CHARACTERS:
                return self._embed(text)
            vector = self._kept.find(text)
            if vector is None:
                vector = self._embed(text)
                self._kept.keep(text, vector)
            return vector

    def _embed(self, text: str) -> bytes:
        return unit(np.asarray(self._model.embed(text, truncate=True)))


class EndpointHandler(BaseHTTPRequestHandler):
    """One persistent connection; a reply is sent as one piece."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: EndpointServer

    def do_POST(self) -> None:
        """Embed."""
        started = time.perf_counter()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model = asked["model"]
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        caller, _, rest = urlsplit(self.path).path.rpartition("/v1/")
        if rest != "embeddings" or model not in (MINILM, INSTANT):
            self._reply(404, b'{"error": {"message": "no such model"}}')
            return
        vectors = self.server.vectors(model, texts)
        packed = asked.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": place, "embedding": written(vector, packed=packed)}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        body = json.dumps({"object": "list", "data": data, "model": model, "usage": usage}).encode()
        took_ms = (time.perf_counter() - started) * 1000
        self.server.log.append((caller.strip("/"), len(texts), max(map(len, texts)), took_ms))
        self._reply(200, body)

    def do_GET(self) -> None:
        """Return the log."""
        begin = int(parse_qs(urlsplit(self.path).query).get("from", ["0"])[0])
        self._reply(200, json.dumps(self.server.log[begin:]).encode())

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named in the library
        """Say nothing."""


def written(vector: bytes, *, packed: bool) -> str | list[float]:
    """Return a vector in the encoding of the request: base64 or numbers."""
    if packed:
        return base64.b64encode(vector).decode()
    numbers: list[float] = np.frombuffer(vector, "<f4").tolist()
    return numbers


def main(model: str, kept: str) -> None:
    """Serve until standard input closes."""
    server = EndpointServer(load_model(model), VectorFile(kept))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
