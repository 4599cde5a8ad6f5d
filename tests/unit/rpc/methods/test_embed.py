"""embed: texts to vectors, checked first."""

from __future__ import annotations

from memd.rpc.methods import embed
from memd_client.messages import EmbedParams
from tests.unit.rpc.methods.calling import call_of, run


def test_every_text_gets_a_vector() -> None:
    reply = run(embed.handle(call_of(), EmbedParams(texts=["a", "b"], kind="query")))
    assert (reply.count, len(reply.vectors)) == (2, 2 * reply.dims * 4)
