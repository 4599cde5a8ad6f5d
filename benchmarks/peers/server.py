"""The embedding endpoint that all systems share: MiniLM of memd's own file behind the API that OpenAI has.

    python -m benchmarks.peers.server MODEL_FILE CACHE_FILE

Prints its port, and serves `POST /v1/embeddings` until its standard input closes. The model named in a request says
what it costs: `minilm` embeds; a question anew each time it comes, while the vectors of longer texts are kept in a
file, since corpora come again. `instant` makes a unit vector of the text's hash, which costs next to nothing and
means nothing. Whatever stands before `/v1` in the path is the caller's name; `GET /log?from=N` tells who asked what,
from the Nth request on.
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
"""What this model's card has it read of a text; the rest is cut off."""

QUESTION_CHARACTERS: Final = 120
"""A text up to this long is a question."""


def load_model(file: str) -> Llama:
    """Return the model on all cores."""
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
    """Vectors by the hash of their text, in a file that outlives the process; used under the server's lock."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors(hash BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def find(self, text: str) -> bytes | None:
        """Return a text's vector, where it was kept."""
        row = self._db.execute("SELECT vector FROM vectors WHERE hash = ?", (_hash(text),)).fetchone()
        return None if row is None else bytes(row[0])

    def keep(self, text: str, vector: bytes) -> None:
        """Keep a text's vector."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (_hash(text), vector))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


@lru_cache(maxsize=100_000)
def instant_vector(text: str) -> bytes:
    """Return a unit vector that depends on nothing but the text's hash."""
    seed = int.from_bytes(_hash(text)[:8], "big")
    return unit(np.random.default_rng(seed).standard_normal(DIMS))


def unit(vector: np.ndarray) -> bytes:
    """Return a vector at length one, as little-endian float32."""
    packed: bytes = (vector / np.linalg.norm(vector)).astype("<f4").tobytes()
    return packed


class EndpointServer(ThreadingHTTPServer):
    """The endpoint: its model, and a log of (caller, texts, characters of the longest, milliseconds)."""

    daemon_threads = True

    def __init__(self, model: Llama, kept: VectorFile) -> None:
        super().__init__(("127.0.0.1", 0), EndpointRequest)
        self.log: list[tuple[str, int, int, float]] = []
        self._model = model
        self._kept = kept
        self._lock = threading.Lock()

    def vectors(self, model: str, texts: list[str]) -> list[bytes]:
        """Return little-endian float32 unit vectors of some texts, one request at a time."""
        if model == INSTANT:
            return [instant_vector(text) for text in texts]
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        with self._lock:
            if len(text) <= QUESTION_CHARACTERS:
                return self._embed(text)
            vector = self._kept.find(text)
            if vector is None:
                vector = self._embed(text)
                self._kept.keep(text, vector)
            return vector

    def _embed(self, text: str) -> bytes:
        return unit(np.asarray(self._model.embed(text, truncate=True)))


class EndpointRequest(BaseHTTPRequestHandler):
    """One connection, kept open; a reply leaves in one piece, so that nobody waits for an acknowledgement."""

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
        """Tell what was asked."""
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
    """Return a vector as the caller wants it in JSON: packed in base64, or its numbers."""
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
