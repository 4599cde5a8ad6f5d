"""The process of the shared embedding endpoint, and its log."""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from benchmarks.peers.child import Driver
from benchmarks.peers.server import MINILM, QUERY_CHARACTERS

START_S: Final = 60.0
ANSWER_S: Final = 60.0


class RequestLogEntry(NamedTuple):
    """One request, timed in the endpoint; `longest` is in characters."""

    caller: str
    texts: int
    longest: int
    ms: float

    @property
    def is_query(self) -> bool:
        """Whether it is for one short text, unlike requests of background indexing."""
        return self.texts == 1 and self.longest <= QUERY_CHARACTERS


class EndpointProcess:
    """The endpoint's process.

    Resources: one process, ended by leaving the context.
    """

    def __init__(self, model: Path, kept: Path, log: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.peers.server", str(model), str(kept)]
        root = Path(__file__).resolve().parents[2]
        environ = {**os.environ, "PYTHONPATH": str(root), "GOMP_SPINCOUNT": "1000"}
        self._driver = Driver(command, environ, log)
        try:
            self.port = int(self._driver.read_line(START_S))
        except BaseException:
            self._driver.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.close()

    def url(self, caller: str) -> str:
        """Return the address for one caller, as OpenAI's clients expect it."""
        return f"http://127.0.0.1:{self.port}/{caller}/v1"

    def requests(self, begin: int = 0) -> list[RequestLogEntry]:
        """Return the requests of all callers, from number `begin` on."""
        with closing(self._connect()) as connection:
            connection.request("GET", f"/log?from={begin}")
            return [RequestLogEntry(*row) for row in json.loads(connection.getresponse().read())]

    def round_trips(self, queries: list[str]) -> list[float]:
        """Return the milliseconds of embedding each query with a bare HTTP client."""
        took = []
        with closing(self._connect()) as connection:
            connection.connect()
            for query in queries:
                body = json.dumps({"model": MINILM, "input": [query]})
                started = time.perf_counter()
                connection.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
                json.loads(connection.getresponse().read())
                took.append((time.perf_counter() - started) * 1000)
        return took

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S)
