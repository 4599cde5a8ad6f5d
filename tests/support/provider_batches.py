"""Fake batch APIs of OpenAI, Voyage and Google: with uploaded files, or with everything in the requests."""

from __future__ import annotations

import email.parser
import email.policy
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Literal

from tests.support.provider_dialects import (
    FIELDS,
    MODEL_AND_INPUT,
    Check,
    EmbeddingRequest,
    HttpRequest,
    InvalidRequestError,
    check_fields,
    is_text,
    one_of,
    read_gemini_text,
)
from tests.support.provider_errors import DialectName, ProviderReply, json_reply, refusal
from tests.support.provider_faults import Rows
from tests.support.provider_jobs import ENDED, FakeBatchApi, ProviderJob

CREATED: Final = 1_790_000_000
MAX_TEXTS: Final[dict[str, int]] = {"openai": 50_000, "voyage": 100_000, "gemini": 50_000}
MAX_FILE_BYTES: Final = 200_000_000
MAX_INLINE_BYTES: Final = 20_000_000


class FakeFileBatchApi(FakeBatchApi):
    """The batch API of OpenAI and Voyage: one uploaded file of lines, one or two result files."""

    def __init__(
        self,
        dialect: Literal["openai", "voyage"],
        rows: Callable[[EmbeddingRequest], Rows],
        models: set[str],
        texts_embedded: Counter[str],
    ) -> None:
        super().__init__(rows, models, texts_embedded)
        self._dialect: Literal["openai", "voyage"] = dialect

    def _answer(self, asked: HttpRequest) -> ProviderReply | None:
        parts = asked.path.split("/")[2:]  # after /v1
        match asked.method, parts:
            case "POST", ["files"]:
                return self._upload(asked)
            case "GET", ["files", file_id, "content"]:
                return ProviderReply(200, self._file(file_id), {"Content-Type": "application/octet-stream"})
            case "DELETE", ["files", file_id]:
                self._file(file_id)
                del self.files[file_id]
                return json_reply({"id": file_id, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                return json_reply(self._shown(self._create(asked.json())))
            case "GET", ["batches", job_id]:
                return json_reply(self._shown(self._look(job_id)))
            case "POST", ["batches", job_id, "cancel"]:
                return json_reply(self._shown(self._cancel(job_id)))
        return None

    def _file(self, file_id: str) -> bytes:
        if file_id not in self.files:
            raise InvalidRequestError("path", file_id)
        return self.files[file_id]

    def _upload(self, asked: HttpRequest) -> ProviderReply:
        """Store an uploaded file: a form with `purpose` and the file."""
        fields = form_fields(asked)
        if set(fields) != {"purpose", "file"} or fields["purpose"][1] != b"batch":
            raise InvalidRequestError("field", f"form: {sorted(fields)}")
        name, data = fields["file"]
        if not name.endswith(".jsonl") or not data or len(data) > MAX_FILE_BYTES:
            raise InvalidRequestError("field", "file")
        file_id = f"file-{next(self._file_numbers):06d}"
        self.files[file_id] = data
        facts = {"bytes": len(data), "created_at": CREATED, "filename": name, "purpose": "batch"}
        return json_reply({"id": file_id, "object": "file", "status": "processed", **facts})

    def _create(self, body: Any) -> ProviderJob:
        """Start a job over a file."""
        voyage = self._dialect == "voyage"
        needed: dict[str, Check] = {
            "input_file_id": is_text,
            "endpoint": one_of("/v1/embeddings"),
            "completion_window": one_of("12h" if voyage else "24h"),
        }
        if voyage:
            needed["request_params"] = lambda value: isinstance(value, dict)
        check_fields(body, needed, {"metadata": lambda value: isinstance(value, dict)})
        shared = body.get("request_params", {})
        if voyage:
            check_fields(shared, {"model": is_text}, FIELDS["voyage"], "request_params.")
        lines = [self._line(line, shared) for line in self._file(body["input_file_id"]).splitlines()]
        if len({key for key, _ in lines}) < len(lines):
            raise InvalidRequestError("field", "custom_id is doubled")
        if sum(len(wanted.texts) for _, wanted in lines) > MAX_TEXTS[self._dialect]:
            raise InvalidRequestError("count", str(MAX_TEXTS[self._dialect]))
        return self._add(
            "batch_", lines, input_file_id=body["input_file_id"], window=body["completion_window"]
        )

    def _line(self, line: bytes, shared: dict[str, Any]) -> tuple[str, EmbeddingRequest]:
        """Return the key and the request of a line."""
        value = json.loads(line)
        needed: dict[str, Check] = {"custom_id": is_text, "body": lambda body: isinstance(body, dict)}
        if self._dialect == "openai":
            needed |= {"method": one_of("POST"), "url": one_of("/v1/embeddings")}
        check_fields(value, needed, {}, "line.")
        body = {**shared, **value["body"]}
        if isinstance(body.get("input"), str):
            body["input"] = [body["input"]]
        check_fields(body, MODEL_AND_INPUT, FIELDS[self._dialect], "line.body.")
        if body["model"] not in self._models:
            raise InvalidRequestError("model", body["model"])
        return value["custom_id"], EmbeddingRequest(
            body["input"],
            body["model"],
            body.get("input_type") or "",
            body.get("dimensions") or body.get("output_dimension"),
            body.get("encoding_format") == "base64",
        )

    def _cancel(self, job_id: str) -> ProviderJob:
        job = self._look_only(job_id)
        if job.state in ENDED:
            raise InvalidRequestError("field", f"cannot cancel a batch with status {job.state}")
        job.state = "cancelling"
        return job

    def _ended(self, job: ProviderJob) -> None:
        """Write the two result files; empty ones are missing."""
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for number, (key, body, wanted) in enumerate(self._results(self._dialect, job)):
            reply = refusal(self._dialect, "text", wanted.texts[0])
            response = {
                "status_code": 200 if body else 400,
                "request_id": f"req_{number}",
                "body": body or json.loads(reply.body),
            }
            line = {"id": f"batch_req_{number}", "custom_id": key, "response": response, "error": None}
            (good if body else bad).append(line)
        if job.state in ("expired", "cancelled"):
            error = {"code": f"batch_{job.state}", "message": "This request was not executed in time."}
            bad += [{"custom_id": key, "response": None, "error": error} for key, _ in job.lines[job.done :]]
        for name, lines in (("output", good), ("error", bad)):
            if lines and job.state != "failed":
                job.facts[f"{name}_file_id"] = file_id = f"file-{job.id}-{name}"
                self.files[file_id] = "".join(json.dumps(line) + "\n" for line in lines).encode()
        job.facts["failed"] = len(bad)

    def _shown(self, job: ProviderJob) -> dict[str, Any]:
        """Return a job in the provider's format."""
        failed = int(job.facts.get("failed", 0))
        errors = {"object": "list", "data": [{"code": "invalid_json_line", "message": "refused", "line": 1}]}
        return {
            "id": job.id,
            "object": "batch",
            "endpoint": "/v1/embeddings",
            "errors": errors if job.state == "failed" else None,
            "input_file_id": job.facts["input_file_id"],
            "completion_window": job.facts["window"],
            "status": job.state,
            "output_file_id": job.facts.get("output_file_id"),
            "error_file_id": job.facts.get("error_file_id"),
            "created_at": CREATED,
            "expires_at": CREATED + 86_400,
            "request_counts": {
                "total": len(job.lines),
                "completed": max(0, job.done - failed),
                "failed": failed,
            },
            "metadata": None,
        }


class FakeGeminiBatchApi(FakeBatchApi):
    """Google's batch API: inline requests, and results in the operation."""

    STATES: Final[dict[str, str]] = {
        "validating": "PENDING",
        "in_progress": "RUNNING",
        "finalizing": "RUNNING",
    }

    def _answer(self, asked: HttpRequest) -> ProviderReply | None:
        rest = asked.path.removeprefix("/v1beta/")
        if asked.method == "POST" and rest.endswith(":asyncBatchEmbedContent"):
            return json_reply(self._shown(self._create(asked, rest)))
        if not rest.startswith("batches/"):
            return None
        if asked.method == "POST" and rest.endswith(":cancel"):
            job = self._look_only(rest.removesuffix(":cancel"))
            if job.state not in ENDED:
                self._end(job.id, "cancelled", job.done)
            return json_reply({})
        if asked.method == "DELETE":
            del self.jobs[self._look_only(rest).id]
            return json_reply({})
        return json_reply(self._shown(self._look(rest))) if asked.method == "GET" else None

    def _create(self, asked: HttpRequest, rest: str) -> ProviderJob:
        model = rest.removeprefix("models/").removesuffix(":asyncBatchEmbedContent")
        if model not in self._models:
            raise InvalidRequestError("model", model)
        if len(asked.body) > MAX_INLINE_BYTES:
            raise InvalidRequestError("tokens", "")
        body = asked.json()
        check_fields(body, {"batch": lambda value: isinstance(value, dict)}, {})
        allowed: dict[str, Check] = {"model": one_of(f"models/{model}"), "priority": is_text}
        needed: dict[str, Check] = {
            "displayName": is_text,
            "inputConfig": lambda value: isinstance(value, dict),
        }
        check_fields(body["batch"], needed, allowed, "batch.")
        outer = body["batch"]["inputConfig"]
        check_fields(outer, {"requests": lambda value: isinstance(value, dict)}, {}, "inputConfig.")
        check_fields(
            outer["requests"], {"requests": lambda value: isinstance(value, list) and bool(value)}, {}
        )
        lines = []
        for item in outer["requests"]["requests"]:
            check_fields(
                item, {"request": lambda value: isinstance(value, dict)}, {"metadata": _has_key}, "item."
            )
            wanted = read_gemini_text(item["request"], model, where="request.", single=True)
            lines.append((item.get("metadata", {}).get("key", ""), wanted))
        return self._add("batches/", lines, model=model, name=body["batch"]["displayName"])

    def _shown(self, job: ProviderJob) -> dict[str, Any]:
        """Return a job as a long-running operation."""
        ended = job.state in ENDED
        state = "SUCCEEDED" if job.state == "completed" else job.state.upper()
        results = self._results("gemini", job) if ended and job.state != "failed" else []
        failed = len([key for key, body, _ in results if body is None])
        metadata: dict[str, Any] = {
            "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.EmbedContentBatch",
            "model": f"models/{job.facts['model']}",
            "displayName": job.facts["name"],
            "name": job.id,
            "state": f"BATCH_STATE_{self.STATES.get(job.state, state)}",
            "batchStats": {
                "requestCount": str(len(job.lines)),
                "successfulRequestCount": str(max(0, job.done - failed)),
                "failedRequestCount": str(failed),
                "pendingRequestCount": str(len(job.lines) - job.done),
            },
        }
        shown: dict[str, Any] = {"name": job.id, "metadata": metadata}
        if not ended:
            return shown
        if job.state == "failed":
            return shown | {"done": True, "error": {"code": 13, "message": "The batch failed."}}
        output = {"inlinedResponses": {"inlinedResponses": [_inlined(*result) for result in results]}}
        metadata["output"] = output
        kind = "type.googleapis.com/google.ai.generativelanguage.v1main.EmbedContentBatchOutput"
        return shown | {"done": True, "response": {"@type": kind, **output}}


def _has_key(value: Any) -> bool:
    """Return whether metadata is an object with a key."""
    return isinstance(value, dict) and set(value) == {"key"} and is_text(value["key"])


def _inlined(key: str, body: dict[str, Any] | None, wanted: EmbeddingRequest) -> dict[str, Any]:
    """Return one result inside an operation."""
    if body is None:
        return {"metadata": {"key": key}, "error": {"code": 3, "message": f"refused: {wanted.texts[0]}"}}
    return {"metadata": {"key": key}, "response": body}


def form_fields(asked: HttpRequest) -> dict[str, tuple[str, bytes]]:
    """Return the fields of a form as name -> (file name, content)."""
    kind = asked.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        raise InvalidRequestError("field", "Content-Type")
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    whole = parser.parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + asked.body)
    found: dict[str, tuple[str, bytes]] = {}
    for part in whole.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise InvalidRequestError("field", "form")
        found[name] = (part.get_filename() or "", content)
    return found


def make_batch_api(
    dialect: DialectName,
    rows: Callable[[EmbeddingRequest], Rows],
    models: set[str],
    texts_embedded: Counter[str],
) -> FakeBatchApi | None:
    """Return the batch API of a provider, None without one; see `FakeBatchApi`."""
    if dialect == "openai" or dialect == "voyage":
        return FakeFileBatchApi(dialect, rows, models, texts_embedded)
    return FakeGeminiBatchApi(rows, models, texts_embedded) if dialect == "gemini" else None
