"""The provider contract over every provider there is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memd.embedding.model.owner import ModelFile
from memd.embedding.model.policy import RunnerSettings
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.providers.local import LocalProvider
from memd.embedding.space import VectorSpace, local_space
from tests.contracts.provider import ProviderContract
from tests.support import fake_model_child
from tests.support.fake_provider import FakeProvider
from tests.support.models import running_owner


class TestFakeProvider(ProviderContract):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        yield FakeProvider()


class TestLocalProviderOverAFakeChild(ProviderContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = fake_model_child.write_model(tmp_path / "model.gguf")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        async with running_owner(
            RunnerSettings(command=fake_model_child.COMMAND, query_timeout_s=20)
        ) as owner:
            yield LocalProvider(
                owner, ModelFile(self.path, "fake"), VectorSpace("local", "fake"), chunk_tokens=400
            )


@pytest.mark.model
class TestLocalProvider(ProviderContract):
    @pytest.fixture(autouse=True)
    def _model(self, minilm: Path) -> None:
        self.path = minilm

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        file = ModelFile(self.path, "minilm")
        async with running_owner(RunnerSettings(query_timeout_s=20)) as owner:
            yield LocalProvider(owner, file, local_space("minilm", None), chunk_tokens=400)
