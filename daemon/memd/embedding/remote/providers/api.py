"""What a provider's HTTP interface is to us: texts -> a request, its reply -> vectors or an error. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memd.embedding.provider import FloatArray
from memd.embedding.redaction import Redactor, redactor_of
from memd.embedding.secret import Secret
from memd_client.errors import ProviderFailedError

TextKind = Literal["query", "document"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is, and how to speak to it.

    `provider` is its name in settings and status; `base_url` has no slash at its end. `dims` is the size asked
    for, None for the model's own. `query_type` and `document_type` are values of `input_type` where the settings
    name some. `keep_alive_s` is for Ollama: how long it keeps the model, -1 for ever.
    """

    provider: str
    model: str
    base_url: str
    key: Secret | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    dims: int | None = None
    query_type: str | None = None
    document_type: str | None = None
    keep_alive_s: int = 1800

    @property
    def account(self) -> str:
        """Whose quota is used: provider, address and the fingerprint of the key; the key itself is not in it."""
        return f"{self.provider}|{self.base_url}|{self.key.fingerprint() if self.key else '-'}"

    @property
    def redactor(self) -> Redactor:
        """What keeps the key and the headers out of messages that repeat words of the provider."""
        return redactor_of(self.key, self.headers, self.base_url)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request ready to be sent. Headers may hold the key: they are not printed, and `redactor` finds them."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    redactor: Redactor = field(default_factory=redactor_of)


@dataclass(frozen=True, slots=True)
class ApiReply:
    """Raw vectors (n, dims), in the order of the texts, and the tokens the provider counted where it says so."""

    vectors: FloatArray
    tokens: int | None


class EmbeddingApi(Protocol):
    """One provider's way to say it."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts.

        Args:
            texts: At least one, encodable as UTF-8, no more than its limits.
            kind: What the texts are.
        """

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return what a reply of status 2xx holds.

        Args:
            body: As it came.
            count: How many texts were sent.

        Raises:
            ProviderReplyError: Not JSON, another number of vectors, positions that are doubled or missing,
                vectors of different lengths, not finite, or zero.
        """

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what a reply of another status means.

        Its class says what to do: `ProviderRateLimitedError` (`data["retry_after_s"]` where a pause is named),
        `ProviderQuotaError`, `ProviderAuthError`, `ProviderModelError`, `TextRefusedError`, and plain
        `ProviderFailedError` for what may pass by itself. Its message names provider, status and the provider's
        own short code; never the key, and nothing that repeats the text.
        """
