"""The processes of `benchmarks.embedding`, one per setting.

    python -m benchmarks.embedding_processes llama MODEL '{"flash_attn": true}'
    python -m benchmarks.embedding_processes memd MODEL

A process reads and writes JSON lines: `{"what": "embed", "texts": [...], "together": 0}` is answered by `{"seconds":
1.5}` or `{"error": "..."}`, `"what": "count"` by `{"tokens": [430, ...]}`. Only the embedding is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeVar

import trio

from memd.embedding.local.owner import LIMITS, LocalModel, LocalProvider, ModelOwner
from memd.embedding.local.process import RunnerSettings
from memd.embedding.local.reference import local_space

CHUNK_TOKENS = 400
"""The default of `chunking.tokens`, in estimated tokens."""

SPIN = "GOMP_SPINCOUNT"

T = TypeVar("T")


class EmbeddingProcessError(Exception):
    """A process crashed or cannot embed these texts."""


@dataclass(frozen=True)
class EmbeddingOptions:
    """Options of llama-cpp-python, or memd if `options` is None.

    `together` is the number of texts per call (0: a single string), `spin` the value of GOMP_SPINCOUNT (None: not set).
    """

    name: str
    options: Mapping[str, Any] | None = None
    together: int = 0
    spin: str | None = None


@dataclass
class EmbeddingProcess:
    """The process of one setting.

    Resources: one process, ended by `close`.
    """

    setting: EmbeddingOptions
    model: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Start the process, which loads the model."""
        kind = "memd" if self.setting.options is None else "llama"
        environ = {name: value for name, value in os.environ.items() if name != SPIN}
        if self.setting.spin is not None:
            environ[SPIN] = self.setting.spin
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.embedding_processes", kind, str(self.model)),
                json.dumps(self.setting.options),
            ],
            env={**environ, "GGML_NO_BACKTRACE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def rate(self, texts: Sequence[str]) -> float:
        """Embed some texts and return how many per second."""
        return len(texts) / float(self._ask(texts)["seconds"])

    def can(self, texts: Sequence[str]) -> bool:
        """Return whether the process can embed such texts, by embedding one."""
        try:
            self._ask(texts[:1])
        except EmbeddingProcessError:
            return False
        return True

    def tokens(self, text: str) -> int:
        """Return a text's tokens by the model; only llama-cpp-python's sides know them."""
        return int(self._ask([text], "count")["tokens"][0])

    def _ask(self, texts: Sequence[str], what: str = "embed") -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            query = json.dumps({"what": what, "texts": list(texts), "together": self.setting.together})
            self.process.stdin.write(query.encode() + b"\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise EmbeddingProcessError(f"crashed, exit code {self.process.wait(10)}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise EmbeddingProcessError(reply["error"])
        return reply

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            return


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """Return what something returned, and the seconds it took."""
    started = time.perf_counter()
    value = run()
    return value, time.perf_counter() - started


def serve_llama(model: Path, options: Mapping[str, Any], replies: TextIO) -> None:
    """Embed by llama-cpp-python alone; vectors are neither checked nor normalised."""
    import llama_cpp

    llama = llama_cpp.Llama(str(model), embedding=True, **options)

    def embed(texts: list[str], together: int) -> None:
        if together == 0:
            for text in texts:
                llama.embed(text, truncate=False)
        for start in range(0, len(texts), together) if together else ():
            llama.embed(texts[start : start + together], truncate=False)

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        if asked["what"] == "count":
            return {"tokens": [len(llama.tokenize(text.encode())) for text in asked["texts"]]}
        try:
            return {"seconds": timed(lambda: embed(asked["texts"], asked["together"]))[1]}
        except (ValueError, RuntimeError) as error:
            return {"error": str(error)}

    for line in sys.stdin:
        asked = json.loads(line)
        replies.write(json.dumps(answer(asked)) + "\n")
        replies.flush()


async def serve_memd(model: Path, replies: TextIO) -> None:
    """Embed by memd's provider, in batches as `sync.embed` asks for them."""
    owner = ModelOwner(RunnerSettings(keep_alive_s=0))
    async with trio.open_nursery() as nursery:
        await nursery.start(owner.run)
        file = LocalModel(model, model.name)
        provider = LocalProvider(owner, file, local_space("minilm", None), chunk_tokens=CHUNK_TOKENS)
        while line := await trio.to_thread.run_sync(sys.stdin.readline):
            texts = json.loads(line)["texts"]
            started = time.perf_counter()
            for start in range(0, len(texts), LIMITS.max_texts):
                await provider.embed_batch(texts[start : start + LIMITS.max_texts])
            replies.write(json.dumps({"seconds": time.perf_counter() - started}) + "\n")
            replies.flush()
        nursery.cancel_scope.cancel()


def main(kind: str, model: Path, options: str) -> None:
    """Serve until stdin closes."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # for logs, and whatever llama.cpp prints
    if kind == "memd":
        trio.run(serve_memd, model, replies)
    else:
        serve_llama(model, json.loads(options), replies)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
