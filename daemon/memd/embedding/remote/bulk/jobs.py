"""What is kept of a job while it runs, and how texts are cut into jobs. Pure."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from memd.embedding.numbers import clamped_time_ms

ENVELOPE_BYTES: Final = 512
"""What a text costs in a request beside itself: its hash, the model's name, names of fields. About 200 in fact."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job that was submitted and not yet collected. It holds no text and no key.

    `account` is a hash that tells whose job it is; `hashes` stand in the order the texts were sent in.
    """

    id: str
    provider: str
    space: str
    account: str
    hashes: tuple[str, ...]
    submitted_ms: int

    def to_json(self) -> dict[str, Any]:
        """Return it as values JSON has."""
        return {**asdict(self), "hashes": list(self.hashes)}

    @classmethod
    def from_json(cls, value: object) -> JobRecord | None:
        """Return what `to_json` made, None for anything else: a job that can't be read is no job."""
        if not isinstance(value, dict):
            return None
        names = ("id", "provider", "space", "account")
        texts = [value.get(name) for name in names]
        hashes, submitted_ms = value.get("hashes"), value.get("submitted_ms")
        if not all(isinstance(text, str) and text for text in texts):
            return None
        if not isinstance(hashes, list) or not all(isinstance(one, str) for one in hashes):
            return None
        if not isinstance(submitted_ms, int) or isinstance(submitted_ms, bool):
            return None
        identity, provider, space, account = (str(text) for text in texts)
        return cls(identity, provider, space, account, tuple(hashes), clamped_time_ms(submitted_ms))


def records_to_json(records: Sequence[JobRecord]) -> str:
    """Return records as one line of JSON."""
    return json.dumps([record.to_json() for record in records], separators=(",", ":"))


def records_from_json(text: str) -> list[JobRecord]:
    """Return the records of such a line; what can't be read is left out."""
    try:
        values = json.loads(text)
    except ValueError:
        return []
    records = [JobRecord.from_json(value) for value in values] if isinstance(values, list) else []
    return [record for record in records if record is not None]


class JobStore(Protocol):
    """Where records outlive the daemon."""

    async def load(self) -> list[JobRecord]:
        """Return what was saved last, nothing where nothing was."""

    async def save(self, jobs: Sequence[JobRecord]) -> None:
        """Keep these records and no others."""


def weight(digest: str, text: str) -> int:
    """Return how many bytes a text takes in a request, rather too many than too few."""
    quoted = len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace"))
    return quoted + len(digest) + ENVELOPE_BYTES


def pieces(
    items: Sequence[tuple[str, str]], *, taken: Container[str], max_texts: int, max_bytes: int
) -> list[list[tuple[str, str]]]:
    """Return texts cut into jobs, in their order.

    A hash is taken once, and not at all where it is under way already. A text too big for any job is left out: a
    plain request may still carry it.
    """
    jobs: list[list[tuple[str, str]]] = []
    seen: set[str] = set()
    room = 0
    for digest, text in items:
        size = weight(digest, text)
        if digest in taken or digest in seen or size > max_bytes:
            continue
        seen.add(digest)
        if not jobs or size > room or len(jobs[-1]) >= max_texts:
            jobs.append([])
            room = max_bytes
        jobs[-1].append((digest, text))
        room -= size
    return jobs
