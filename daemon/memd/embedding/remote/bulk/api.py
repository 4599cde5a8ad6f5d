"""What a provider's batch API is to us: texts go in as a job, their vectors come out of it minutes or hours later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from memd.embedding.provider import FloatArray

NO_RESULT: Final = "the job holds no result for it"
OTHER_SIZE: Final = "its vector is of another size than the others"


@dataclass(frozen=True, slots=True)
class BulkState:
    """How far a job is. `done` of `total` texts were worked on; `reason` says why it failed."""

    state: Literal["running", "done", "failed"]
    done: int
    total: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BulkResults:
    """What came of a job's texts, by their hashes.

    `vectors` are (dims,), of unit length and all of one size. A text in `refused` the provider won't take, whoever
    asks; one in `failed` may be sent again. `tokens` is None where the provider doesn't count them.
    """

    vectors: dict[str, FloatArray] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    tokens: int | None = None


class BulkApi(Protocol):
    """One provider's batch API.

    Every method raises `ProviderFailedError` where the call can't be made or isn't answered as it should be;
    `data["retry_after_s"]` is set where the account is paused, and nothing was sent then.
    """

    @property
    def provider(self) -> str:
        """The provider's name in settings and status."""

    @property
    def owner(self) -> str:
        """16 hex digits that tell whose jobs these are: made of provider, address and key, none of which they show."""

    @property
    def max_texts(self) -> int:
        """How many texts a job may hold."""

    @property
    def max_bytes(self) -> int:
        """How many bytes a job's request may hold, by `jobs.weight`."""

    def retry_in_s(self) -> float:
        """Return how long calls are refused without being tried, 0 where one may be made now."""

    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Make a job of some texts, and return its id.

        Args:
            items: (hash, text) with distinct hashes, within the limits.

        Cancellation: what was uploaded is left to expire at the provider. The call that makes the job is awaited for
        a few seconds even then, and its id returned: an id that is lost is a job paid for in vain.
        """

    async def look(self, job_id: str) -> BulkState:
        """Return how far a job is; one the provider doesn't know has failed."""

    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return what there is of a job that ended, or of one that was cut short: it may be a part, or nothing.

        Args:
            job_id: From `submit`.
            hashes: Of the job's texts, in the order they were given in.
        """

    async def cancel(self, job_id: str) -> None:
        """Ask for the end of a job; what it has done so far stays to be had."""

    async def clean_up(self, job_id: str) -> None:
        """Delete what the provider keeps of a job that ended. Errors are swallowed: it expires there anyway."""


def of_one_size(results: BulkResults, dims: int | None = None) -> BulkResults:
    """Return results whose vectors are all of one size; the others' texts are failed."""
    sizes = Counter(vector.shape[0] for vector in results.vectors.values())
    if dims is None and sizes:
        size, count = sizes.most_common(1)[0]
        dims = size if 2 * count > sizes.total() else None
    kept = {one: vector for one, vector in results.vectors.items() if vector.shape[0] == dims}
    odd = {one: OTHER_SIZE for one in results.vectors if one not in kept}
    return BulkResults(kept, results.refused, {**results.failed, **odd}, results.tokens)


def of_these(results: BulkResults, hashes: Sequence[str]) -> BulkResults:
    """Return results of exactly the texts that were sent.

    Others are left out, and missing ones are failed. Where more than one was sent and every one was refused, it is
    the request that is wrong, not the texts: they are failed then.
    """

    vectors = {one: results.vectors[one] for one in hashes if one in results.vectors}
    refused = {one: results.refused[one] for one in hashes if one in results.refused and one not in vectors}
    if len(hashes) > 1 and len(refused) == len(hashes):
        return BulkResults({}, {}, refused, results.tokens)
    failed = {
        one: results.failed.get(one, NO_RESULT) for one in hashes if one not in vectors and one not in refused
    }
    return BulkResults(vectors, refused, failed, results.tokens)
