"""`memctl model pull`: the path of a model that is ready."""

from __future__ import annotations

import json
import os

import pytest

from memd_client.errors import DownloadFailedError
from memd_client.messages import ModelReply, Progress
from memd_client.wire import to_wire
from tests.unit.cli.stage import memctl

READY = ModelReply("minilm", "/home/ann/.cache/memd/models/minilm.gguf", 45_900_000)


def test_the_path_is_all_that_is_printed() -> None:
    ran = memctl("model", "pull", "minilm", model=READY)

    assert (ran.code, ran.out, ran.err) == (0, READY.path + "\n", "")


def test_a_download_is_told_in_bytes() -> None:
    ran = memctl(
        "model", "pull", "minilm", progress=[Progress(1, "download", 12_000_000, 90_868_376)], model=READY
    )

    assert ran.err == "download: 12.0 MB of 90.9 MB\n"


@pytest.mark.parametrize(
    ("ref", "sent"),
    [
        ("minilm", "minilm"),
        ("hf:owner/model/file.gguf", "hf:owner/model/file.gguf"),
        ("https://example.org/file.gguf", "https://example.org/file.gguf"),
        ("file.gguf", os.path.abspath("file.gguf")),
        ("~/models/file.gguf", os.path.expanduser("~/models/file.gguf")),
    ],
)
def test_a_path_means_the_same_to_the_daemon(ref: str, sent: str) -> None:
    assert memctl("model", "pull", ref, model=READY).client.calls == [("model", {"ref": sent})]


def test_a_failed_download_exits_1_with_the_way_out() -> None:
    ran = memctl("model", "pull", "minilm", model=DownloadFailedError("The hub answered 503."))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: The hub answered 503.\n"
        "  try: Check the network and try again: the download goes on where it stopped.\n"
        "  code: download_failed\n"
    )


def test_json_is_the_reply_field_by_field() -> None:
    assert json.loads(memctl("model", "pull", "minilm", "--json", model=READY).out) == to_wire(READY)
