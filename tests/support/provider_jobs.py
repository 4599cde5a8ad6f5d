"""Jobs of a provider's batch API, as far as they are the same everywhere: how far one is, and what comes of it."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests.support.provider_dialects import Asked, Wanted, WrongError, render
from tests.support.provider_errors import DialectName, Reply
from tests.support.provider_faults import FaultKind, Rows, spoiled
from tests.support.provider_vectors import token_count

JobState = Literal[
    "validating", "in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled"
]
ENDED: Final = ("completed", "failed", "expired", "cancelled")


@dataclass
class Job:
    """One job: its lines as (key, what is wanted), and how far it is."""

    id: str
    lines: list[tuple[str, Wanted]]
    state: JobState = "validating"
    done: int = 0
    looks: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


class BatchDesk:
    """Jobs of one provider, and what the test does with them.

    A job ends well after it was looked at `looks_to_finish` times; with None it goes on until the test says
    `finish`, `fail` or `expire`. Lines with a text that holds `refused_marker` are refused; `lost` lines have no
    result at all; `spoil` is what is wrong with the vectors of the first line.
    """

    def __init__(
        self, rows: Callable[[Wanted], Rows], models: set[str], texts_embedded: Counter[str]
    ) -> None:
        self._rows = rows
        self._models = models
        self._texts_embedded = texts_embedded
        self._lock = threading.RLock()
        self._job_numbers = itertools.count(1)  # an id is never given twice, even after a deletion
        self._file_numbers = itertools.count(1)
        self.jobs: dict[str, Job] = {}
        self.files: dict[str, bytes] = {}
        self.looks_to_finish: int | None = 1
        self.refused_marker = ""
        self.lost = 0
        self.spoil: FaultKind | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {[(job.id, job.state) for job in self.jobs.values()]}>"

    def finish(self, job_id: str) -> None:
        """End a job well."""
        self._end(job_id, "completed", len(self.jobs[job_id].lines))

    def fail(self, job_id: str) -> None:
        """End a job with nothing done."""
        self._end(job_id, "failed", 0)

    def expire(self, job_id: str, done: int) -> None:
        """End a job in the middle: its first lines have results."""
        self._end(job_id, "expired", done)

    def advance(self, job_id: str, done: int) -> None:
        """Bring a job forward."""
        with self._lock:
            self.jobs[job_id].state, self.jobs[job_id].done = "in_progress", done

    def answer(self, asked: Asked) -> Reply | None:
        """Return the reply to a request, None where it is about something else."""
        with self._lock:
            return self._answer(asked)

    def _answer(self, asked: Asked) -> Reply | None:
        raise NotImplementedError

    def _end(self, job_id: str, state: JobState, done: int) -> None:
        with self._lock:
            job = self.jobs[job_id]
            job.state, job.done = state, done
            for _, wanted in job.lines[:done]:
                self._texts_embedded.update(wanted.texts)
            self._ended(job)

    def _ended(self, job: Job) -> None:
        """Write what an ended job leaves."""

    def _add(self, prefix: str, lines: list[tuple[str, Wanted]], **facts: Any) -> Job:
        job = Job(f"{prefix}{next(self._job_numbers):06d}", lines, facts=facts)
        self.jobs[job.id] = job
        return job

    def _look_only(self, job_id: str) -> Job:
        """Return a job as it is."""
        if job_id not in self.jobs:
            raise WrongError("path", job_id)
        return self.jobs[job_id]

    def _look(self, job_id: str) -> Job:
        """Return a job, a look further."""
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

    def _results(self, dialect: DialectName, job: Job) -> list[tuple[str, dict[str, Any] | None, Wanted]]:
        """Return (key, body or None where the text is refused, what was wanted) of the lines that are done."""
        results: list[tuple[str, dict[str, Any] | None, Wanted]] = []
        for at, (key, wanted) in enumerate(job.lines[: job.done]):
            if at < self.lost:
                continue
            if self.refused_marker and any(self.refused_marker in text for text in wanted.texts):
                results.append((key, None, wanted))
                continue
            rows, positions = spoiled(
                self.spoil if at == self.lost else None, self._rows(wanted), list(range(len(wanted.texts)))
            )
            tokens = sum(map(token_count, wanted.texts))
            results.append((key, render(dialect, wanted, rows, positions, tokens), wanted))
        return results[::-1]  # results come in any order
