"""Tests of metadata and fingerprints of model files."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local.header import load_fingerprint, load_header
from memd_client.errors import ModelInvalidError, ModelMissingError
from tests.support import fake_model_child as fake
from tests.support.tiny_models import TINY_MODELS, TinyModel, write_tiny_model


def test_header_has_architecture_and_trained_length(tmp_path: Path) -> None:
    header = load_header(fake.write_model(tmp_path / "m.gguf", trained_tokens=2048))
    assert (header.architecture, header.trained_tokens) == ("bert", 2048)


def test_metadata_after_an_array_of_tags_are_found(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    facts = text("general.architecture") + struct.pack("<I", 8) + text("gemma-embedding")
    facts += text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("embeddings") + text("gguf")
    facts += text("general.numbers") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 1, 2)
    facts += text("gemma-embedding.context_length") + struct.pack("<II", 4, 2048)
    facts += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 250_000) + text("cut off")
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 5) + facts)
    header = load_header(path)
    assert (header.architecture, header.trained_tokens, header.name) == ("gemma-embedding", 2048, "m.gguf")


@pytest.mark.parametrize("model", list(TINY_MODELS.values()), ids=lambda model: model.architecture)
def test_header_has_the_sizes_of_the_network(model: TinyModel, tmp_path: Path) -> None:
    header = load_header(write_tiny_model(tmp_path / "m.gguf", model))
    assert (header.layers, header.width) == (model.layers, model.width)
    more = load_header(write_tiny_model(tmp_path / "m.gguf", replace(model, padding_tokens=50_000)))
    assert more == msgspec.structs.replace(header, vocabulary=header.vocabulary + 50_000)


def test_vocabulary_in_another_order_leaves_its_size_unknown(tmp_path: Path) -> None:
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    facts = text("general.architecture") + struct.pack("<I", 8) + text("bert")
    facts += text("bert.context_length") + struct.pack("<II", 4, 512)
    facts += text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, 250_000) + struct.pack("<f", 0.5)
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 4) + facts)
    header = load_header(path)
    assert (header.trained_tokens, header.vocabulary) == (512, 0)


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelMissingError, match=str(path)):
            load_header(path)


@given(st.binary(max_size=200), st.booleans())
def test_any_other_bytes_are_an_invalid_model(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, magic: bool
) -> None:
    path = tmp_path_factory.mktemp("models") / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 9) + data if magic else data)
    with contextlib.suppress(ModelInvalidError):  # and nothing else
        load_header(path)


def test_fingerprint_depends_on_the_bytes_not_on_the_path(tmp_path: Path) -> None:
    data = bytearray(4_000_000)
    first = tmp_path / "a.gguf"
    first.write_bytes(data)
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "b.gguf"
    moved.write_bytes(data)
    assert load_fingerprint(first) == load_fingerprint(moved)
    for position in (0, 2_000_001, 3_999_999):
        changed = data.copy()
        changed[position] = 1
        moved.write_bytes(changed)
        assert load_fingerprint(first) != load_fingerprint(moved)
    moved.write_bytes(data + b"\0")
    assert load_fingerprint(first) != load_fingerprint(moved)
