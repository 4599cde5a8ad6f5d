"""Runs the provider contract for all providers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from memd.embedding.local.engine import ENGINES
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.process import ModelSettings
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import local_space
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.space import VectorSpace
from tests.contracts.provider import ProviderContract
from tests.support import fake_model_child
from tests.support.engines import skip_without
from tests.support.fake_provider import FakeProvider
from tests.support.models import running_owner
from tests.support.provider_errors import DialectName
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.remote_fixture import remote


class TestFakeProvider(ProviderContract):
    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        yield FakeProvider()


class TestLocalProviderWithAFakeProcess(ProviderContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = fake_model_child.write_model(tmp_path / "model.gguf")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        async with running_owner(
            ModelSettings(command=fake_model_child.COMMAND, query_timeout_s=120)
        ) as owner:
            yield LocalProvider(
                owner, ModelSpec(self.path, "fake"), VectorSpace("local", "fake"), chunk_tokens=400
            )


@pytest.mark.model
class TestLocalProvider(ProviderContract):
    @pytest.fixture(autouse=True, params=[engine.package for engine in ENGINES])
    def _model(self, minilm: Path, request: pytest.FixtureRequest) -> None:
        skip_without(request.param)
        self.path, self.package = minilm, request.param

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        file = ModelSpec(self.path, "minilm")
        async with running_owner(ModelSettings(query_timeout_s=120)) as owner:
            for package in {engine.package for engine in ENGINES} - {self.package}:
                owner.crashes.add(package)
            yield LocalProvider(owner, file, local_space("minilm", None), chunk_tokens=400)
            assert {model.engine for model in owner.status()} <= {self.package, ""}


class RemoteContract(ProviderContract):
    """The contract over HTTP, with a server of the provider's protocol."""

    dialect: DialectName

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with serve_provider(self.dialect) as server:
            self.server: ProviderServer = server
            yield
        # all requests were as documented by the provider; too long texts are refused
        assert [wrong for wrong in server.complaints if ": text: " not in wrong] == []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        async with remote(self.server) as provider:
            yield provider


class TestOpenAI(RemoteContract):
    dialect: DialectName = "openai"


class TestGemini(RemoteContract):
    dialect: DialectName = "gemini"


class TestGeminiWithReducedDimensions(RemoteContract):
    """Google doesn't normalize vectors of reduced size."""

    dialect: DialectName = "gemini"

    @asynccontextmanager
    async def open(self) -> AsyncIterator[EmbeddingProvider]:
        async with remote(self.server, dims=768) as provider:
            assert (await provider.embed_query("a cat")).shape == (768,)
            yield provider


class TestVoyage(RemoteContract):
    dialect: DialectName = "voyage"


class TestMistral(RemoteContract):
    dialect: DialectName = "mistral"


class TestOllama(RemoteContract):
    dialect: DialectName = "ollama"


class TestSequentialOllama(RemoteContract):
    """Some releases of Ollama reply to concurrent requests with status 500."""

    dialect: DialectName = "ollama"

    @pytest.fixture(autouse=True)
    def _strict(self, _server: None) -> None:
        self.server.one_at_a_time, self.server.latency_s = True, 0.02


class TestCompatible(RemoteContract):
    dialect: DialectName = "compatible"


del RemoteContract  # otherwise pytest would collect it as well
