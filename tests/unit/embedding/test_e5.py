"""Tests of e5 in its process: its tokens and vectors are compared with the network in numpy."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
import trio

from memd.embedding.local import child
from memd.embedding.local.convert_e5 import load_packed_tensors, tensor_names
from memd.embedding.local.engine import ENGINES
from memd.embedding.local.estimate import KNOWN_MODELS, estimate_model
from memd.embedding.local.header import load_header
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import local_space
from memd.embedding.provider import FloatArray
from tests.support.bert_reference import BertReference
from tests.support.models import e5_path, model_sources, running_owner

pytestmark = pytest.mark.model

TEXTS = (
    "query: how do we roll back a bad release",
    "query: Wie hoch ist die Miete für das Büro in Köln?",
    "passage: Сервер базы данных переехал во Франкфурт в октябре.",
    "passage: 数据库服务器已于十月迁移到法兰克福。",
    "query: データベースはいつ移行しましたか？",
    "passage: انتقل خادم قاعدة البيانات إلى فرانكفورت في أكتوبر",
    "passage: 한국어 문장입니다",
    "passage: हिन्दी में एक वाक्य",
    "passage: Deploy done 🚀🎉 all green 👩\u200d💻",
    "passage: “Don’t panic” – he said… “it’s fine” ½ ﬁne ① ＡＢＣ",
    "passage: line one\nline two\n\n- item\t tab  double  space ",
    "passage: snake_case foo-bar a828e60 2026-05-08 path/to/file.md",
    "passage: " + "When did Caroline paint the sunrise by the lake? " * 30,
)

UNKNOWN = 3
SPECIAL_TOKENS = 4
UNKNOWN_PENALTY = 10.0

_NAMES = {
    "token_embd": "embeddings.word_embeddings",
    "position_embd": "embeddings.position_embeddings",
    "token_types": "embeddings.token_type_embeddings",
    "token_embd_norm": "embeddings.LayerNorm",
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}


class Unigram:
    """SentencePiece's unigram tokenizer: the pieces with the highest sum of scores.

    Characters are replaced by the table in the weights file, which was made apart from the map that llama.cpp reads.
    """

    def __init__(self, directory: Path) -> None:
        pieces = json.loads((directory / "tokenizer.json").read_bytes())["model"]["vocab"]
        self._pieces = {
            piece: (number, score) for number, (piece, score) in enumerate(pieces) if number >= SPECIAL_TOKENS
        }
        self._longest = max(map(len, self._pieces))
        self._unknown_score = min(score for _, score in pieces) - UNKNOWN_PENALTY
        self._characters = load_characters(directory / "e5-small-q4.bin")

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of a text, with the start and end token."""
        words = "".join(self._characters.get(char, char) for char in text).split(" ")
        text = "".join(f"\u2581{word}" for word in words if word)
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]  # by end: sum of scores, start, token
        for end in range(1, len(text) + 1):
            ways = [(best[end - 1][0] + self._unknown_score, end - 1, UNKNOWN)]
            for start in range(max(0, end - self._longest), end):
                if piece := self._pieces.get(text[start:end]):
                    ways.append((best[start][0] + piece[1], start, piece[0]))
            best.append(max(ways))
        tokens, end = [2], len(text)
        while end:
            _, end, token = best[end]
            if not token == tokens[0] == UNKNOWN:  # several unknown characters are one token
                tokens.insert(0, token)
        return [0, *tokens]


def load_characters(path: Path) -> dict[str, str]:
    """Return the replacements of characters from the weights file."""
    data = path.read_bytes()
    position = struct.calcsize("<4sI7ifi")
    tokens, *_, length = struct.unpack_from("<5iQ", data, position)
    position += 28 + 4 * (tokens + 1) + 4 * tokens + length
    (count,) = struct.unpack_from("<i", data, position)
    position += 8
    characters = {}
    for _ in range(count):
        code, length = struct.unpack_from("<IB", data, position)
        codes = struct.unpack_from(f"<{length}I", data, position + 5)
        characters[chr(code)] = "".join(map(chr, codes))
        position += 5 + 4 * length
    return characters


def load_tensors(path: Path) -> dict[str, FloatArray]:
    """Return all tensors in float32, with their names in safetensors files."""
    names, tensors = tensor_names(), {}
    for tensor in load_packed_tensors(path):
        *block, name, part = names[tensor.name].split(".")
        numbers = unpack_q4_0(tensor.data) if tensor.is_quantized else tensor.data.view(np.float32)
        is_matrix = part == "weight" and not name.endswith("norm")
        width = 1536 if name == "ffn_down" else 384
        prefix = f"encoder.layer.{block[1]}." if block else ""
        tensors[f"{prefix}{_NAMES[name]}.{part}"] = numbers.reshape(-1, width) if is_matrix else numbers
    return tensors


def unpack_q4_0(data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> FloatArray:
    """Return the numbers of Q4_0 blocks: 32 weights of 4 bits, relative to 8, and a float16 scale."""
    blocks = data.reshape(-1, 18)
    scales = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    halves = [blocks[:, 2:] & 15, blocks[:, 2:] >> 4]
    return np.asarray((np.concatenate(halves, axis=1).astype(np.float32) - 8) * scales)


@pytest.fixture(scope="module")
def sources() -> Path:
    return model_sources("e5")


@pytest.fixture(scope="module")
def e5() -> Path:
    return e5_path()


@pytest.mark.parametrize("package", [engine.package for engine in ENGINES])
def test_tokens_and_vectors_of_each_engine_are_those_of_the_network(
    e5: Path, sources: Path, package: str
) -> None:
    others = [engine.package for engine in ENGINES if engine.package != package]
    model = child.load_model(str(e5), 512, 2, child.CancellationFlag(), excluded=others)
    if isinstance(model, dict):
        pytest.skip(f"{package} is not installed")
    tokenizer = Unigram(sources)
    network = BertReference(load_tensors(sources / "e5-small-q4.bin"), layers=12)
    for text in TEXTS:
        vector, tokens, windows = model.embed(text)
        expected = tokenizer.tokens(text)
        assert (tokens, windows) == (len(expected), 1), text
        mean, computed = network.pooled(expected), np.frombuffer(vector, np.float32)
        cosine = float(mean @ computed / np.linalg.norm(mean) / np.linalg.norm(computed))
        assert cosine >= 0.999, text


async def test_question_finds_its_answer_in_another_language(e5: Path) -> None:
    notes = ("Сервер базы данных стоит во Франкфурте.", "Пекарня открывается в семь утра.")
    async with running_owner(ModelSettings(query_timeout_s=60)) as owner:
        provider = LocalProvider(owner, ModelSpec(e5, "e5"), local_space("e5", None), chunk_tokens=400)
        server, bakery = await provider.embed_batch(notes)
        query = await provider.embed_query("where is the database server?")
    assert float(query @ server) > float(query @ bakery)


def test_known_e5_is_the_converted_file(e5: Path) -> None:
    known = KNOWN_MODELS["e5"]
    assert (known.file_bytes, known.header) == (e5.stat().st_size, load_header(e5))


async def test_estimate_of_e5_is_about_the_ram_of_its_process(e5: Path) -> None:
    async with running_owner(ModelSettings(query_timeout_s=60)) as owner:
        provider = LocalProvider(owner, ModelSpec(e5, "e5"), local_space("e5", None), chunk_tokens=400)
        await provider.embed_batch([" ".join("0123456789" * 50)] * 8)
        [status] = owner.status()
        report = await trio.Path(f"/proc/{status.pid}/status").read_text()
    now, peak = (re.search(rf"{name}:\s+(\d+) kB", report) for name in ("VmRSS", "VmHWM"))
    assert now
    assert peak
    known = KNOWN_MODELS["e5"]
    estimate = estimate_model(known.file_bytes, known.header, chunk_tokens=400)
    assert int(now[1]) * 1024 == pytest.approx(estimate.ram_bytes, rel=0.2)
    assert int(peak[1]) * 1024 == pytest.approx(estimate.peak_bytes, rel=0.2)
