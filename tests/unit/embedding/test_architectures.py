"""Tests of the architectures of embedding models in real model processes, with tiny random weights."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
import pytest
import trio

from memd.embedding.local.child import split_into_windows
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.provider import FloatArray
from memd_client.errors import ModelInvalidError
from tests.support.models import is_running, local_provider, running_owner, wait_until
from tests.support.sampling import one_in
from tests.support.tiny_models import GPT2_TURN_END, TINY_MODELS, tiny_model, variant

SLIDING_LAYERS = 5
"""After this many layers of gemma-embedding with a sliding window one without follows."""


class GGUFReference:
    """A model's weights, and its vector of given tokens."""

    def __init__(self, path: Path) -> None:
        reader = gguf.GGUFReader(path)
        self._tensors = {tensor.name: np.array(tensor.data, dtype=np.float32) for tensor in reader.tensors}
        self._facts = {name: field.contents() for name, field in reader.fields.items()}
        self._architecture = str(self._facts["general.architecture"])
        self._heads: int = self._fact("attention.head_count")
        self._kv_heads: int = self._fact("attention.head_count_kv", self._heads)

    @property
    def pooling(self) -> gguf.PoolingType:
        """The file's pooling."""
        return gguf.PoolingType(self._fact("pooling_type"))

    def _fact(self, name: str, default: Any = None) -> Any:
        return self._facts.get(f"{self._architecture}.{name}", default)

    def embed(self, tokens: Sequence[int], pooling: gguf.PoolingType | None = None) -> FloatArray:
        """Return the unit vector (dims,) of tokens, with the file's pooling or another."""
        vector = self.pooled(tokens, pooling)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def pooled(self, tokens: Sequence[int], pooling: gguf.PoolingType | None = None) -> FloatArray:
        """Return the raw vector (dims,) of tokens."""
        rows = self._encode(list(tokens)) if self._is_bert else self._decode(list(tokens))
        pooling = self.pooling if pooling is None else pooling
        if pooling == gguf.PoolingType.MEAN:
            vector = rows.mean(axis=0)
        else:
            vector = rows[0 if pooling == gguf.PoolingType.CLS else -1]
        for name in ("dense_2.weight", "dense_3.weight"):
            if name in self._tensors:
                vector = self._tensors[name] @ vector
        return np.asarray(vector, dtype=np.float32)

    @property
    def _is_bert(self) -> bool:
        return self._architecture in ("bert", "nomic-bert")

    # --- bert, nomic-bert ---

    def _encode(self, tokens: list[int]) -> FloatArray:
        weights = self._tensors
        x = weights["token_embd.weight"][tokens] + weights["token_types.weight"][0]
        if "position_embd.weight" in weights:
            x = x + weights["position_embd.weight"][: len(tokens)]
        x = self._layer_norm(x, "token_embd_norm")
        for number in range(self._fact("block_count")):
            block = f"blk.{number}."
            x = self._layer_norm(x + self._attention(x, block), block + "attn_output_norm")
            x = self._layer_norm(x + self._feed_forward(x, block), block + "layer_output_norm")
        return x

    def _layer_norm(self, x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        epsilon = self._fact("attention.layer_norm_epsilon")
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return np.asarray(scaled * self._tensors[name + ".weight"] + self._tensors[name + ".bias"])

    # --- gemma-embedding, qwen3 ---

    def _decode(self, tokens: list[int]) -> FloatArray:
        x = self._tensors["token_embd.weight"][tokens]
        if self._architecture == "gemma-embedding":
            x = x * np.float32(math.sqrt(x.shape[1]))
        for number in range(self._fact("block_count")):
            block = f"blk.{number}."
            mixed = self._attention(self._rms_norm(x, block + "attn_norm"), block, number)
            x = x + self._rms_norm(mixed, block + "post_attention_norm")
            wide = self._feed_forward(self._rms_norm(x, block + "ffn_norm"), block)
            x = x + self._rms_norm(wide, block + "post_ffw_norm")
        return self._rms_norm(x, "output_norm")

    def _rms_norm(self, x: FloatArray, name: str) -> FloatArray:
        """Return a normalized tensor; the tensor itself if the model has no such norm."""
        if name + ".weight" not in self._tensors:
            return x
        epsilon = self._fact("attention.layer_norm_rms_epsilon")
        return np.asarray(
            x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * self._tensors[name + ".weight"]
        )

    # --- both ---

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        bias = self._tensors.get(name + ".bias", np.float32(0.0))
        return np.asarray(x @ self._tensors[name + ".weight"].T + bias)

    def _attention(self, x: FloatArray, block: str, number: int = 0) -> FloatArray:
        if block + "attn_qkv.weight" in self._tensors:
            query, key, value = np.split(self._linear(x, block + "attn_qkv"), 3, axis=1)
        else:
            query, key, value = (self._linear(x, f"{block}attn_{name}") for name in "qkv")
        is_sliding = self._fact("attention.sliding_window") is not None and (
            number % (SLIDING_LAYERS + 1) < SLIDING_LAYERS
        )
        queries = self._turn(self._rms_norm(_split(query, self._heads), block + "attn_q_norm"), is_sliding)
        keys = self._turn(self._rms_norm(_split(key, self._kv_heads), block + "attn_k_norm"), is_sliding)
        shared = self._heads // self._kv_heads
        keys, values = (np.repeat(each, shared, axis=0) for each in (keys, _split(value, self._kv_heads)))
        scores = queries @ keys.swapaxes(1, 2) / math.sqrt(queries.shape[-1])
        scores = np.where(self._visible(len(x), is_sliding=is_sliding), scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        mixed = (shares @ values).swapaxes(0, 1).reshape(len(x), -1)
        return self._linear(np.asarray(mixed, dtype=np.float32), block + "attn_output")

    def _visible(self, count: int, *, is_sliding: bool) -> npt.NDArray[np.bool_]:
        """Return which position (column) each position (row) attends to."""
        distance = np.arange(count)[None, :] - np.arange(count)[:, None]
        if self._architecture == "qwen3":
            return np.asarray(distance <= 0)
        window = self._fact("attention.sliding_window") if is_sliding else 2 * count
        return np.asarray(np.abs(distance) <= window // 2)

    def _turn(self, heads: FloatArray, is_sliding: bool) -> FloatArray:
        """Return (heads, positions, size) with rotary position embeddings."""
        if self._architecture == "bert":
            return heads
        base = self._fact("rope.freq_base_swa" if is_sliding else "rope.freq_base")
        half = heads.shape[-1] // 2
        angles = np.arange(heads.shape[1])[:, None] * base ** (-np.arange(half) / half)
        cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        first, second = heads[..., :half], heads[..., half:]
        return np.concatenate(
            [first * cosine - second * sine, first * sine + second * cosine], axis=-1, dtype=np.float32
        )

    def _feed_forward(self, x: FloatArray, block: str) -> FloatArray:
        up = self._linear(x, block + "ffn_up")
        if self._architecture == "bert":
            wide = _gelu(up)
        else:
            gate = self._linear(x, block + "ffn_gate")
            wide = (_gelu if self._architecture == "gemma-embedding" else _silu)(gate) * up
        return self._linear(wide, block + "ffn_down")


def _split(x: FloatArray, heads: int) -> FloatArray:
    """Return (positions, heads * size) as (heads, positions, size)."""
    return np.asarray(x.reshape(len(x), heads, -1).swapaxes(0, 1))


def _silu(x: FloatArray) -> FloatArray:
    return np.asarray(x / (1.0 + np.exp(-x)))


def _gelu(x: FloatArray) -> FloatArray:
    """Return GELU by its tanh approximation, which llama.cpp uses."""
    return np.asarray(0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))))


pytestmark = pytest.mark.model

SETTINGS = ModelSettings(query_timeout_s=30)

SHORT = "the gateway port, x=1"
ODD = "Ünïcode 😀 部署 \u200b"
MEDIUM = "deploy the bread recipe and restart the gateway server. " * 4
LONG = "deploy the bread recipe and restart the gateway server. " * 12
TEXTS = (SHORT, ODD, MEDIUM, LONG, "")

SAME = 0.99999
DIFFERENT = 0.9999
"""Cosines: llama.cpp computes attention with keys and values of 16 bits, the reference with 32."""

INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
PROMPTS = {
    "gemma-embedding": ("task: search result | query: ", "title: none | text: "),
    "nomic-bert": ("search_query: ", "search_document: "),
    "bert": ("Represent this sentence for searching relevant passages: ", ""),
    "qwen3": (INSTRUCT, ""),
}
DIMS = {"gemma-embedding": 768, "nomic-bert": 64, "bert": 64, "qwen3": 64}
SPECIAL = {
    "gemma-embedding": (["<bos>"], ["<eos>"]),
    "nomic-bert": (["[CLS]"], ["[SEP]"]),
    "bert": (["[CLS]"], ["[SEP]"]),
    "qwen3": ([], ["<|endoftext|>"]),
}
"""The tokens around a text, as the tokenizers of the original models add them."""

ARCHITECTURES = pytest.mark.parametrize("architecture", one_in(2, TINY_MODELS))


class Tokenizer:
    """llama.cpp's tokenizer of a file, with the start and end tokens of the original model."""

    def __init__(self, path: Path, architecture: str) -> None:
        from llama_cpp import Llama

        self._llama = Llama(str(path), vocab_only=True, verbose=True)
        tokens = gguf.GGUFReader(path).fields["tokenizer.ggml.tokens"].contents()
        self._start, self._end = ([tokens.index(each) for each in side] for side in SPECIAL[architecture])
        self._cut = (len(self._start), len(self._end)) if architecture in ("bert", "nomic-bert") else (0, 0)

    def tokens(self, text: str) -> list[int]:
        plain = self._llama.tokenize(text.encode(), add_bos=bool(self._cut[0]))
        first, last = self._cut
        return [*self._start, *plain[first : len(plain) - last], *self._end]


@asynccontextmanager
async def provider_of(
    path: Path, *, chunk_tokens: int = 400
) -> AsyncIterator[tuple[LocalProvider, ModelOwner]]:
    """Run memd's provider of a model file."""
    async with running_owner(SETTINGS) as owner:
        yield local_provider(owner, path, chunk_tokens=chunk_tokens), owner


async def embed(path: Path, texts: Sequence[str], **options: Any) -> FloatArray:
    async with provider_of(path, **options) as (provider, _):
        return await provider.embed_batch(texts)


def cosine(first: FloatArray, second: FloatArray) -> float:
    return float(first @ second) / float(np.linalg.norm(first) * np.linalg.norm(second))


@ARCHITECTURES
async def test_vectors_are_those_of_the_reference_with_prompts(architecture: str) -> None:
    path = tiny_model(architecture)
    tokenizer, reference = Tokenizer(path, architecture), GGUFReference(path)
    query_prompt, document_prompt = PROMPTS[architecture]
    async with provider_of(path) as (provider, owner):
        assert (provider.space.query_prefix, provider.space.document_prefix) == PROMPTS[architecture]
        documents = await provider.embed_batch(TEXTS)
        assert documents.shape == (len(TEXTS), DIMS[architecture])
        assert np.allclose(np.linalg.norm(documents, axis=1), 1.0, atol=1e-5)
        for text, vector in zip(TEXTS, documents, strict=True):
            tokens = tokenizer.tokens(document_prompt + text)
            assert cosine(vector, reference.embed(tokens)) > SAME, text
        query = await provider.embed_query(SHORT)
        assert cosine(query, reference.embed(tokenizer.tokens(query_prompt + SHORT))) > SAME
        assert [status.state for status in owner.status()] == ["ready"]


@ARCHITECTURES
async def test_vectors_are_not_those_of_another_pooling(architecture: str) -> None:
    path = tiny_model(architecture)
    reference = GGUFReference(path)
    tokens = Tokenizer(path, architecture).tokens(PROMPTS[architecture][1] + MEDIUM)
    [vector] = await embed(path, [MEDIUM])
    assert reference.pooling == TINY_MODELS[architecture].pooling
    for pooling in {gguf.PoolingType.MEAN, gguf.PoolingType.CLS, gguf.PoolingType.LAST} - {reference.pooling}:
        assert cosine(vector, reference.embed(tokens, pooling)) < DIFFERENT, pooling


@ARCHITECTURES
async def test_vector_is_the_same_alone_in_a_batch_and_in_another_process(architecture: str) -> None:
    path = tiny_model(architecture)
    texts = [*TEXTS, *(f"text {number} about the gateway" for number in range(12))]
    async with provider_of(path) as (provider, _):
        batch = await provider.embed_batch(texts)
        for text, vector in zip(texts, batch, strict=True):
            assert np.array_equal((await provider.embed_batch([text]))[0], vector), text
    assert np.array_equal(await embed(path, texts), batch)


@ARCHITECTURES
async def test_text_beyond_the_context_is_the_mean_of_its_windows(architecture: str) -> None:
    path = tiny_model(architecture)
    tokenizer, reference = Tokenizer(path, architecture), GGUFReference(path)
    text = PROMPTS[architecture][1] + LONG
    windows = list(split_into_windows(text, lambda window: len(tokenizer.tokens(window)), 128))
    assert len(windows) > 1
    mean = np.sum([count * reference.pooled(tokenizer.tokens(window)) for window, count in windows], axis=0)
    [vector] = await embed(path, [LONG], chunk_tokens=100)
    assert cosine(vector, mean) > SAME
    assert cosine(vector, reference.embed(tokenizer.tokens(text))) < DIFFERENT


@ARCHITECTURES
async def test_process_ends_with_the_provider_and_has_the_model_unmapped(architecture: str) -> None:
    path = tiny_model(architecture)
    async with provider_of(path) as (provider, owner):
        await provider.embed_query(SHORT)
        [status] = owner.status()
        assert status.pid is not None
        assert status.rss_bytes > 0
        assert path.name in await trio.Path(f"/proc/{status.pid}/maps").read_text()
        await provider.aclose()
        await wait_until(lambda: not is_running(status.pid or 0))
        assert owner.status() == []


async def test_unused_model_is_unloaded_and_loaded_again() -> None:
    path = tiny_model("gemma-embedding")
    async with running_owner(ModelSettings(query_timeout_s=30, keep_alive_s=0.01)) as owner:
        provider = local_provider(owner, path)
        first = await provider.embed_query(SHORT)
        await wait_until(lambda: owner.status()[0].pid is None)
        assert (owner.status()[0].state, owner.status()[0].rss_bytes) == ("idle", 0)
        assert np.array_equal(await provider.embed_query(SHORT), first)


# --- files with other metadata --------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["gemma-embedding", "nomic-bert", "qwen3"])
async def test_embedding_model_without_a_pooling_type_has_that_of_its_architecture(
    architecture: str, tmp_path: Path
) -> None:
    facts = {f"{architecture}.pooling_type": None}
    path = variant(architecture, tmp_path / "model.gguf", facts=facts)
    assert np.array_equal(await embed(path, TEXTS), await embed(tiny_model(architecture), TEXTS))


@pytest.mark.parametrize(
    ("architecture", "name"), [("bert", "Bge Small En v1.5"), ("qwen3", "Qwen3 0.6B Instruct")]
)
async def test_model_of_unknown_pooling_is_refused(architecture: str, name: str, tmp_path: Path) -> None:
    facts = {f"{architecture}.pooling_type": None}
    path = variant(architecture, tmp_path / "model.gguf", name=name, facts=facts)
    async with provider_of(path) as (provider, _):
        with pytest.raises(ModelInvalidError, match="vector per token"):
            await provider.embed_query(SHORT)


async def test_pooling_of_the_file_wins_over_that_of_the_architecture(tmp_path: Path) -> None:
    path = variant("gemma-embedding", tmp_path / "model.gguf", pooling=gguf.PoolingType.CLS)
    tokens = Tokenizer(path, "gemma-embedding").tokens(PROMPTS["gemma-embedding"][1] + MEDIUM)
    [vector] = await embed(path, [MEDIUM])
    assert cosine(vector, GGUFReference(path).embed(tokens, gguf.PoolingType.CLS)) > SAME


@pytest.mark.parametrize("end", ["<|endoftext|>", GPT2_TURN_END])
async def test_last_token_is_the_end_token_even_if_the_file_asks_for_none(end: str, tmp_path: Path) -> None:
    tokens = gguf.GGUFReader(tiny_model("qwen3")).fields["tokenizer.ggml.tokens"].contents()
    facts = {"tokenizer.ggml.add_eos_token": None, "tokenizer.ggml.eos_token_id": tokens.index(end)}
    path = variant("qwen3", tmp_path / "model.gguf", facts=facts)
    assert np.array_equal(await embed(path, TEXTS), await embed(tiny_model("qwen3"), TEXTS))


async def test_end_token_is_left_out_if_the_file_says_so(tmp_path: Path) -> None:
    facts = {"tokenizer.ggml.add_eos_token": False}
    path = variant("qwen3", tmp_path / "model.gguf", facts=facts)
    tokens = Tokenizer(path, "qwen3").tokens(MEDIUM)[:-1]
    [vector] = await embed(path, [MEDIUM])
    assert cosine(vector, GGUFReference(path).embed(tokens)) > SAME


async def test_gemma_without_dense_layers_is_embedded(tmp_path: Path) -> None:
    path = variant("gemma-embedding", tmp_path / "model.gguf", has_dense_layers=False)
    tokens = Tokenizer(path, "gemma-embedding").tokens(PROMPTS["gemma-embedding"][1] + MEDIUM)
    [vector] = await embed(path, [MEDIUM])
    assert cosine(vector, GGUFReference(path).embed(tokens)) > SAME


async def test_sliding_window_of_the_file_limits_the_attention(tmp_path: Path) -> None:
    path = variant("gemma-embedding", tmp_path / "model.gguf", window=512)
    [narrow], [wide] = await embed(tiny_model("gemma-embedding"), [LONG]), await embed(path, [LONG])
    assert cosine(narrow, wide) < DIFFERENT


async def test_default_prompts_are_found_in_a_renamed_file_without_a_name(tmp_path: Path) -> None:
    path = variant("gemma-embedding", tmp_path / "renamed.gguf", facts={"general.name": None})
    async with provider_of(path) as (provider, _):
        assert (provider.space.query_prefix, provider.space.document_prefix) == PROMPTS["gemma-embedding"]
