"""`memctl model`: pull, list and remove."""

from __future__ import annotations

import json
import os

import pytest
from msgspec.structs import replace

from memd_client.errors import BadParamsError, DownloadFailedError
from memd_client.messages import ModelFile, ModelInfo, ModelReply, Progress
from memd_client.schema import to_wire
from tests.unit.cli.memctl_runner import memctl

READY = ModelReply("minilm", "/home/ann/.cache/memd/models/minilm.gguf", 45_900_000)


def test_pull_prints_only_the_path() -> None:
    ran = memctl("model", "pull", "minilm", model=READY)

    assert (ran.code, ran.out, ran.err) == (0, READY.path + "\n", "")


def test_download_progress_is_shown_in_bytes() -> None:
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
def test_relative_path_is_sent_as_absolute(ref: str, sent: str) -> None:
    calls = memctl("model", "pull", ref, model=READY).client.calls
    assert calls == [("model", {"ref": sent, "action": "pull", "force": False})]


def test_failed_download_exits_with_1_and_a_hint() -> None:
    ran = memctl("model", "pull", "minilm", model=DownloadFailedError("The hub answered 503."))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error: The hub answered 503.\n"
        "  hint: check the network, then try again to resume the download\n"
        "  code: download_failed\n"
    )


def test_json_is_the_reply_field_by_field() -> None:
    assert json.loads(memctl("model", "pull", "minilm", "--json", model=READY).out) == to_wire(READY)


GEMMA = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"

SHELF = ModelReply(
    "",
    "/models",
    374_800_000,
    [
        ModelFile(GEMMA, "/models/hf_gemma.gguf", 328_600_000),
        ModelFile("minilm", "/models/minilm-l6-v2-f16.gguf", 46_200_000, ["main", "work"], True, 126_000_000),
    ],
)


def test_models_are_listed_with_size_state_and_users() -> None:
    ran = memctl("model", "list", model=SHELF)

    assert (ran.code, ran.err) == (0, "")
    assert [line.split("  ")[0] for line in ran.out.splitlines()] == ["model", GEMMA, "minilm"]
    assert [line.split()[1:] for line in ran.out.splitlines()] == [
        ["size", "RAM", "state", "used", "by"],
        ["329", "MB", "-", "-"],
        ["46.2", "MB", "126", "MB", "loaded", "main,", "work"],
    ]
    assert ran.client.calls == [("model", {"ref": "", "action": "list", "force": False})]


def test_a_terminal_gets_the_models_as_a_table() -> None:
    ran = memctl("model", "list", terminal=True, colour=False, width=120, model=SHELF)

    assert "minilm" in ran.out
    assert "main, work" in ran.out


def test_empty_list_prints_how_to_get_a_model() -> None:
    ran = memctl("model", "list", model=ModelReply("", "/models", 0))

    assert (ran.code, ran.out) == (0, "")
    assert "memctl model pull minilm" in ran.err


def test_json_of_the_list_has_all_fields_of_the_reply() -> None:
    assert json.loads(memctl("model", "list", "--json", model=SHELF).out) == to_wire(SHELF)


NEEDS = ModelReply(
    GEMMA,
    "/models/hf_gemma.gguf",
    333_590_944,
    info=ModelInfo(
        False,
        "gemma-embedding",
        24,
        768,
        262_144,
        2048,
        512,
        407,
        1,
        437_924_256,
        974_795_168,
        "llama-cpp-python",
        True,
        24,
    ),
)


def test_needs_of_the_default_model_are_shown_before_the_download() -> None:
    ran = memctl("model", "info", model=NEEDS)

    assert (ran.code, ran.err) == (0, "")
    assert [line.split(maxsplit=1) for line in ran.out.splitlines()] == [
        ["model", GEMMA],
        ["file", "334 MB · not downloaded"],
        ["RAM", "about 438 MB while it embeds · 975 MB for an instant"],
        ["network", "gemma-embedding · 24 layers · 768 dimensions · vocabulary of 262,144"],
        ["context", "512 tokens · trained for 2,048"],
        ["chunk", "up to 407 tokens with prompt · one window"],
        ["engine", "llama-cpp-python · 24 of 24 layers on a GPU"],
    ]
    assert ran.client.calls == [("model", {"ref": "", "action": "info", "force": False})]


def test_unknown_needs_and_equal_peaks_are_left_out() -> None:
    info = ModelInfo(True, "llama", 2, 64, 300, 0, 512, 1002, 2, 80_000_000, 80_000_000)
    ran = memctl("model", "info", "file.gguf", model=replace(NEEDS, info=info))

    assert "334 MB\n" in ran.out
    assert "about 80.0 MB while it embeds\n" in ran.out
    assert "512 tokens\n" in ran.out
    assert "1,002 tokens with prompt · 2 windows" in ran.out
    assert ran.client.calls[0][1]["ref"] == os.path.abspath("file.gguf")
    assert json.loads(memctl("model", "info", "--json", model=NEEDS).out) == to_wire(NEEDS)


@pytest.mark.parametrize(
    ("engine", "has_gpu", "gpu_layers", "shown"),
    [
        ("", None, None, "none installed"),
        ("xllamacpp", None, None, "xllamacpp · GPU support known when a model is loaded"),
        ("xllamacpp", False, None, "xllamacpp · no GPU support"),
        ("xllamacpp", False, 0, "xllamacpp · no GPU support"),
        ("llama-cpp-python", True, None, "llama-cpp-python · built for a GPU"),
        ("llama-cpp-python", True, 0, "llama-cpp-python · 0 of 24 layers on a GPU"),
    ],
)
def test_engine_and_its_gpu_support_are_shown(
    engine: str, has_gpu: bool | None, gpu_layers: int | None, shown: str
) -> None:
    assert NEEDS.info is not None
    info = replace(NEEDS.info, engine=engine, has_gpu=has_gpu, gpu_layers=gpu_layers)

    ran = memctl("model", "info", model=replace(NEEDS, info=info))

    assert ran.out.splitlines()[-1].split(maxsplit=1) == ["engine", shown]


@pytest.mark.parametrize(
    ("ref", "sent"),
    [
        ("minilm", "minilm"),
        (GEMMA, GEMMA),
        ("hf_gemma.gguf", "hf_gemma.gguf"),
        ("./file.gguf", os.path.abspath("file.gguf")),
        ("~/models/file.gguf", os.path.expanduser("~/models/file.gguf")),
    ],
)
def test_removed_model_is_printed(ref: str, sent: str) -> None:
    ran = memctl("model", "remove", ref, model=READY)

    assert (ran.code, ran.out, ran.err) == (0, f"removed {READY.path}, 45.9 MB\n", "")
    assert ran.client.calls == [("model", {"ref": sent, "action": "remove", "force": False})]


def test_force_is_sent_to_the_daemon() -> None:
    ran = memctl("model", "remove", "minilm", "--force", "--json", model=READY)

    assert json.loads(ran.out) == to_wire(READY)
    assert ran.client.calls == [("model", {"ref": "minilm", "action": "remove", "force": True})]


def test_model_in_use_exits_with_1_and_a_hint() -> None:
    refused = BadParamsError("minilm is the model of main", hint="Choose another, or use --force.")
    ran = memctl("model", "remove", "minilm", model=refused)

    assert (ran.code, ran.out) == (1, "")
    assert "use --force" in ran.err
