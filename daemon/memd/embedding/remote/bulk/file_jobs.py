"""The batch APIs of OpenAI and Voyage, with files of requests and replies."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec
import trio
from msgspec import Struct

from memd.embedding.numbers import clamped_count
from memd.embedding.redaction import Redactor
from memd.embedding.remote.account import Account, ProviderCall
from memd.embedding.remote.bulk.api import (
    TRANSFER_TIMEOUTS,
    BulkApi,
    BulkResults,
    BulkState,
    ResultCollector,
    finish_submission,
)
from memd.embedding.remote.circuit_breaker import TRIES
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.api import EmbeddingApi
from memd_client.errors import ProviderFailedError

MAX_TEXTS: Final = 2_500
"""Texts of a job. The providers allow 50,000, but vectors of 2,500 texts take up to 155 MB of RAM as JSON, and their
million tokens are a third of what OpenAI's smallest paid accounts may queue."""

MAX_BYTES: Final = 32 << 20
"""Bytes of a job's file, which is in RAM during the upload. The providers allow 200 MB."""

MAX_REPLY_BYTES: Final = 256 << 20
"""Bytes of a file of replies: 2,500 vectors of 3,072 numbers of 20 digits take 155 MB."""

_CODE: Final = re.compile(r"[A-Za-z0-9_]{1,48}")
_ENDED: Final = frozenset({"failed", "expired", "cancelled", "canceled"})


class FileDialect(Struct, frozen=True):
    """The differences: deadline, and whether each line is a complete request."""

    window: str
    whole_requests: bool


OPENAI: Final = FileDialect("24h", whole_requests=True)
VOYAGE: Final = FileDialect("12h", whole_requests=False)


class _File(msgspec.Struct):
    id: str


class _Batch(msgspec.Struct):
    id: str
    status: str
    request_counts: Any = None
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Any = None


class _ItemReply(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"")


class _Line(msgspec.Struct):
    custom_id: str
    response: _ItemReply | None = None
    error: Any = None


class FileJobs(BulkApi):
    """Jobs of one endpoint at OpenAI or Voyage."""

    max_texts = MAX_TEXTS
    max_bytes = MAX_BYTES

    def __init__(
        self,
        api: EmbeddingApi,
        http: HttpClient,
        account: Account,
        dialect: FileDialect,
        *,
        prefix: str = "",
        pause: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        super().__init__(api, http, account, prefix=prefix, pause=pause)
        self._dialect = dialect
        self._base_url = self._plain.url.removesuffix("/embeddings")
        self._files: dict[str, list[str]] = {}

    # --- submission -----------------------------------------------------------------------------------

    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Upload texts, create a job, and return its id."""
        boundary = secrets.token_hex(16)
        form, shared, tokens = await self._in_thread(lambda: self._form(items, boundary))
        with self._begin(tokens) as call:
            file_id = await self._upload(call, form, boundary)
            del form
            try:
                return await self._create(call, file_id, shared)
            except ProviderFailedError:
                await self._delete(file_id)
                raise

    async def _upload(self, call: ProviderCall, form: bytes, boundary: str) -> str:
        request = self._request(
            "POST", f"{self._base_url}/files", form, f"multipart/form-data; boundary={boundary}"
        )
        try:
            # a file that is uploaded twice costs nothing and expires
            reply = await self._send(call, request, TRANSFER_TIMEOUTS, tries=TRIES)
            if reply is None:
                raise self._no_batch_api_error()
            return self._checked_id(self._decoded(reply.body, _File, "a file").id, "a file")
        except BaseException:
            call.record_abandoned()
            raise

    async def _create(self, call: ProviderCall, file_id: str, shared: dict[str, Any]) -> str:
        wanted: dict[str, Any] = {
            "input_file_id": file_id,
            "endpoint": "/v1/embeddings",
            "completion_window": self._dialect.window,
        }
        if not self._dialect.whole_requests:
            wanted["request_params"] = shared
        request = self._request("POST", f"{self._base_url}/batches", msgspec.json.encode(wanted))
        reply = await finish_submission(lambda: self._send(call, request))
        if reply is None:
            call.record_abandoned()
            raise self._no_batch_api_error()
        job_id = self._checked_id(self._decoded(reply.body, _Batch, "a job").id, "a job")
        call.record_success(call.tokens)
        self._files[job_id] = [file_id]
        return job_id

    def _form(self, items: Sequence[tuple[str, str]], boundary: str) -> tuple[bytes, dict[str, Any], int]:
        """Return the upload form, common request fields, and tokens. Blocks."""
        shared: dict[str, Any] = msgspec.json.decode(self._plain.body)
        shared.pop("input")
        texts, tokens = self._sendable(items)
        own = shared if self._dialect.whole_requests else {}
        lines = [
            b'--%b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' % boundary.encode(),
            b'--%b\r\nContent-Disposition: form-data; name="file"; filename="memd.jsonl"\r\n'
            % boundary.encode(),
            b"Content-Type: application/jsonl\r\n\r\n",
        ]
        encode = msgspec.json.Encoder().encode
        for (digest, _), text in zip(items, texts, strict=True):
            line: dict[str, Any] = {"custom_id": digest}
            if self._dialect.whole_requests:
                line |= {"method": "POST", "url": "/v1/embeddings"}
            lines += [encode({**line, "body": {**own, "input": [text]}}), b"\n"]
        lines.append(b"\r\n--%b--\r\n" % boundary.encode())
        return b"".join(lines), shared, tokens

    # --- results -------------------------------------------------------------------------------

    async def poll(self, job_id: str) -> BulkState:
        """Return the progress of a job."""
        batch = await self._batch(job_id)
        if batch is None:
            return BulkState("failed", 0, 0, "the provider does not know the job")
        counts = batch.request_counts if isinstance(batch.request_counts, dict) else {}
        total, completed, failed = (
            clamped_count(counts.get(name)) for name in ("total", "completed", "failed")
        )
        done = completed + failed
        if batch.status == "completed":
            return BulkState("done", done, total)
        if batch.status in _ENDED:
            return BulkState("failed", done, total, _reason(batch, self._redactor))
        return BulkState("running", done, total)

    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return the results of a job, as far as they exist."""
        batch = await self._batch(job_id)
        collector = ResultCollector(self._api)
        for file_id in (batch.output_file_id, batch.error_file_id) if batch else ():
            if not file_id:
                continue
            content = self._request("GET", f"{self._file_url(file_id)}/content")
            reply = await self._fetch(content, TRANSFER_TIMEOUTS, MAX_REPLY_BYTES)
            if reply is not None:
                await self._in_thread(_reader(reply.body, collector, self._redactor))
        return collector.results()

    async def cancel(self, job_id: str) -> None:
        """Cancel a job."""
        await self._fetch(self._request("POST", f"{self._job_url(job_id)}/cancel"))

    async def clean_up(self, job_id: str) -> None:
        """Delete a job's files."""
        for file_id in self._files.pop(job_id, ()):
            await self._delete(file_id)

    async def _delete(self, file_id: str) -> None:
        try:
            await self._fetch(self._request("DELETE", self._file_url(file_id)))
        except ProviderFailedError:
            return  # it expires at the provider

    async def _batch(self, job_id: str) -> _Batch | None:
        """Return the provider's description of a job, None if it doesn't know it."""
        reply = await self._fetch(self._request("GET", self._job_url(job_id)))
        if reply is None:
            return None
        batch = self._decoded(reply.body, _Batch, "a job")
        ids = (batch.input_file_id, batch.output_file_id, batch.error_file_id)
        self._files[job_id] = [self._checked_id(file_id, "a job") for file_id in ids if file_id]
        return batch

    def _job_url(self, job_id: str) -> str:
        return f"{self._base_url}/batches/{quote(job_id, safe='')}"

    def _file_url(self, file_id: str) -> str:
        return f"{self._base_url}/files/{quote(file_id, safe='')}"


def _reader(body: bytes, collector: ResultCollector, redactor: Redactor) -> Callable[[], None]:
    """Return a function that reads a file of replies line by line."""

    def read() -> None:
        decode = msgspec.json.Decoder(_Line).decode
        start = 0
        while start < len(body):
            end = body.find(b"\n", start)
            end = len(body) if end < 0 else end
            line, start = body[start:end].strip(), end + 1
            try:
                found = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # texts without a result are failed later
            answer = found.response
            if answer is None or not 100 <= answer.status_code <= 599:
                collector.add_failed(found.custom_id, _code(found.error, redactor))
            elif 200 <= answer.status_code < 300:
                collector.add_reply(found.custom_id, bytes(answer.body))
            else:
                collector.add_error_reply(found.custom_id, answer.status_code, bytes(answer.body))

    return read


def _reason(batch: _Batch, redactor: Redactor) -> str:
    """Return why a job failed, by the provider's short codes."""
    errors = batch.errors.get("data") if isinstance(batch.errors, dict) else None
    codes = [_code(error, redactor) for error in errors[:1]] if isinstance(errors, list) else []
    return f"{batch.status}: {codes[0]}" if codes else batch.status


def _code(error: object, redactor: Redactor) -> str:
    """Return an error's short code; its message may repeat the text."""
    code = error.get("code") if isinstance(error, dict) else None
    is_code = isinstance(code, str) and _CODE.fullmatch(code) and not redactor.has_secret(code)
    return str(code) if is_code else "no reason given"
