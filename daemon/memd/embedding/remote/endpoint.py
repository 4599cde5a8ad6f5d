"""Endpoints of providers, and their HTTP requests and replies. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from memd import __version__
from memd.embedding.redaction import Redactor, redactor_of
from memd.embedding.secret import Secret

TextKind = Literal["query", "document"]

USER_AGENT: Final = f"memd/{__version__}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of one model, and the settings of requests to it.

    `provider` is its name in settings and status; `base_url` has no trailing slash. `dims` is the requested vector
    size, None for the model's default. `query_type` and `document_type` are configured values of `input_type`.
    `keep_alive_s` is how long Ollama keeps the model loaded, -1 for ever.
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
        """The id of the account: provider, address and fingerprint of the key."""
        return f"{self.provider}|{self.base_url}|{self.key.fingerprint() if self.key else '-'}"

    @property
    def redactor(self) -> Redactor:
        """A redactor of the key and the headers."""
        return redactor_of(self.key, self.headers, self.base_url)

    @property
    def bearer(self) -> dict[str, str]:
        """The authorization header; empty without a key."""
        return {"Authorization": f"Bearer {self.key.reveal()}"} if self.key else {}

    def post_json(self, url: str, auth: Mapping[str, str], payload: Mapping[str, Any]) -> ApiRequest:
        """Return a POST of a JSON object; configured headers override the default ones."""
        configured = {name.lower() for name in self.headers}
        defaults = {
            "User-Agent": USER_AGENT,
            "Accept": "application/json",
            "Content-Type": "application/json",
            **auth,
        }
        headers = {name: value for name, value in defaults.items() if name.lower() not in configured}
        return ApiRequest(
            "POST", url, headers | dict(self.headers), msgspec.json.encode(payload), self.redactor
        )


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """An HTTP request; its headers may contain the key and aren't in `repr`."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    redactor: Redactor = field(default_factory=redactor_of)


class HttpReply(Struct, frozen=True):
    """An HTTP reply of any status, with lower-case header names and decompressed body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Timeouts(Struct, frozen=True):
    """Timeouts of the phases of a request and of the whole request, in seconds.

    `read_s` and `write_s` apply to each piece of data, so only `total_s` ends a reply that trickles in.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    write_s: float = 30.0
    total_s: float = 120.0
