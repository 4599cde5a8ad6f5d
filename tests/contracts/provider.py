"""The contract of every EmbeddingProvider, including fakes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import numpy as np
import pytest
import trio

from memd.embedding.provider import EmbeddingProvider
from memd.text.tokens import estimate_tokens
from memd_client.errors import MemdError, TextRefusedError

ODD_TEXTS = (
    "",
    " \n\t ",
    "\0",
    "a lone \ud800 surrogate",
    "😀👩‍👩‍👧‍👦❤️",
    "部署方案 日本語 한국어",
    "┌─┐│└┘",
    "eA==" * 3000,
    "word " * 3000,
)


class ProviderContract:
    """Subclass it and implement how a provider is opened."""

    def open(self) -> AbstractAsyncContextManager[EmbeddingProvider]:
        """Return a context manager of a new provider."""
        raise NotImplementedError

    def run(self, test: Callable[[EmbeddingProvider], Awaitable[None]]) -> None:
        """Run a test with a provider."""

        async def body() -> None:
            async with self.open() as provider:
                await test(provider)

        trio.run(body)

    def test_provider_returns_finite_unit_rows_in_the_order_of_the_texts(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            texts = ["first", "second", "first"]
            matrix = await provider.embed_batch(texts)
            assert matrix.dtype == np.float32
            assert matrix.shape[0] == 3
            assert np.isfinite(matrix).all()
            assert np.allclose(np.linalg.norm(matrix, axis=1), 1.0, atol=1e-5)
            assert (matrix[0] == matrix[2]).all()
            assert not np.allclose(matrix[0], matrix[1])

        self.run(test)

    def test_provider_gives_a_text_the_same_vector_in_any_company(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            together = await provider.embed_batch(["one text", "another, longer text", "a third"])
            alone = await provider.embed_batch(["another, longer text"])
            assert np.allclose(together[1], alone[0], atol=1e-6)

        self.run(test)

    def test_provider_returns_a_query_vector_of_the_same_length(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            query = await provider.embed_query("where is it?")
            matrix = await provider.embed_batch(["there"])
            assert query.dtype == np.float32
            assert query.shape == matrix.shape[1:]
            assert abs(float(np.linalg.norm(query)) - 1.0) < 1e-5

        self.run(test)

    def test_provider_returns_an_empty_matrix_for_no_texts(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            assert (await provider.embed_batch([])).shape == (0, 0)

        self.run(test)

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: ascii(text[:12]))
    def test_provider_embeds_odd_text_or_refuses_one_beyond_its_limits(self, text: str) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            try:
                matrix = await provider.embed_batch([text])
            except TextRefusedError:
                assert estimate_tokens(text) > provider.limits.max_text_tokens
                return
            assert abs(float(np.linalg.norm(matrix[0])) - 1.0) < 1e-5

        self.run(test)

    def test_provider_stays_usable_after_a_cancelled_request(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            with trio.CancelScope() as scope:
                scope.cancel()
                await provider.embed_batch(["never answered"])
            assert scope.cancelled_caught
            assert (await provider.embed_query("answered")).ndim == 1

        self.run(test)

    def test_provider_serves_requests_at_the_same_time(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            expected = [await provider.embed_query(f"text {number}") for number in range(5)]
            results: dict[int, np.ndarray[tuple[int], np.dtype[np.float32]]] = {}

            async def ask(number: int) -> None:
                results[number] = await provider.embed_query(f"text {number}")

            async with trio.open_nursery() as nursery:
                for number in range(5):
                    nursery.start_soon(ask, number)
            assert all(np.allclose(results[number], expected[number]) for number in range(5))

        self.run(test)

    def test_provider_names_itself_and_a_stable_space(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            await trio.lowlevel.checkpoint()
            assert provider.id
            assert provider.model
            assert provider.space.provider == provider.id
            assert len(provider.space.id) == 16

        self.run(test)

    def test_provider_fails_by_name_after_close_and_closes_twice(self) -> None:
        async def test(provider: EmbeddingProvider) -> None:
            await provider.embed_query("open")
            await provider.aclose()
            await provider.aclose()
            with pytest.raises(MemdError):
                await provider.embed_query("closed")

        self.run(test)
