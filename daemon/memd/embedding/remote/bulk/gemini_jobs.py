"""Google's batch API: the texts go up inside the call that makes the job, the vectors come down inside the job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from memd.embedding.numbers import clamped_count
from memd.embedding.redaction import Redactor
from memd.embedding.remote.account import Account
from memd.embedding.remote.bulk.api import (
    TRANSFER,
    BulkApi,
    BulkResults,
    BulkState,
    ResultCollector,
    finish,
)
from memd.embedding.remote.http import Http
from memd.embedding.remote.providers.api import EmbeddingApi
from memd_client.errors import ProviderFailedError

MAX_TEXTS: Final = 250
"""Texts of a job. Google takes more; but their vectors come in one piece of JSON, twice, 120 kB a text, and even
skimming it blocks the loop: 65 ms for 250."""

MAX_BYTES: Final = 16 << 20
"""Bytes of the call that makes a job; Google takes 20 MB."""

MAX_REPLY_BYTES: Final = 96 << 20
"""Bytes of a job with its vectors; Google shows them in two places of the same reply."""

INVALID_ARGUMENT: Final = frozenset({3, 400})
"""Codes of an error that lies in the text: Google's own, and HTTP's."""

MAX_CODE: Final = 9_999
"""The largest code of an error: Google's have 2 digits, HTTP's 3."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*){0,3}")
_WORD: Final = re.compile(r"[A-Z_]{1,48}")
_PLACES: Final = (
    ("response",),
    ("metadata", "output"),
    ("response", "output"),
    ("output",),
    ("metadata",),
    ("dest",),
)
_LISTS: Final = ("inlinedResponses", "inlinedEmbedContentResponses")

_Fields = dict[str, msgspec.Raw]


class _Status(msgspec.Struct):
    code: int = 0
    status: str = ""


class _Stats(msgspec.Struct):
    requestCount: Any = 0  # noqa: N815 - names of the reply, here and below
    successfulRequestCount: Any = 0  # noqa: N815
    failedRequestCount: Any = 0  # noqa: N815


class _Metadata(msgspec.Struct):
    state: str = ""
    batchStats: _Stats | None = None  # noqa: N815


class _Operation(msgspec.Struct):
    name: str = ""
    done: bool = False
    state: str = ""
    metadata: _Metadata | None = None
    error: _Status | None = None


class _Answer(msgspec.Struct):
    embedding: msgspec.Raw = msgspec.Raw(b"")


class _Item(msgspec.Struct):
    metadata: dict[str, Any] | None = None
    key: str | None = None
    response: _Answer | None = None
    error: _Status | None = None

    @property
    def own_key(self) -> str:
        """The key it was sent with, empty if it names none."""
        key = (self.metadata or {}).get("key") or self.key
        return key if isinstance(key, str) else ""


class GeminiJobs(BulkApi):
    """Jobs of one endpoint at Google."""

    max_texts = MAX_TEXTS
    max_bytes = MAX_BYTES

    def __init__(self, api: EmbeddingApi, http: Http, account: Account, **options: Any) -> None:
        super().__init__(api, http, account, **options)
        self._model_url = self._plain.url.rpartition(":")[0]
        self._base_url = self._model_url.rpartition("/models/")[0]
        self._ended: dict[str, bytes] = {}

    # --- texts up -----------------------------------------------------------------------------------

    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Make a job of some texts, and return its name."""
        body, tokens = await self._in_thread(lambda: self._body(items))
        request = self._request("POST", f"{self._model_url}:asyncBatchEmbedContent", body)
        with self._begin(tokens) as call:
            reply = await finish(lambda: self._send(call, request, TRANSFER))
            if reply is None:
                call.abandoned()
                raise self._absent()
            name = self._checked_id(self._decoded(reply.body, _Operation, "a job").name, "a job")
            if not _NAME.fullmatch(name):
                raise self._nonsense("the name of a job")
            call.succeeded(tokens)
            return name

    def _body(self, items: Sequence[tuple[str, str]]) -> tuple[bytes, int]:
        """Return the body of the call, and about how many tokens its texts cost. For a thread."""
        texts, tokens = self._sendable(items)
        requests = [
            {
                "request": msgspec.json.decode(self._api.request([text], "document").body)["requests"][0],
                "metadata": {"key": digest},
            }
            for (digest, _), text in zip(items, texts, strict=True)
        ]
        batch = {"displayName": "memd", "inputConfig": {"requests": {"requests": requests}}}
        return msgspec.json.encode({"batch": batch}), tokens

    # --- vectors down -------------------------------------------------------------------------------

    async def look(self, job_id: str) -> BulkState:
        """Return how far a job is."""
        self._ended.pop(job_id, None)
        body = await self._fetch_job(job_id)
        if body is None:
            return BulkState("failed", 0, 0, "the provider does not know the job")
        operation = await self._in_thread(lambda: self._decoded(body, _Operation, "a job"))
        metadata = operation.metadata or _Metadata()
        stats = metadata.batchStats or _Stats()
        total = clamped_count(stats.requestCount)
        done = clamped_count(stats.successfulRequestCount) + clamped_count(stats.failedRequestCount)
        state = (metadata.state or operation.state).rpartition("STATE_")[2]
        if operation.error is not None or state in ("FAILED", "CANCELLED", "EXPIRED"):
            self._ended[job_id] = body
            return BulkState("failed", done, total, _reason(state, operation.error, self._redactor))
        if operation.done or state == "SUCCEEDED":
            self._ended[job_id] = body
            return BulkState("done", done, total)
        return BulkState("running", done, total)

    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return what there is of a job.

        Results without keys belong to the texts in their order, where there is one for each.
        """
        body = self._ended.pop(job_id, None) or await self._fetch_job(job_id)
        return await self._in_thread(lambda: self._collect(body or b"{}", hashes))

    async def cancel(self, job_id: str) -> None:
        """Ask for the end of a job."""
        await self._fetch(self._request("POST", f"{self._url(job_id)}:cancel", b"{}"))

    async def clean_up(self, job_id: str) -> None:
        """Delete a job with its texts and vectors."""
        self._ended.pop(job_id, None)
        try:
            await self._fetch(self._request("DELETE", self._url(job_id)))
        except ProviderFailedError:
            return  # it expires at the provider

    async def _fetch_job(self, job_id: str) -> bytes | None:
        request = self._request("GET", self._url(job_id))
        reply = await self._fetch(request, TRANSFER, MAX_REPLY_BYTES)
        return None if reply is None else reply.body

    def _url(self, job_id: str) -> str:
        """Return the URL of a job. Its name is checked: the record may come from a file that was edited."""
        if not _NAME.fullmatch(job_id):
            raise self._nonsense("the name of a job")
        return f"{self._base_url}/{job_id}"

    def _collect(self, body: bytes, hashes: Sequence[str]) -> BulkResults:
        """Return the results of a job. For a thread: vectors are decoded one by one, so that others run in between."""
        collector = ResultCollector(self._api)
        items = [_item(raw) for raw in _inlined(body)]
        keys = [item.own_key for item in items]
        if len(items) == len(hashes) and not any(keys):
            keys = list(hashes)
        for key, item in zip(keys, items, strict=True):
            if not key:
                continue
            if item.error is not None:
                note = collector.refused if item.error.code in INVALID_ARGUMENT else collector.failed
                note(key, f"{self.provider}: {_reason('', item.error, self._redactor)}")
            elif item.response is not None:
                collector.replied(key, b'{"embeddings":[%b]}' % bytes(item.response.embedding))
        return collector.results()


def _inlined(body: bytes) -> list[msgspec.Raw]:
    """Return the results of a job from the place that has them: documents and servers don't agree on it."""
    for place in _PLACES:
        raw = msgspec.Raw(body)
        for step in place:
            raw = _fields(raw).get(step, msgspec.Raw(b"{}"))
        fields = _fields(raw)
        for name in _LISTS:
            found = fields.get(name)
            if found is None:
                continue
            inner = _fields(found).get("inlinedResponses", found)
            try:
                return msgspec.json.decode(inner, type=list[msgspec.Raw])
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
    return []


def _item(raw: msgspec.Raw) -> _Item:
    """Return a result, empty if it can't be read: its text is failed at the end."""
    try:
        return msgspec.json.decode(raw, type=_Item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Item()


def _fields(raw: msgspec.Raw) -> _Fields:
    """Return the fields of an object, undecoded; none of anything else."""
    try:
        return msgspec.json.decode(raw, type=_Fields)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _reason(state: str, error: _Status | None, redactor: Redactor) -> str:
    """Return why something failed, in the provider's short codes; its message may repeat the text."""
    if error is None:
        return state.lower()
    if _WORD.fullmatch(error.status) and not redactor.shows(error.status):
        return error.status
    return f"error {clamped_count(error.code, MAX_CODE)}"
