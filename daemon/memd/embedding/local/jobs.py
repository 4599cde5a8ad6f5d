"""The queue of a model: queries before texts, each first in, first out. No I/O."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import trio

from memd_client.errors import MemdError

FloatArray = npt.NDArray[np.float32]

JobKind = Literal["query", "text"]
"""The purpose of a text: a search, or the index."""

MAX_TOGETHER_CHARACTERS: Final = 1_000_000
"""Characters of the texts of one request."""


class InferenceJob:
    """A text to embed, and its result."""

    def __init__(self, text: str, kind: JobKind) -> None:
        self.text = text
        self.kind = kind
        self.tries = 0
        self.first_tried_s = math.inf
        self.abandoned = False
        self.vector: FloatArray | None = None
        self.error: MemdError | None = None
        self._over = trio.Event()

    def __repr__(self) -> str:
        state = "failed" if self.error else "done" if self.vector is not None else "waiting"
        return f"<InferenceJob {self.kind} {len(self.text)} characters, {state}>"

    @property
    def is_over(self) -> bool:
        """Whether there is a result."""
        return self._over.is_set()

    def finish(self, vector: FloatArray) -> None:
        """Set the vector as the result."""
        self.vector = vector
        self._over.set()

    def fail(self, error: MemdError) -> None:
        """Set an error as the result."""
        self.error = error
        self._over.set()

    async def result(self) -> FloatArray:
        """Wait for the raw vector (dims,), or raise the error."""
        await self._over.wait()
        if self.error is not None:
            # A copy: several jobs may share the error, and a raised exception collects tracebacks.
            raise type(self.error)(self.error.message, hint=self.error.hint, data=self.error.data)
        assert self.vector is not None
        return self.vector


class JobQueue:
    """Jobs in the order they are embedded."""

    def __init__(self) -> None:
        self._queries: deque[InferenceJob] = deque()
        self._texts: deque[InferenceJob] = deque()

    def __len__(self) -> int:
        return len(self._queries) + len(self._texts)

    def __repr__(self) -> str:
        return f"<JobQueue queries={len(self._queries)} texts={len(self._texts)}>"

    def _deque_of(self, job: InferenceJob) -> deque[InferenceJob]:
        return self._queries if job.kind == "query" else self._texts

    def push(self, job: InferenceJob) -> None:
        """Append a job to those of its kind."""
        self._deque_of(job).append(job)

    def push_back(self, job: InferenceJob) -> None:
        """Return an unfinished job to the front of its kind."""
        self._deque_of(job).appendleft(job)

    def next_kind(self) -> JobKind | None:
        """Return the kind of the next job, None if the queue is empty."""
        return "query" if self._queries else "text" if self._texts else None

    def pop(self) -> InferenceJob:
        """Remove and return the oldest query, else the oldest text."""
        return (self._queries or self._texts).popleft()

    def pop_some(self, most: int, needs_all_threads: Callable[[InferenceJob], bool]) -> list[InferenceJob]:
        """Remove and return the oldest query, else the oldest texts of one request."""
        jobs = [self.pop()]
        characters = len(jobs[0].text)
        if jobs[0].kind == "query" or needs_all_threads(jobs[0]):
            return jobs
        while (
            self._texts and len(jobs) < most and not self._queries and not needs_all_threads(self._texts[0])
        ):
            characters += len(self._texts[0].text)
            if characters > MAX_TOGETHER_CHARACTERS:
                break
            jobs.append(self._texts.popleft())
        return jobs

    def discard(self, job: InferenceJob) -> None:
        """Remove a job if it is in the queue."""
        if job in self._deque_of(job):
            self._deque_of(job).remove(job)

    def take_all(self, kind: JobKind | None = None) -> list[InferenceJob]:
        """Remove and return all jobs, or all of one kind."""
        jobs: list[InferenceJob] = []
        for name, jobs_of_kind in (("query", self._queries), ("text", self._texts)):
            if kind in (None, name):
                jobs += jobs_of_kind
                jobs_of_kind.clear()
        return jobs
