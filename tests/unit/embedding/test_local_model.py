"""Tests of the real model in its process: tokens, vectors, process end."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import trio

from memd.embedding.local import wire
from memd.embedding.local.child import BACKGROUND_NICENESS, MAX_NICENESS, normalize_text, split_into_windows
from memd.embedding.local.model import QUERY_QUIET_SECONDS, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import CHILD_COMMAND, ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import local_space
from memd.embedding.provider import FloatArray
from memd_client.errors import ModelInvalidError
from tests.support.bert_reference import BertReference
from tests.support.models import is_running, running_owner, wait_until

MAX_WORD_CHARACTERS = 100
CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """BERT's uncased tokenizer: cleaned, lower-cased, accents stripped, longest piece first."""

    def __init__(self, vocabulary: list[str]) -> None:
        self.ids = {token: number for number, token in enumerate(vocabulary)}

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of a text, with [CLS] and [SEP] around them."""
        pieces = [piece for word in self._words(text) for piece in self._pieces(word)]
        return [self.ids[token] for token in ("[CLS]", *pieces, "[SEP]")]

    def _words(self, text: str) -> list[str]:
        spaced = []
        for char in unicodedata.normalize("NFD", "".join(self._clean(c) for c in text).lower()):
            if unicodedata.category(char) == "Mn":
                continue
            spaced.append(f" {char} " if _is_punctuation(char) else char)
        return "".join(spaced).split()

    @staticmethod
    def _clean(char: str) -> str:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            return " "
        if char in "\0\ufffd" or unicodedata.category(char).startswith("C"):
            return ""
        if any(low <= ord(char) <= high for low, high in CJK_RANGES):
            return f" {char} "
        return char

    def _pieces(self, word: str) -> list[str]:
        if len(word) > MAX_WORD_CHARACTERS:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return ["[UNK]"]
            pieces.append(piece)
            start = end
        return pieces


def _is_punctuation(char: str) -> bool:
    return char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(char).startswith("P")


def load_tensors(path: Path) -> dict[str, FloatArray]:
    """Return the float32 tensors of a safetensors file by name."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    tensors = {}
    for name, facts in json.loads(raw[8 : 8 + length]).items():
        if facts.get("dtype") == "F32":
            start, end = (8 + length + offset for offset in facts["data_offsets"])
            tensors[name] = np.frombuffer(raw[start:end], dtype=np.float32).reshape(facts["shape"])
    return tensors


class MiniLMReference:
    """The model: tokens, six encoder layers, mean pooling, unit length."""

    def __init__(self, directory: Path) -> None:
        self.tokenizer = WordPiece((directory / "vocab.txt").read_text(encoding="utf-8").splitlines())
        self._network = BertReference(load_tensors(directory / "model.safetensors"), layers=6)

    def embed(self, text: str) -> FloatArray:
        """Return the unit vector (384,) of a text of at most 512 tokens."""
        mean = self.pooled(text)
        return np.asarray(mean / np.linalg.norm(mean))

    def pooled(self, text: str) -> FloatArray:
        """Return the mean (384,) over the tokens of a text of any length."""
        return self._network.pooled(self.tokenizer.tokens(text))


pytestmark = pytest.mark.model

SETTINGS = ModelSettings(query_timeout_s=30)

TEXTS = (
    "Hello, world! It's 3.14% of $5 — isn't it?",
    "The quick brown fox jumps over the lazy dog.",
    "UPPER lower MiXeD",
    "snake_case foo-bar a828e60 2026-05-08 POL-358 path/to/file.md",
    "`code` **bold** [link](http://x.y) #tag @me ~ ^ | < > = +",
    "“quotes” ‘single’ … – — • © ® ™ € £ ¥ § ° ±",
    "café naïve Zürich Ångström résumé",
    "cafe\u0301 nai\u0308ve, decomposed",
    "重跑 gen 部署方案",
    "日本語のテキストとカタカナ",
    "한국어 문장입니다",
    "emoji 😀 👍🏽 👨\u200d👩\u200d👧 ❤️ ok",
    "tabs\tand\nnewlines\r\nzero\u200bwidth nbsp\u00a0here",
    "İstanbul STRASSE ß Σίσυφος Привет мир",
    "[CLS] and [SEP] and [MASK] as plain words",
    "¿Qué? ¡Sí! Œuvre ﬁne ½ ² №",
    "→ ∑ ≤ ∞ ★ ✓ ░▒▓ ┌─┐",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "",
    "When did Caroline paint the sunrise by the lake? " * 36,
)


@pytest.fixture(scope="module")
def reference(minilm_source_dir: Path) -> MiniLMReference:
    return MiniLMReference(minilm_source_dir)


def provider_of(owner: ModelOwner, path: Path) -> LocalProvider:
    return LocalProvider(owner, ModelSpec(path, "minilm"), local_space("minilm", None), chunk_tokens=400)


async def embed(path: Path, *texts: str) -> FloatArray:
    async with running_owner(SETTINGS) as owner:
        return await provider_of(owner, path).embed_batch(texts)


def test_tokens_are_those_of_bert(minilm: Path, reference: MiniLMReference) -> None:
    from llama_cpp import Llama

    tokenizer = Llama(str(minilm), vocab_only=True, verbose=True)
    for text in TEXTS:
        # special tokens written in a note are ordinary text
        plain = text.replace("[", "").replace("]", "")
        ids = tokenizer.tokenize(normalize_text(plain, is_word_piece=True).encode())
        assert ids == reference.tokenizer.tokens(plain), text
    tokenizer.close()


async def test_vectors_are_those_of_the_float32_model(minilm: Path, reference: MiniLMReference) -> None:
    assert 300 < len(reference.tokenizer.tokens(TEXTS[-1])) <= 512
    for text, vector in zip(TEXTS, await embed(minilm, *TEXTS), strict=True):
        assert float(vector @ reference.embed(text)) >= 0.999, text


async def test_text_beyond_the_context_is_embedded_completely(
    minilm: Path, reference: MiniLMReference
) -> None:
    start, end = "A recipe for bread with rye flour. " * 60, "The telescope found a planet. " * 60
    whole, first, last = await embed(minilm, start + end, start, end)
    unrelated = float(first @ last)
    assert float(whole @ first) > unrelated + 0.2
    assert float(whole @ last) > unrelated + 0.2
    windows = list(split_into_windows(start + end, lambda text: len(reference.tokenizer.tokens(text)), 512))
    assert len(windows) > 1
    mean = np.sum([count * reference.pooled(piece) for piece, count in windows], axis=0)
    assert float(whole @ mean) / float(np.linalg.norm(mean)) >= 0.999


async def test_very_long_word_is_embedded(minilm: Path) -> None:
    assert np.isfinite(await embed(minilm, "0123456789abcdef" * 256)).all()


async def test_interrupted_text_gets_the_same_vector(minilm: Path) -> None:
    long = " ".join(f"line {number} about the gateway" for number in range(80))
    alone, query = await embed(minilm, long), await embed(minilm, "which port")

    async with running_owner(SETTINGS) as owner:
        provider = provider_of(owner, minilm)
        vectors: list[FloatArray] = []

        async def index() -> None:
            vectors.append(await provider.embed_batch([long] * 4))

        await provider.embed_query("warm up")
        async with trio.open_nursery() as indexing:
            indexing.start_soon(index)
            for _ in range(6):
                assert np.array_equal(await provider.embed_query("which port"), query[0])
        assert all(np.array_equal(row, alone[0]) for row in vectors[0])


async def test_killed_process_of_the_real_model_is_replaced(minilm: Path) -> None:
    async with running_owner(SETTINGS) as owner:
        provider = provider_of(owner, minilm)
        before = await provider.embed_query("query")
        pid = owner.status()[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert (await provider.embed_query("query") == before).all()
        assert owner.status()[0].restarts == 1
        assert owner.status()[0].rss_bytes < 400_000_000


async def test_file_llama_cpp_cannot_load_is_an_invalid_model(tmp_path: Path, minilm: Path) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes((await trio.Path(minilm).read_bytes())[:2_000_000])
    async with running_owner(SETTINGS) as owner:
        with pytest.raises(ModelInvalidError, match=r"half\.gguf is not a usable"):
            await provider_of(owner, half).embed_query("text")


PARENT = """
import sys, trio
from pathlib import Path
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.owner import ModelOwner
async def main():
    owner = ModelOwner()
    async with trio.open_nursery() as nursery:
        await nursery.start(owner.run)
        await owner.acquire(ModelSpec(Path(sys.argv[1]), "minilm"), chunk_tokens=400).embed("text", "text")
        print(f"pid={owner.status()[0].pid};", flush=True)
        await trio.sleep_forever()
trio.run(main)
"""


@pytest.mark.parametrize("stopped", [False, True])
async def test_process_ends_with_its_killed_parent_even_if_stopped(minilm: Path, stopped: bool) -> None:
    command = [sys.executable, "-c", PARENT, str(minilm)]
    parent = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    try:
        said = b""
        with trio.fail_after(120):
            while not (found := re.search(rb"pid=(\d+);", said)):
                said += await parent.stdout.receive_some()
        pid = int(found[1])
        assert is_running(pid)
        if stopped:
            os.kill(pid, signal.SIGSTOP)
    finally:
        parent.kill()
        await parent.wait()
        await parent.stdout.aclose()
    await wait_until(lambda: not is_running(pid))


async def test_process_ends_with_its_input_and_writes_only_frames(minilm: Path) -> None:
    command = [*CHILD_COMMAND, str(minilm), "512", "2", "auto"]
    request = wire.encode({"kind": "embed", "id": 1, "texts": ["text"], "background": False})
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    reader, chatter = wire.FrameReader(), b""
    messages: list[wire.Message] = []

    async def listen() -> None:
        nonlocal chatter
        assert process.stderr
        async for data in process.stderr:
            chatter += data

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        await process.stdin.send_all(request)
        while len(messages) < 3:
            messages += reader.feed(bytes(await process.stdout.receive_some()))
        await process.stdin.aclose()
        with trio.fail_after(120):
            assert await process.wait() == 0
        assert await process.stdout.receive_some() == b""
        await process.stdout.aclose()
    await process.stderr.aclose()
    assert [message["kind"] for message in messages] == ["loading", "ready", "vector"]
    assert b"llama" in chatter


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has a priority of its own on Linux only")
@pytest.mark.parametrize("texts", [["one text"], ["two texts", "side by side"]])
async def test_texts_have_low_priority_and_queries_do_not(minilm: Path, texts: list[str]) -> None:
    def priorities(pid: int) -> list[int]:
        return sorted(
            os.getpriority(os.PRIO_PROCESS, int(task.name)) for task in Path(f"/proc/{pid}/task").iterdir()
        )

    usual = os.getpriority(os.PRIO_PROCESS, 0)  # of the process that started the tests

    async with running_owner(SETTINGS) as owner:
        provider = provider_of(owner, minilm)
        await provider.embed_query("a query")
        pid = owner.status()[0].pid
        assert pid
        assert set(priorities(pid)) == {usual}
        await trio.sleep(QUERY_QUIET_SECONDS)
        await provider.embed_batch(texts)
        assert min(MAX_NICENESS, usual + BACKGROUND_NICENESS) in priorities(pid)
        assert priorities(pid)[0] == usual
        assert os.getpriority(os.PRIO_PROCESS, pid) == usual
