"""Records of batch jobs, and how texts are split into jobs. Pure."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from typing import Annotated, Final, Protocol

import msgspec

from memd.embedding.numbers import MAX_TIME_MS

Name = Annotated[str, msgspec.Meta(min_length=1)]

OVERHEAD_BYTES: Final = 512
"""Upper bound of what a request adds to a text: hash, model name, field names."""


class JobRecord(msgspec.Struct, frozen=True):
    """A submitted job whose results are not fetched yet. Contains no text and no key.

    `account` is a hash of the account that submitted it; `hashes` are those of the texts, in the order they were sent.
    """

    id: Name
    provider: Name
    space: Name
    account: Name
    hashes: tuple[str, ...]
    submitted_ms: Annotated[int, msgspec.Meta(ge=0, le=MAX_TIME_MS)]


def records_to_json(records: Sequence[JobRecord]) -> str:
    """Return records as one line of JSON."""
    return msgspec.json.encode(records).decode()


def records_from_json(text: str) -> list[JobRecord]:
    """Return the records of a line of JSON; none if it is invalid."""
    try:
        return msgspec.json.decode(text, type=list[JobRecord])
    except (ValueError, RecursionError):
        return []


class JobStore(Protocol):
    """Stores job records over restarts of the daemon."""

    async def load(self) -> list[JobRecord]:
        """Return the saved records."""

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Replace the saved records."""


def request_bytes(digest: str, text: str) -> int:
    """Return an upper bound of the bytes a text takes in a request."""
    quoted = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    return quoted + len(digest) + OVERHEAD_BYTES


def split_into_jobs(
    items: Sequence[tuple[str, str]], *, in_flight: Container[str], max_texts: int, max_bytes: int
) -> list[list[tuple[str, str]]]:
    """Return texts split into jobs, in order.

    Repeated hashes and those in `in_flight` are skipped, and so are texts too big for any job, which may still fit into
    a plain request.
    """
    jobs: list[list[tuple[str, str]]] = []
    added: set[str] = set()
    bytes_left = 0
    for digest, text in items:
        size = request_bytes(digest, text)
        if digest in in_flight or digest in added or size > max_bytes:
            continue
        added.add(digest)
        if not jobs or size > bytes_left or len(jobs[-1]) >= max_texts:
            jobs.append([])
            bytes_left = max_bytes
        jobs[-1].append((digest, text))
        bytes_left -= size
    return jobs
