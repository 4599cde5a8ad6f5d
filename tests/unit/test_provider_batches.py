"""The batch APIs of the provider server: jobs go as the test says, and what is wrong is refused."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
import pytest

from tests.support.provider_call import call
from tests.support.provider_dialects import FACTS
from tests.support.provider_jobs import BatchDesk
from tests.support.provider_server import ProviderServer, serving

FileDialect = Literal["openai", "voyage"]
TEXTS = {"one": "the cat is ill", "two": "an invoice is due", "three": "blue shades"}


def desk(server: ProviderServer) -> BatchDesk:
    """Return the server's jobs."""
    assert server.batches is not None
    return server.batches


def post(server: ProviderServer, path: str, value: Any) -> Any:
    """Send JSON and return JSON."""
    status, _, reply = call(server, "POST", path, json.dumps(value).encode())
    assert status == 200, reply
    return reply


def upload(server: ProviderServer, lines: list[dict[str, Any]], purpose: str = "batch") -> tuple[int, Any]:
    """Upload a file of lines."""
    content = "\n".join(json.dumps(line) for line in lines)
    form = (
        f'--BB\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
        '--BB\r\nContent-Disposition: form-data; name="file"; filename="texts.jsonl"\r\n'
        f"Content-Type: application/jsonl\r\n\r\n{content}\r\n--BB--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=BB"}
    status, _, reply = call(server, "POST", "/files", form.encode(), headers)
    return status, reply


def submit(server: ProviderServer, dialect: FileDialect, texts: dict[str, str]) -> Any:
    """Start a job over some texts and return it as shown."""
    body = {"model": FACTS["openai"].model}
    lines: list[dict[str, Any]] = [
        {"custom_id": key, "method": "POST", "url": "/v1/embeddings", "body": {**body, "input": text}}
        if dialect == "openai"
        else {"custom_id": key, "body": {"input": [text]}}
        for key, text in texts.items()
    ]
    status, file = upload(server, lines)
    assert status == 200, file
    job = {"input_file_id": file["id"], "endpoint": "/v1/embeddings"}
    if dialect == "openai":
        return post(server, "/batches", {**job, "completion_window": "24h"})
    params = {"model": FACTS["voyage"].model, "input_type": "document"}
    return post(server, "/batches", {**job, "completion_window": "12h", "request_params": params})


def look(server: ProviderServer, job_id: str) -> Any:
    """Return a job as shown."""
    path = job_id if server.dialect == "gemini" else f"batches/{job_id}"
    return call(server, "GET", f"/{path}")[2]


def lines_of(server: ProviderServer, file_id: str) -> dict[str, Any]:
    """Return the lines of a file of results by key."""
    _, _, data = call(server, "GET", f"/files/{file_id}/content")
    return {line["custom_id"]: line for line in map(json.loads, data.splitlines())}


@pytest.mark.parametrize("dialect", ["openai", "voyage"])
def test_a_job_over_a_file_ends_with_a_vector_for_each_line(dialect: FileDialect) -> None:
    with serving(dialect, dims=32) as server:
        job = submit(server, dialect, TEXTS)
        assert job["status"] == "validating"
        ended = look(server, job["id"])
        assert ended["status"] == "completed"
        assert ended["request_counts"] == {"total": 3, "completed": 3, "failed": 0}
        lines = lines_of(server, ended["output_file_id"])
        assert list(lines) == list(TEXTS)[::-1]
        kind = "document" if dialect == "voyage" else ""
        for key, text in TEXTS.items():
            row = lines[key]["response"]["body"]["data"][0]["embedding"]
            assert np.allclose(row, server.vector(text, kind), atol=1e-6)
        assert ended["error_file_id"] is None
        assert call(server, "DELETE", f"/files/{ended['output_file_id']}")[2]["deleted"] is True
        assert server.texts_embedded == dict.fromkeys(TEXTS.values(), 1)
        assert server.complaints == []


@pytest.mark.parametrize("dialect", ["openai", "voyage"])
def test_a_job_goes_as_the_test_says(dialect: FileDialect) -> None:
    with serving(dialect, dims=32) as server:
        desk(server).looks_to_finish = None
        job_id = submit(server, dialect, TEXTS)["id"]
        assert look(server, job_id)["status"] == "in_progress"
        desk(server).advance(job_id, 2)
        assert look(server, job_id)["request_counts"]["completed"] == 2
        desk(server).expire(job_id, 1)
        ended = look(server, job_id)
        assert ended["status"] == "expired"
        assert list(lines_of(server, ended["output_file_id"])) == ["one"]
        late = lines_of(server, ended["error_file_id"])
        assert {line["error"]["code"] for line in late.values()} == {"batch_expired"}
        assert set(late) == {"two", "three"}


def test_a_cancelled_job_keeps_what_it_has_done() -> None:
    with serving("openai", dims=32) as server:
        desk(server).looks_to_finish = None
        job_id = submit(server, "openai", TEXTS)["id"]
        desk(server).advance(job_id, 2)
        assert call(server, "POST", f"/batches/{job_id}/cancel")[2]["status"] == "cancelling"
        ended = look(server, job_id)
        assert ended["status"] == "cancelled"
        assert set(lines_of(server, ended["output_file_id"])) == {"one", "two"}


def test_refused_lost_and_spoiled_lines_are_as_named() -> None:
    with serving("openai", dims=32) as server:
        desk(server).refused_marker = "invoice"
        desk(server).lost, desk(server).spoil = 1, "zero"
        ended = look(server, submit(server, "openai", {**TEXTS, "four": "a fourth"})["id"])
        bad = lines_of(server, ended["error_file_id"])
        assert [line["response"]["status_code"] for line in bad.values()] == [400]
        assert set(lines_of(server, ended["output_file_id"])) == {"three", "four"}
    with serving("openai", dims=32) as server:
        desk(server).spoil = "zero"
        lines = lines_of(server, look(server, submit(server, "openai", TEXTS)["id"])["output_file_id"])
        assert not any(lines["one"]["response"]["body"]["data"][0]["embedding"])


def test_a_failed_job_has_errors_and_no_files() -> None:
    with serving("openai", dims=32) as server:
        desk(server).looks_to_finish = None
        job_id = submit(server, "openai", TEXTS)["id"]
        desk(server).fail(job_id)
        ended = look(server, job_id)
        assert (ended["status"], ended["output_file_id"], ended["error_file_id"]) == ("failed", None, None)
        assert ended["errors"]["data"]


def test_what_is_wrong_with_files_and_jobs_is_refused_and_noted() -> None:
    with serving("openai", dims=32) as server:
        good = {"custom_id": "a", "method": "POST", "url": "/v1/embeddings"}
        body = {"model": FACTS["openai"].model, "input": "a cat"}
        assert upload(server, [{**good, "body": body}], purpose="assistants")[0] == 400
        for lines in (
            [{**good, "body": {**body, "surprise": 1}}],
            [{**good, "body": body}, {**good, "body": body}],
            [{**good, "url": "/v1/other", "body": body}],
        ):
            file_id = upload(server, lines)[1]["id"]
            job = {"input_file_id": file_id, "endpoint": "/v1/embeddings", "completion_window": "24h"}
            assert call(server, "POST", "/batches", json.dumps(job).encode())[0] == 400
        assert call(server, "GET", "/batches/none")[0] == 404
        assert call(server, "GET", "/files/none/content")[0] == 404
        assert len(server.complaints) == 6


def gemini_job(server: ProviderServer, texts: dict[str, str], **more: Any) -> tuple[int, Any]:
    """Start a job at Google's."""
    model = FACTS["gemini"].model
    content = {"model": f"models/{model}", "taskType": "RETRIEVAL_DOCUMENT"}
    requests = [
        {"request": {**content, "content": {"parts": [{"text": text}]}}, "metadata": {"key": key}}
        for key, text in texts.items()
    ]
    batch = {"displayName": "texts", "inputConfig": {"requests": {"requests": requests}}, **more}
    path = f"/models/{model}:asyncBatchEmbedContent"
    status, _, reply = call(server, "POST", path, json.dumps({"batch": batch}).encode())
    return status, reply


def test_a_job_at_google_ends_with_its_results_inside() -> None:
    with serving("gemini", dims=32) as server:
        status, job = gemini_job(server, TEXTS)
        assert status == 200
        assert job["metadata"]["state"] == "BATCH_STATE_PENDING"
        assert "done" not in job
        ended = look(server, job["name"])
        assert ended["done"] is True
        assert ended["metadata"]["state"] == "BATCH_STATE_SUCCEEDED"
        found = {
            item["metadata"]["key"]: item["response"]["embedding"]["values"]
            for item in ended["response"]["inlinedResponses"]["inlinedResponses"]
        }
        for key, text in TEXTS.items():
            assert np.allclose(found[key], server.vector(text, "RETRIEVAL_DOCUMENT"), atol=1e-6)
        assert call(server, "DELETE", f"/{job['name']}")[0] == 200
        assert server.complaints == []


def test_a_job_at_google_is_cancelled_fails_or_expires_as_the_test_says() -> None:
    with serving("gemini", dims=32) as server:
        desk(server).looks_to_finish = None
        names = [gemini_job(server, TEXTS)[1]["name"] for _ in range(3)]
        assert look(server, names[0])["metadata"]["batchStats"]["pendingRequestCount"] == "3"
        assert call(server, "POST", f"/{names[0]}:cancel", b"{}")[0] == 200
        desk(server).fail(names[1])
        desk(server).expire(names[2], 1)
        states = [look(server, name)["metadata"]["state"] for name in names]
        assert states == ["BATCH_STATE_CANCELLED", "BATCH_STATE_FAILED", "BATCH_STATE_EXPIRED"]
        assert "error" in look(server, names[1])
        assert len(look(server, names[2])["response"]["inlinedResponses"]["inlinedResponses"]) == 1


def test_an_unknown_field_of_a_job_at_google_is_refused() -> None:
    with serving("gemini", dims=32) as server:
        assert gemini_job(server, TEXTS, surprise=1)[0] == 400
        assert len(server.complaints) == 1
