"""An embedding provider on loopback: real HTTP, each provider's own protocol, and optional faults.

Every request is checked field by field (`provider_dialects`). Invalid ones are refused as the provider does and
recorded in `complaints`, which stays empty for a correct client.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.support.provider_batches import make_batch_api
from tests.support.provider_dialects import (
    PROVIDER_FACTS,
    EmbeddingRequest,
    HttpRequest,
    InvalidRequestError,
    check_key,
    check_size,
    read_embeddings,
    render,
)
from tests.support.provider_errors import DialectName, ProviderReply, json_reply, refusal
from tests.support.provider_faults import REASON_OF_FAULT, Fault, FaultKind, Rows, apply_fault
from tests.support.provider_jobs import FakeBatchApi
from tests.support.provider_vectors import words_vector
from tests.support.provider_wire import serve_http

KEY = "sk-test-0123456789abcdef-not-a-real-one"
"""The required key; no reply, log or error of memd may contain it."""

VECTOR_LENGTH = 3.7
"""Length of a compatible server's vectors, which need not be normalized."""


@dataclass
class RecordedCall:
    """A request and its response."""

    asked: HttpRequest
    texts: list[str]
    kind: str = ""
    status: int = 0
    fault: FaultKind | None = None


class ProviderServer:
    """One provider. Use `serve_provider` to run it.

    `fault` can be set at any time; `models` are its models; `latency_s` is the minimum duration of a response;
    `rewrite`, if set, replaces each response; `one_at_a_time` refuses concurrent requests, as some releases of Ollama
    do.
    """

    def __init__(self, dialect: DialectName, key: str | None, dims: int | None = None) -> None:
        self.dialect: DialectName = dialect
        self.facts = PROVIDER_FACTS[dialect]
        self.key = key
        self.dims = dims or self.facts.dims
        self.models = {self.facts.model}
        self.url = ""
        self.latency_s = 0.0
        self.rewrite: Callable[[HttpRequest, ProviderReply], ProviderReply] | None = None
        self.one_at_a_time = False
        self.requests: list[RecordedCall] = []
        self.complaints: list[str] = []
        self.texts_embedded: Counter[str] = Counter()
        self.busiest = 0
        self.closing = threading.Event()
        self._answering = 0
        self._fault: Fault | None = None
        self._lock = threading.Lock()
        self.batches: FakeBatchApi | None = make_batch_api(
            dialect, self.rows, self.models, self.texts_embedded
        )

    def __repr__(self) -> str:
        fault = self._fault.kind if self._fault is not None else "well"
        return f"<ProviderServer {self.dialect} at {self.url}, {fault}, {len(self.requests)} requests>"

    # --- controlled by the test -----------------------------------------------------------------------

    @property
    def fault(self) -> Fault | None:
        """The current fault."""
        return self._fault

    @fault.setter
    def fault(self, fault: Fault | FaultKind | None) -> None:
        """Set the fault; requests that hang because of the previous one continue."""
        with self._lock:
            earlier = self._fault
            self._fault = Fault(fault) if isinstance(fault, str) else fault
        if earlier is not None:
            earlier.released.set()

    @property
    def calls(self) -> int:
        """Number of embedding requests, failed ones included."""
        return len([call for call in self.requests if call.texts])

    def vector(self, text: str, kind: str = "", dims: int | None = None) -> NDArray[np.float32]:
        """Return the vector that memd should store for a text: float32 (dims,), of length 1."""
        raw = self._raw(text, self.facts.model, kind, dims)
        return np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)

    def rows(self, wanted: EmbeddingRequest) -> Rows:
        """Return the vectors of a request, in the provider's dimensions."""
        if wanted.dims is not None and wanted.dims > self.dims:
            raise InvalidRequestError("field", "dimensions")
        return [self._raw(text, wanted.model, wanted.kind, wanted.dims).tolist() for text in wanted.texts]

    def _raw(self, text: str, model: str, kind: str, dims: int | None) -> NDArray[np.float64]:
        whole = words_vector(text, self.dims, model, kind)
        if self.dialect == "compatible":
            whole = whole * VECTOR_LENGTH
        if dims is None or dims == self.dims:
            return whole
        cut = whole[:dims]
        return cut if self.dialect in ("gemini", "compatible") else np.asarray(cut / np.linalg.norm(cut))

    # --- responses ------------------------------------------------------------------------------------

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, Fault | None]:
        """Return the response to a request, and the fault while it is sent."""
        call = RecordedCall(asked, [])
        with self._lock:
            self.requests.append(call)
        try:
            reply, fault = self._answer(asked, call)
        except InvalidRequestError as wrong:
            with self._lock:
                self.complaints.append(f"{asked.method} {asked.path}: {wrong}")
            reply, fault = refusal(self.dialect, wrong.why, wrong.detail), None
        if self.rewrite is not None:
            reply = self.rewrite(asked, reply)
        call.status = reply.status
        call.fault = fault.kind if fault is not None else None
        return reply, fault

    def _answer(self, asked: HttpRequest, call: RecordedCall) -> tuple[ProviderReply, Fault | None]:
        check_key(self.dialect, asked, self.key)
        if asked.query:
            raise InvalidRequestError("path", asked.query)
        wanted = None if not self._is_embeddings(asked.path) else read_embeddings(self.dialect, asked)
        if wanted is not None:
            call.texts, call.kind = wanted.texts, wanted.kind
        with self._lock:
            fault = self._fault if self._fault is not None and self._fault.meets(call.texts) else None
        if fault is not None and fault.kind in REASON_OF_FAULT:
            detail = (
                "" if wanted is None else wanted.model if fault.kind == "model_missing" else wanted.texts[0]
            )
            return refusal(self.dialect, REASON_OF_FAULT[fault.kind], detail, fault.retry_after), fault
        if fault is not None and fault.kind == "hang":
            while not (fault.released.wait(0.01) or self.closing.is_set()):
                pass
        if wanted is not None:
            with self._one_more() if self.one_at_a_time or self.latency_s else nullcontext(True) as alone:
                return (self._embed(wanted, fault) if alone else refusal(self.dialect, "server")), fault
        found = self.batches.answer(asked) if self.batches is not None else None
        if found is None:
            raise InvalidRequestError("path", asked.path)
        return found, fault

    def _detail(self, kind: FaultKind, wanted: EmbeddingRequest | None) -> str:
        """Return the part of the request that a refusal repeats: the key, the model or a text."""
        if kind == "unauthorized":
            return self.key or ""
        return "" if wanted is None else wanted.model if kind == "model_missing" else wanted.texts[0]

    @contextmanager
    def _one_more(self) -> Iterator[bool]:
        """Yield whether a request may be answered, after the latency."""
        with self._lock:
            self._answering += 1
            self.busiest = max(self.busiest, self._answering)
            alone = self._answering == 1 or not self.one_at_a_time
        try:
            self.closing.wait(self.latency_s)
            yield alone
        finally:
            with self._lock:
                self._answering -= 1

    def _is_embeddings(self, path: str) -> bool:
        if self.dialect == "gemini":
            return path.endswith((":batchEmbedContents", ":embedContent"))
        return path == ("/api/embed" if self.dialect == "ollama" else f"{self.facts.prefix}/embeddings")

    def _embed(self, wanted: EmbeddingRequest, fault: Fault | None) -> ProviderReply:
        """Return vectors, with a fault of vectors applied."""
        if wanted.model not in self.models:
            raise InvalidRequestError("model", wanted.model)
        tokens = check_size(self.dialect, wanted)
        rows, positions = apply_fault(
            fault.kind if fault is not None else None, self.rows(wanted), list(range(len(wanted.texts)))
        )
        if fault is None or fault.kind in ("shuffled", "hang"):
            with self._lock:
                self.texts_embedded.update(wanted.texts)
        return json_reply(render(self.dialect, wanted, rows, positions, tokens))


@contextmanager
def serve_provider(
    dialect: DialectName, *, key: str | None = KEY, dims: int | None = None
) -> Iterator[ProviderServer]:
    """Run a provider inside the block; `url` is its base URL."""
    server = ProviderServer(dialect, key if PROVIDER_FACTS[dialect].asks_key else None, dims)
    with serve_http(server) as address:
        server.url = address + server.facts.prefix
        yield server
