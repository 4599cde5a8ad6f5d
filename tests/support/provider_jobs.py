"""Jobs of fake batch APIs: the parts common to all providers."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support.provider_dialects import EmbeddingRequest, HttpRequest, InvalidRequestError, render
from tests.support.provider_errors import DialectName, ProviderReply
from tests.support.provider_faults import FaultKind, Rows, apply_fault
from tests.support.provider_vectors import token_count

JobState = Literal[
    "validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"
]
ENDED: Final = ("completed", "failed", "expired", "cancelled")


@dataclass
class ProviderJob:
    """One job: its lines as (key, request), and its progress."""

    id: str
    lines: list[tuple[str, EmbeddingRequest]]
    state: JobState = "validating"
    done: int = 0
    looks: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


class FakeBatchApi:
    """The jobs of one provider, controlled by a test.

    A job finishes after `looks_to_finish` polls; with None it runs until `finish`, `fail` or `expire`. Lines with a
    text that contains `refused_marker` are refused; `lost` lines have no result; `spoil` is a fault in the vectors of
    the first line.
    """

    def __init__(
        self, rows: Callable[[EmbeddingRequest], Rows], models: set[str], texts_embedded: Counter[str]
    ) -> None:
        self._rows = rows
        self._models = models
        self._texts_embedded = texts_embedded
        self._lock = threading.RLock()
        self._job_numbers = itertools.count(1)  # ids are never reused, even after a deletion
        self._file_numbers = itertools.count(1)
        self.jobs: dict[str, ProviderJob] = {}
        self.files: dict[str, bytes] = {}
        self.looks_to_finish: int | None = 1
        self.refused_marker = ""
        self.lost = 0
        self.spoil: FaultKind | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {[(job.id, job.state) for job in self.jobs.values()]}>"

    def finish(self, job_id: str) -> None:
        """Finish a job."""
        self._end(job_id, "completed", len(self.jobs[job_id].lines))

    def fail(self, job_id: str) -> None:
        """Fail a job without results."""
        self._end(job_id, "failed", 0)

    def expire(self, job_id: str, done: int) -> None:
        """Expire a job: its first lines have results."""
        self._end(job_id, "expired", done)

    def advance(self, job_id: str, done: int) -> None:
        """Advance a job."""
        with self._lock:
            self.jobs[job_id].state, self.jobs[job_id].done = "in_progress", done

    def answer(self, asked: HttpRequest) -> ProviderReply | None:
        """Return the response to a request, None for other endpoints."""
        with self._lock:
            return self._answer(asked)

    def _answer(self, asked: HttpRequest) -> ProviderReply | None:
        raise NotImplementedError

    def _end(self, job_id: str, state: JobState, done: int) -> None:
        with self._lock:
            job = self.jobs[job_id]
            job.state, job.done = state, done
            for _, wanted in job.lines[:done]:
                self._texts_embedded.update(wanted.texts)
            self._ended(job)

    def _ended(self, job: ProviderJob) -> None:
        """Write the results of an ended job."""

    def _add(self, prefix: str, lines: list[tuple[str, EmbeddingRequest]], **facts: Any) -> ProviderJob:
        job = ProviderJob(f"{prefix}{next(self._job_numbers):06d}", lines, facts=facts)
        self.jobs[job.id] = job
        return job

    def _look_only(self, job_id: str) -> ProviderJob:
        """Return a job without counting a poll."""
        if job_id not in self.jobs:
            raise InvalidRequestError("path", job_id)
        return self.jobs[job_id]

    def _look(self, job_id: str) -> ProviderJob:
        """Return a job and count a poll."""
        job = self._look_only(job_id)
        job.looks += 1
        if job.state == "validating":
            job.state = "in_progress"
        elif job.state == "cancelling":
            self._end(job.id, "cancelled", job.done)
        if (
            job.state == "in_progress"
            and self.looks_to_finish is not None
            and job.looks >= self.looks_to_finish
        ):
            self.finish(job.id)
        return job

    def _results(
        self, dialect: DialectName, job: ProviderJob
    ) -> list[tuple[str, dict[str, Any] | None, EmbeddingRequest]]:
        """Return (key, body or None if refused, request) of the finished lines."""
        results: list[tuple[str, dict[str, Any] | None, EmbeddingRequest]] = []
        for at, (key, wanted) in enumerate(job.lines[: job.done]):
            if at < self.lost:
                continue
            if self.refused_marker and any(self.refused_marker in text for text in wanted.texts):
                results.append((key, None, wanted))
                continue
            rows, positions = apply_fault(
                self.spoil if at == self.lost else None, self._rows(wanted), list(range(len(wanted.texts)))
            )
            tokens = sum(map(token_count, wanted.texts))
            results.append((key, render(dialect, wanted, rows, positions, tokens), wanted))
        return results[::-1]  # results may come in any order
