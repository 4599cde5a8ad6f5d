"""The default model of the provider `local`, in its architecture with tiny random weights, in a real daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.embedding.local.engine import ENGINES
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, parse_reference
from memd_client.messages import StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.models import children_of
from tests.support.state_homes import StateHome, agents_config
from tests.support.tiny_models import GEMMA, write_tiny_model

pytestmark = pytest.mark.model


@pytest.fixture
def home(tmp_path: Path) -> Iterator[StateHome]:
    """A home whose model directory has the default model."""
    write_tiny_model(parse_reference(DEFAULT_LOCAL_MODEL).file(tmp_path), GEMMA)
    with StateHome() as home:
        settings = {"provider": "local", "local": {"modelCacheDir": str(tmp_path)}, "sync": {"watch": False}}
        home.configure(agents_config(home.state, memory_search=settings))
        home.note("memory/gateway.md", "# Gateway\n\nThe gateway listens on port 18789.\n")
        home.note(
            "memory/long.md", "# Recipes\n\n" + "".join(f"Bread {each} needs rye.\n" for each in range(200))
        )
        yield home


def is_everything_embedded(status: StatusReply) -> bool:
    """Return whether all chunks have vectors."""
    return all(row.chunks > 0 and not row.chunks_pending and not row.files_pending for row in status.agents)


def test_default_model_embeds_notes_and_queries_and_its_needs_are_shown(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        status = daemon.wait_for(is_everything_embedded, 120)
        [agent] = status.agents
        assert (agent.provider, agent.model, agent.dims) == ("local", DEFAULT_LOCAL_MODEL, 768)
        assert agent.vectors == agent.chunks
        reply = client.search("which port has the gateway?")
        assert (reply.mode, reply.degraded) == ("hybrid", None)
        assert reply.hits[0].path == "memory/gateway.md"
        info = client.model(action="info").info
        assert info is not None
        assert (info.downloaded, info.architecture, info.dims, info.windows) == (
            True,
            "gemma-embedding",
            768,
            1,
        )
        listed = {model.ref: model for model in client.model(action="list").models}[DEFAULT_LOCAL_MODEL]
        assert (listed.loaded, listed.ram_bytes) == (True, info.ram_bytes)
        [child] = children_of(daemon.pid)
        [model] = daemon.wait_for(lambda status: bool(status.models)).models
        assert model.pid == child
        assert (info.engine, info.has_gpu, info.gpu_layers) == (model.engine, model.has_gpu, model.gpu_layers)
        assert model.engine in {engine.package for engine in ENGINES}
        assert model.rss_bytes < info.peak_bytes
