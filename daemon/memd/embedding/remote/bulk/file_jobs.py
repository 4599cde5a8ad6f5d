"""The batch APIs of OpenAI and Voyage: a file of requests goes up, a job reads it, files of replies come down."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.redaction import Redactor
from memd.embedding.remote.account import Account, Call
from memd.embedding.remote.bulk.api import BulkResults, BulkState
from memd.embedding.remote.bulk.calls import TRANSFER, UPLOAD_TRIES, Calls, Pause, finish
from memd.embedding.remote.bulk.harvest import Harvest
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.embedding.remote.providers.http import Http
from memd_client.errors import ProviderFailedError

MAX_TEXTS: Final = 2_500
"""Texts of a job. The providers take 50,000; but the vectors of 2,500 are up to 155 MB of JSON, which is held in
memory, and their million of tokens is a third of what OpenAI's smallest paid accounts may have waiting."""

MAX_BYTES: Final = 32 << 20
"""Bytes of a job's file. The providers take 200 MB; it is held in memory while it goes up."""

MAX_REPLY_BYTES: Final = 256 << 20
"""Bytes of a file of replies: 2,500 vectors of 3,072 numbers of 20 digits are 155 MB."""

_CODE: Final = re.compile(r"[A-Za-z0-9_]{1,48}")
_ENDED: Final = frozenset({"failed", "expired", "cancelled", "canceled"})

_Shape = TypeVar("_Shape")


@dataclass(frozen=True, slots=True)
class Manner:
    """What tells the two apart: how long a job may take, and whether a line of a file is a whole request."""

    window: str
    whole_requests: bool


OPENAI: Final = Manner("24h", whole_requests=True)
VOYAGE: Final = Manner("12h", whole_requests=False)


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


class _Answer(msgspec.Struct):
    status_code: int = 0
    body: msgspec.Raw = msgspec.Raw(b"")


class _Line(msgspec.Struct):
    custom_id: str
    response: _Answer | None = None
    error: Any = None


class FileJobs:
    """Jobs of one endpoint. Implements `BulkApi`."""

    max_texts: Final = MAX_TEXTS
    max_bytes: Final = MAX_BYTES

    def __init__(
        self,
        api: EmbeddingApi,
        http: Http,
        account: Account,
        manner: Manner,
        *,
        prefix: str = "",
        pause: Pause = trio.sleep,
    ) -> None:
        self._api = api
        self._manner = manner
        self._calls = Calls(api, http, account, prefix, pause)
        self._base_url = self._calls.plain.url.removesuffix("/embeddings")
        self._files: dict[str, list[str]] = {}

    def __repr__(self) -> str:
        return f"<FileJobs {self._api.endpoint.provider} {self._api.endpoint.model}>"

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self._calls.provider

    @property
    def owner(self) -> str:
        """16 hex digits that tell whose jobs these are."""
        return self._calls.owner

    def retry_in_s(self) -> float:
        """Return how long calls are refused without being tried."""
        return self._calls.retry_in_s()

    # --- texts up -----------------------------------------------------------------------------------

    async def submit(self, items: Sequence[tuple[str, str]]) -> str:
        """Upload texts, make a job of them, and return its id: see `BulkApi`."""
        boundary = secrets.token_hex(16)
        form, shared, tokens = await self._calls.beside(lambda: self._form(items, boundary))
        with self._calls.begin(tokens) as call:
            file_id = await self._upload(call, form, boundary)
            del form
            try:
                return await self._create(call, file_id, shared)
            except ProviderFailedError:
                await self._delete(file_id)
                raise

    async def _upload(self, call: Call, form: bytes, boundary: str) -> str:
        request = self._calls.request(
            "POST", f"{self._base_url}/files", form, f"multipart/form-data; boundary={boundary}"
        )
        try:
            reply = await self._calls.send(call, request, TRANSFER, tries=UPLOAD_TRIES)
            if reply is None:
                raise self._calls.absent()
            return self._calls.checked_id(self._decoded(reply.body, _File, "a file").id, "a file")
        except BaseException:
            call.abandoned()
            raise

    async def _create(self, call: Call, file_id: str, shared: dict[str, Any]) -> str:
        wanted: dict[str, Any] = {
            "input_file_id": file_id,
            "endpoint": "/v1/embeddings",
            "completion_window": self._manner.window,
        }
        if not self._manner.whole_requests:
            wanted["request_params"] = shared
        request = self._calls.request("POST", f"{self._base_url}/batches", msgspec.json.encode(wanted))
        reply = await finish(lambda: self._calls.send(call, request))
        if reply is None:
            call.abandoned()
            raise self._calls.absent()
        job_id = self._calls.checked_id(self._decoded(reply.body, _Batch, "a job").id, "a job")
        call.succeeded(call.tokens)
        self._files[job_id] = [file_id]
        return job_id

    def _form(self, items: Sequence[tuple[str, str]], boundary: str) -> tuple[bytes, dict[str, Any], int]:
        """Return the form to upload, what its requests have in common, and about what they cost. For a thread."""
        shared: dict[str, Any] = msgspec.json.decode(self._calls.plain.body)
        shared.pop("input")
        texts = [self._calls.sendable(text) for _, text in items]
        own = shared if self._manner.whole_requests else {}
        lines = [
            b'--%b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' % boundary.encode(),
            b'--%b\r\nContent-Disposition: form-data; name="file"; filename="memd.jsonl"\r\n'
            % boundary.encode(),
            b"Content-Type: application/jsonl\r\n\r\n",
        ]
        encode = msgspec.json.Encoder().encode
        for (digest, _), text in zip(items, texts, strict=True):
            line: dict[str, Any] = {"custom_id": digest}
            if self._manner.whole_requests:
                line |= {"method": "POST", "url": "/v1/embeddings"}
            lines += [encode({**line, "body": {**own, "input": [text]}}), b"\n"]
        lines.append(b"\r\n--%b--\r\n" % boundary.encode())
        return b"".join(lines), shared, self._calls.estimate(texts)

    # --- vectors down -------------------------------------------------------------------------------

    async def look(self, job_id: str) -> BulkState:
        """Return how far a job is: see `BulkApi`."""
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
            return BulkState("failed", done, total, _reason(batch, self._calls.redactor))
        return BulkState("running", done, total)

    async def results(self, job_id: str, hashes: Sequence[str]) -> BulkResults:
        """Return what there is of a job: see `BulkApi`."""
        batch = await self._batch(job_id)
        harvest = Harvest(self._api)
        for file_id in (batch.output_file_id, batch.error_file_id) if batch else ():
            if not file_id:
                continue
            content = self._calls.request("GET", f"{self._file_url(file_id)}/content")
            reply = await self._calls.fetch(content, TRANSFER, MAX_REPLY_BYTES)
            if reply is not None:
                await self._calls.beside(_reader(reply.body, harvest, self._calls.redactor))
        return harvest.results()

    async def cancel(self, job_id: str) -> None:
        """Ask for the end of a job: see `BulkApi`."""
        await self._calls.fetch(self._calls.request("POST", f"{self._job_url(job_id)}/cancel"))

    async def clean_up(self, job_id: str) -> None:
        """Delete a job's files: see `BulkApi`."""
        for file_id in self._files.pop(job_id, ()):
            await self._delete(file_id)

    async def _delete(self, file_id: str) -> None:
        try:
            await self._calls.fetch(self._calls.request("DELETE", self._file_url(file_id)))
        except ProviderFailedError:
            return  # it expires by itself

    async def _batch(self, job_id: str) -> _Batch | None:
        """Return a job as the provider shows it, None where it knows none."""
        reply = await self._calls.fetch(self._calls.request("GET", self._job_url(job_id)))
        if reply is None:
            return None
        batch = self._decoded(reply.body, _Batch, "a job")
        ids = (batch.input_file_id, batch.output_file_id, batch.error_file_id)
        self._files[job_id] = [self._calls.checked_id(file_id, "a job") for file_id in ids if file_id]
        return batch

    def _job_url(self, job_id: str) -> str:
        return f"{self._base_url}/batches/{quote(job_id, safe='')}"

    def _file_url(self, file_id: str) -> str:
        return f"{self._base_url}/files/{quote(file_id, safe='')}"

    def _decoded(self, body: bytes, shape: type[_Shape], what: str) -> _Shape:
        try:
            return msgspec.json.decode(body, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._calls.nonsense(what) from None


def _reader(body: bytes, harvest: Harvest, redactor: Redactor) -> Callable[[], None]:
    """Return what reads a file of replies, line by line: the lock of the interpreter is let go in between."""

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
                continue  # a text without a result is failed in the end
            answer = found.response
            if answer is None or not 100 <= answer.status_code <= 599:
                harvest.failed(found.custom_id, _code(found.error, redactor))
            elif 200 <= answer.status_code < 300:
                harvest.replied(found.custom_id, bytes(answer.body))
            else:
                harvest.answered(found.custom_id, answer.status_code, bytes(answer.body))

    return read


def _reason(batch: _Batch, redactor: Redactor) -> str:
    """Return why a job ended, in the provider's short codes."""
    errors = batch.errors.get("data") if isinstance(batch.errors, dict) else None
    codes = [_code(error, redactor) for error in errors[:1]] if isinstance(errors, list) else []
    return f"{batch.status}: {codes[0]}" if codes else batch.status


def _code(error: object, redactor: Redactor) -> str:
    """Return the short code of an error; its message may repeat the text and is never shown."""
    code = error.get("code") if isinstance(error, dict) else None
    is_code = isinstance(code, str) and _CODE.fullmatch(code) and not redactor.shows(code)
    return str(code) if is_code else "no reason given"
