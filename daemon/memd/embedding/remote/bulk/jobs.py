"""Records of batch jobs, and how texts are split into jobs. Pure."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from memd.embedding.numbers import clamped_time_ms

OVERHEAD_BYTES: Final = 512
"""Upper bound of what a request adds to a text: hash, model name, field names."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A submitted job whose results are not fetched yet. Contains no text and no key.

    `account` is a hash of the account that submitted it; `hashes` are those of the texts, in the order they were sent.
    """

    id: str
    provider: str
    space: str
    account: str
    hashes: tuple[str, ...]
    submitted_ms: int

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        return {**asdict(self), "hashes": list(self.hashes)}

    @classmethod
    def from_json(cls, value: object) -> JobRecord | None:
        """Return the record of JSON values, None if they are invalid."""
        if not isinstance(value, dict):
            return None
        names = ("id", "provider", "space", "account")
        texts = [value.get(name) for name in names]
        hashes, submitted_ms = value.get("hashes"), value.get("submitted_ms")
        if not all(isinstance(text, str) and text for text in texts):
            return None
        if not isinstance(hashes, list) or not all(isinstance(digest, str) for digest in hashes):
            return None
        if not isinstance(submitted_ms, int) or isinstance(submitted_ms, bool):
            return None
        job_id, provider, space, account = (str(text) for text in texts)
        return cls(job_id, provider, space, account, tuple(hashes), clamped_time_ms(submitted_ms))


def records_to_json(records: Sequence[JobRecord]) -> str:
    """Return records as one line of JSON."""
    return json.dumps([record.to_json() for record in records], separators=(",", ":"))


def records_from_json(text: str) -> list[JobRecord]:
    """Return the valid records of a line of JSON."""
    try:
        values = json.loads(text)
    except ValueError:
        return []
    records = [JobRecord.from_json(value) for value in values] if isinstance(values, list) else []
    return [record for record in records if record is not None]


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
