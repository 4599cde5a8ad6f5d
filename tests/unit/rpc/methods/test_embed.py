"""embed: texts to vectors, checked first."""

from __future__ import annotations

from pathlib import Path

from memd.rpc.methods import embed
from memd_client.messages import EmbedParams
from tests.support.agents import BlockingRegistry, config_in
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import FakeChooser
from tests.unit.rpc.methods.calling import call_of


def test_every_text_gets_a_vector(tmp_path: Path) -> None:
    config, chooser = config_in(tmp_path, provider="fake"), FakeChooser(FakeProvider(dims=4))
    params = EmbedParams(texts=["a", "b"], kind="query")

    with BlockingRegistry(tmp_path, config, chooser=chooser) as memory:
        reply = memory.run(embed.handle, call_of(memory.registry), params)

    assert (reply.count, reply.dims, len(reply.vectors)) == (2, 4, 2 * 4 * 4)
