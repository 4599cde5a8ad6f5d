"""Tests of the job queue against a simple model of it."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memd.embedding.local.jobs import InferenceJob, JobQueue


class QueueMachine(RuleBasedStateMachine):
    """Queries before texts, each first in, first out."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = JobQueue()
        self.waiting: dict[str, list[InferenceJob]] = {"query": [], "text": []}
        self.taken: list[InferenceJob] = []

    @rule(kind=st.sampled_from(["query", "text"]))
    def push(self, kind: str) -> None:
        job = InferenceJob("text", kind)  # type: ignore[arg-type]
        self.queue.push(job)
        self.waiting[kind].append(job)

    @precondition(lambda self: any(self.waiting.values()))
    @rule()
    def pop(self) -> None:
        line = self.waiting["query"] or self.waiting["text"]
        job = line.pop(0)
        assert self.queue.pop() is job
        self.taken.append(job)

    @precondition(lambda self: self.taken)
    @rule()
    def push_back(self) -> None:
        job = self.taken.pop()
        self.queue.push_back(job)
        self.waiting[job.kind].insert(0, job)

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        jobs = [*self.waiting["query"], *self.waiting["text"], *self.taken]
        if jobs:
            job = data.draw(st.sampled_from(jobs))
            self.queue.discard(job)
            if job in self.waiting[job.kind]:
                self.waiting[job.kind].remove(job)

    @rule(kind=st.sampled_from([None, "query", "text"]))
    def take_all(self, kind: str | None) -> None:
        expected = []
        for name, line in self.waiting.items():
            if kind in (None, name):
                expected += line
                line.clear()
        assert self.queue.take_all(kind) == expected  # type: ignore[arg-type]

    @invariant()
    def length_is_right(self) -> None:
        assert len(self.queue) == sum(map(len, self.waiting.values()))
        assert f"queries={len(self.waiting['query'])}" in repr(self.queue)


TestQueue = QueueMachine.TestCase


def test_empty_queue_has_no_next_job() -> None:
    with pytest.raises(IndexError):
        JobQueue().pop()
