"""Google's batch API: texts in the creating call, vectors in the finished job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from memd.embedding.numbers import clamped_count
from memd.embedding.redaction import Redactor
from memd.embedding.remote.account import Account
from memd.embedding.remote.bulk.api import (
    TRANSFER_TIMEOUTS,
    BulkApi,
    BulkResults,
    BulkState,
    ResultCollector,
    finish_submission,
)
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.api import EmbeddingApi
from memd_client.errors import ProviderFailedError

MAX_TEXTS: Final = 250
"""Texts of a job. Google allows more, but returns all vectors twice in one JSON document, 120 kB a text, and decoding
holds Python's interpreter lock."""

MAX_BYTES: Final = 16 << 20
"""Bytes of the call that creates a job; Google allows 20 MB."""

MAX_REPLY_BYTES: Final = 96 << 20
"""Bytes of a job with its vectors, which Google repeats in the same reply."""

INVALID_ARGUMENT: Final = frozenset({3, 400})
"""Codes of errors caused by the text: Google's and HTTP's."""

MAX_CODE: Final = 9_999
"""The largest error code to show."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*){0,3}")
_WORD: Final = re.compile(r"[A-Z_]{1,48}")
_RESULT_PATHS: Final = (
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


class _ItemReply(msgspec.Struct):
    embedding: msgspec.Raw = msgspec.Raw(b"")


class _Item(msgspec.Struct):
    metadata: dict[str, Any] | None = None
    key: str | None = None
    response: _ItemReply | None = None
    error: _Status | None = None

    @property
    def own_key(self) -> str:
        """The key of its request, empty if it has none."""
        key = (self.metadata or {}).get("key") or self.key
        return key if isinstance(key, str) else ""


class GeminiJobs(BulkApi):
    """Jobs of one endpoint at Google."""

    max_texts = MAX_TEXTS
    max_bytes = MAX_BYTES

    def __init__(self, api: EmbeddingApi, http: HttpClient, account: Account, **options: Any) -> None:
        super().__init__(api, http, account, **options)
        self._model_url = self._plain.url.rpartition(":")[0]
        self._base_url = self._model_url.rpartition("/models/")[0]
        self._ended: dict[str, bytes] = {}

    # --- submission -----------------------------------------------------------------------------------

    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Create a job for texts, and return its name."""
        body, tokens = await self._in_thread(lambda: self._body(items))
        request = self._request("POST", f"{self._model_url}:asyncBatchEmbedContent", body)
        with self._begin(tokens) as call:
            reply = await finish_submission(lambda: self._send(call, request, TRANSFER_TIMEOUTS))
            if reply is None:
                call.record_abandoned()
                raise self._no_batch_api_error()
            name = self._checked_id(self._decoded(reply.body, _Operation, "a job").name, "a job")
            if not _NAME.fullmatch(name):
                raise self._unexpected_reply_error("the name of a job")
            call.record_success(tokens)
            return name

    def _body(self, items: Sequence[tuple[str, str]]) -> tuple[bytes, int]:
        """Return the body of the call, and the estimated tokens of its texts. Blocks."""
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

    # --- results -------------------------------------------------------------------------------

    async def poll(self, job_id: str) -> BulkState:
        """Return the progress of a job."""
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
        """Return the results of a job, as far as they exist.

        Results without keys are matched to the texts by order if there is one for each.
        """
        body = self._ended.pop(job_id, None) or await self._fetch_job(job_id)
        return await self._in_thread(lambda: self._collect(body or b"{}", hashes))

    async def cancel(self, job_id: str) -> None:
        """Cancel a job."""
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
        reply = await self._fetch(request, TRANSFER_TIMEOUTS, MAX_REPLY_BYTES)
        return None if reply is None else reply.body

    def _url(self, job_id: str) -> str:
        """Return the URL of a job. Checks its name, which may come from an edited file."""
        if not _NAME.fullmatch(job_id):
            raise self._unexpected_reply_error("the name of a job")
        return f"{self._base_url}/{job_id}"

    def _collect(self, body: bytes, hashes: Sequence[str]) -> BulkResults:
        """Return a job's results. Blocks, but decodes vectors one by one."""
        collector = ResultCollector(self._api)
        items = [_item(raw) for raw in _inlined(body)]
        keys = [item.own_key for item in items]
        if len(items) == len(hashes) and not any(keys):
            keys = list(hashes)
        for key, item in zip(keys, items, strict=True):
            if not key:
                continue
            if item.error is not None:
                note = collector.add_refused if item.error.code in INVALID_ARGUMENT else collector.add_failed
                note(key, f"{self.provider}: {_reason('', item.error, self._redactor)}")
            elif item.response is not None:
                collector.add_reply(key, b'{"embeddings":[%b]}' % bytes(item.response.embedding))
        return collector.results()


def _inlined(body: bytes) -> list[msgspec.Raw]:
    """Return a job's results from the first of the known paths that has any."""
    for path in _RESULT_PATHS:
        raw = msgspec.Raw(body)
        for step in path:
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
    """Return a result, empty if it is invalid: its text is failed later."""
    try:
        return msgspec.json.decode(raw, type=_Item)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Item()


def _fields(raw: msgspec.Raw) -> _Fields:
    """Return the undecoded fields of an object; empty for other values."""
    try:
        return msgspec.json.decode(raw, type=_Fields)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _reason(state: str, error: _Status | None, redactor: Redactor) -> str:
    """Return a failure's short code; its message may repeat the text."""
    if error is None:
        return state.lower()
    if _WORD.fullmatch(error.status) and not redactor.has_secret(error.status):
        return error.status
    return f"error {clamped_count(error.code, MAX_CODE)}"
