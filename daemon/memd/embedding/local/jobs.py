"""Texts waiting for a model: queries first, otherwise in the order they came. No I/O."""

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

Kind = Literal["query", "text"]
"""What a text is embedded for: a search, or the index."""

MAX_TOGETHER_CHARACTERS: Final = 1_000_000
"""Of texts in one request."""


class Job:
    """One text on its way through a model."""

    def __init__(self, text: str, kind: Kind) -> None:
        self.text = text
        self.kind = kind
        self.tries = 0
        self.first_tried = math.inf
        self.abandoned = False
        self.vector: FloatArray | None = None
        self.error: MemdError | None = None
        self._over = trio.Event()

    def __repr__(self) -> str:
        state = "failed" if self.error else "done" if self.vector is not None else "waiting"
        return f"<Job {self.kind} {len(self.text)} characters, {state}>"

    @property
    def is_over(self) -> bool:
        """Whether `finish` or `fail` was called."""
        return self._over.is_set()

    def finish(self, vector: FloatArray) -> None:
        """Hand over the vector."""
        self.vector = vector
        self._over.set()

    def fail(self, error: MemdError) -> None:
        """Hand over the reason why there is no vector."""
        self.error = error
        self._over.set()

    async def result(self) -> FloatArray:
        """Wait for the vector (dims,), not normalised."""
        await self._over.wait()
        if self.error is not None:
            # A copy: one error may end many jobs, and a raised exception collects its raiser's traceback.
            raise type(self.error)(self.error.message, hint=self.error.hint, data=self.error.data)
        assert self.vector is not None
        return self.vector


class JobQueue:
    """Jobs in the order a model takes them."""

    def __init__(self) -> None:
        self._queries: deque[Job] = deque()
        self._texts: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._queries) + len(self._texts)

    def __repr__(self) -> str:
        return f"<JobQueue queries={len(self._queries)} texts={len(self._texts)}>"

    def _line(self, job: Job) -> deque[Job]:
        return self._queries if job.kind == "query" else self._texts

    def push(self, job: Job) -> None:
        """Queue a job behind the others of its kind."""
        self._line(job).append(job)

    def push_back(self, job: Job) -> None:
        """Put a job that was taken and not finished before all others of its kind."""
        self._line(job).appendleft(job)

    def next_kind(self) -> Kind | None:
        """Return what kind of job is taken next, None if nothing waits."""
        return "query" if self._queries else "text" if self._texts else None

    def pop(self) -> Job:
        """Take the next job: the oldest query, else the oldest text."""
        return (self._queries or self._texts).popleft()

    def pop_some(self, most: int, goes_alone: Callable[[Job], bool]) -> list[Job]:
        """Take the oldest query, else the oldest texts that may go together."""
        jobs = [self.pop()]
        characters = len(jobs[0].text)
        if jobs[0].kind == "query" or goes_alone(jobs[0]):
            return jobs
        while self._texts and len(jobs) < most and not self._queries and not goes_alone(self._texts[0]):
            characters += len(self._texts[0].text)
            if characters > MAX_TOGETHER_CHARACTERS:
                break
            jobs.append(self._texts.popleft())
        return jobs

    def discard(self, job: Job) -> None:
        """Remove a job, if it wasn't taken yet."""
        if job in self._line(job):
            self._line(job).remove(job)

    def take_all(self, kind: Kind | None = None) -> list[Job]:
        """Take every job, or every job of one kind."""
        jobs: list[Job] = []
        for name, line in (("query", self._queries), ("text", self._texts)):
            if kind in (None, name):
                jobs += line
                line.clear()
        return jobs
