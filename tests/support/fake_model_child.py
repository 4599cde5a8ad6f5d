"""A model process without a model: real frames, and faults on request.

The file name determines how it loads (`loads-*.gguf` in `_load`; `parallel_texts*.gguf` takes texts together), and a
text how it is embedded: ``crash``, ``hang``, ``refuse``, ``nan``, ``zero``, ``short``, ``crash-once FLAG``,
``hang-once FLAG``, ``gate FLAG`` (waits until the file FLAG exists), ``long FLAG`` (the same, but can be
interrupted). Any other text gets a vector that depends on the text alone. Every start and every text is a line in
``<model file>.log``; ``together N`` means that N texts arrived at once.
"""

from __future__ import annotations

import hashlib
import os
import queue
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memd.embedding.local import child, wire

DIMS = 16
ENGINE = "fake-llama"
COMMAND = (sys.executable, str(Path(__file__).resolve()))
"""`ModelSettings.command` to run this instead of the real process."""


def write_model(path: Path, trained_tokens: int = 512) -> Path:
    """Write a file with a GGUF header and return its path."""

    def string(text: str) -> bytes:
        return struct.pack("<Q", len(text)) + text.encode()

    facts = string("general.architecture") + struct.pack("<I", 8) + string("bert")
    facts += string("bert.context_length") + struct.pack("<II", 4, trained_tokens)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + facts)
    return path


def log_of(model: Path) -> list[str]:
    """Return the log of a model's processes, oldest first."""
    log = model.with_name(model.name + ".log")
    return log.read_text().splitlines() if log.exists() else []


def vector_of(text: str) -> bytes:
    """Return the raw vector of a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=DIMS).astype("<f4").tobytes()


def _note(model: str, line: str) -> None:
    with open(model + ".log", "a", encoding="utf-8") as log:
        log.write(line + "\n")


def _load(model: str) -> wire.Message:
    name = Path(model).name
    if name.startswith("loads-without-extra"):
        return {"kind": "failed", "reason": "extra", "message": "ModuleNotFoundError: llama_cpp"}
    if name.startswith("loads-no-embedding"):
        return {"kind": "failed", "reason": "model", "message": "it gives a vector for each token"}
    if name.startswith("loads-and-crashes"):
        sys.stderr.write("GGML_ASSERT failed\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGABRT)
    if name.startswith("loads-never"):
        signal.pause()
    parallel_texts = 2 if name.startswith("parallel_texts") else 1
    ready = {"kind": "ready", "dims": DIMS, "window": 512, "parallel_texts": parallel_texts}
    return {**ready, "has_gpu": True, "gpu_layers": 2}


def _embed(text: str, cancellation: child.CancellationFlag) -> wire.Message:
    command, _, flag = text.partition(" ")
    first = command.endswith("-once") and not os.path.exists(flag)
    if first:
        Path(flag).touch()
    if command == "crash" or (command == "crash-once" and first):
        os.kill(os.getpid(), signal.SIGKILL)
    if command == "hang" or (command == "hang-once" and first):
        signal.pause()
    while command == "gate" and not os.path.exists(flag):
        time.sleep(0.002)
    while command == "long" and not os.path.exists(flag):
        if cancellation.is_interrupted():
            return {"kind": "interrupted"}
        time.sleep(0.002)
    data = vector_of(text)
    if command == "refuse":
        return {"kind": "refused", "message": "UnusableModelError"}
    if command == "nan":
        data = np.full(DIMS, np.nan, dtype="<f4").tobytes()
    if command == "zero":
        data = np.zeros(DIMS, dtype="<f4").tobytes()
    if command == "short":
        data = data[:-4]
    return {"kind": "vector", "data": data}


def _replies(
    model: str, request: wire.Message, cancellation: child.CancellationFlag
) -> Iterator[wire.Message]:
    """Yield the replies to a request; texts that arrived together are answered in reverse order."""
    texts = request["texts"]
    if len(texts) > 1:
        _note(model, f"together {len(texts)}")
    for position, text in reversed(list(enumerate(texts))):
        about = {"id": request["id"], "position": position}
        if cancellation.is_interrupted():
            yield {"kind": "untouched", **about}
            continue
        _note(model, text)
        yield {**_embed(text, cancellation), **about}


def main(model: str) -> None:
    """Run as the real process does."""
    child.end_with_parent()
    waiting: queue.SimpleQueue[wire.Message] = queue.SimpleQueue()
    cancellation = child.CancellationFlag()
    writing = threading.Lock()

    def say(reply: wire.Message) -> None:
        with writing:
            sys.stdout.buffer.write(wire.encode(reply))
            sys.stdout.buffer.flush()

    reader_arguments = (sys.stdin.buffer, waiting, cancellation, say)
    threading.Thread(target=child.read_requests, args=reader_arguments, daemon=True).start()

    _note(model, "start")
    say({"kind": "loading", "engine": ENGINE})
    ready = _load(model)
    say(ready)
    if ready["kind"] == "failed":
        os._exit(1)
    while True:
        request = waiting.get()
        cancellation.current_id = request["id"]
        for reply in _replies(model, request, cancellation):
            say(reply)


if __name__ == "__main__":
    main(sys.argv[1])
