"""Request on the vectors of texts: `embed`."""

from __future__ import annotations

from typing import Annotated

from memd_client.limits import AgentId, Texts, one_of
from memd_client.schema import Record


class EmbedParams(Record, frozen=True):
    """Return the vectors of texts by an agent's embedding provider.

    Attributes:
        texts: At most 10,000 texts of 4,000,000 characters in all.
        agent: The agent whose provider is used; None: the default agent.
        kind: `document` or `query`: some models embed them differently.
        keep: Store vectors of documents in the agent's cache, and use those that are there.

    Returns:
        `vectors`: `count` rows of `dims` numbers of unit length, as packed little-endian float32.

    Raises:
        ProviderUnavailableError: The agent has no embedding provider.
        ProviderFailedError: The provider failed; its subclasses say how.
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The agent's settings turn memory off.
        BadParamsError: A parameter has the wrong type or is out of its range.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    texts: Texts
    agent: AgentId | None = None
    kind: Annotated[str, one_of("query", "document")] = "document"
    keep: bool = False


class EmbedReply(Record, frozen=True):
    """Vectors of unit length: `count` rows of `dims` numbers, as packed little-endian float32.

    Attributes:
        provider: Name of the embedding provider.
        model: Name of the model.
        count: Number of vectors.
        dims: Dimensions of a vector.
        vectors: `count` × `dims` little-endian float32, unit length.
    """

    provider: str
    model: str
    count: int
    dims: int
    vectors: bytes
