"""Replies in OpenAI's shape, `{"data": [{"index", "embedding"}], "usage"}`, which others speak, too."""

from __future__ import annotations

from typing import Any

import msgspec

from memd.embedding.providers.api import ApiReply, Endpoint
from memd.embedding.providers.json_shape import Row, decode, matrix, token_count
from memd_client.errors import ProviderReplyError


class _Item(msgspec.Struct, gc=False):
    embedding: Row
    index: int | None = None


class _Shape(msgspec.Struct):
    data: list[_Item]
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Shape)


def parse_openai(body: bytes, count: int, endpoint: Endpoint) -> ApiReply:
    """Return what a reply holds, its vectors put in the order of their `index`.

    Args:
        body: As it came.
        count: How many texts were sent.
        endpoint: Who sent it.

    Raises:
        ProviderReplyError: As `EmbeddingApi.parse`. A reply that has no `index` at all is in the order of the
            texts; one that has some must have them all.
    """
    reply = decode(_DECODER, body, endpoint.provider)
    items = reply.data
    if len(items) == count and any(item.index is not None for item in items):
        places = {item.index: item for item in items}
        if places.keys() != set(range(count)):
            raise ProviderReplyError(
                f"{endpoint.provider} answered with positions that are doubled or missing"
            )
        items = [places[place] for place in range(count)]
    vectors = matrix([item.embedding for item in items], count, endpoint)
    return ApiReply(vectors, token_count(reply.usage, "total_tokens", "prompt_tokens"))
