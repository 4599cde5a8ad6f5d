"""How a model is to be started: looked up on disk before each start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memd.embedding.local import fit
from memd.embedding.local.header import FileStamp, has_rank_head, load_fingerprint, load_header, load_stamp
from memd.embedding.local.machine import load_physical_cores
from memd_client.errors import MemdError, ModelInvalidError


@dataclass(frozen=True, slots=True)
class Plan:
    """How a process is to be started, what it will take of memory, and the file it was planned for."""

    stamp: FileStamp
    context: int
    threads: int
    need_bytes: int


NO_PLAN = Plan(FileStamp(0, 0, 0), context=0, threads=0, need_bytes=0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A permanent error, believed `until` a moment of trio's clock while the file keeps its stamp."""

    error: MemdError
    stamp: FileStamp
    until: float


def load_plan(
    path: Path, *, fingerprint: str | None, chunk_tokens: int, threads: int, ranks: bool = False
) -> Plan:
    """Return how to start a model."""
    stamp = load_stamp(path)
    header = load_header(path)
    if fingerprint is not None and load_fingerprint(path) != fingerprint:
        raise ModelInvalidError(
            f"{path} is another file than the one that was chosen",
            hint="Nothing to do: the daemon notices the new file with its next look at the settings.",
        )
    if ranks and not has_rank_head(path):
        raise ModelInvalidError(f"{path} is no reranker: it has no classification head")
    context = fit.context_tokens(chunk_tokens, header.trained_tokens)
    return Plan(
        stamp,
        context=context,
        threads=fit.thread_count(threads, load_physical_cores()),
        need_bytes=fit.memory_need(stamp.size, context),
    )
