"""Endpoints of providers, and the requests and replies exchanged with them. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from memd import __version__
from memd.embedding.redaction import Redactor, redactor_of
from memd.embedding.secret import Secret

TextKind = Literal["query", "document"]

USER_AGENT: Final = f"memd/{__version__}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of one model, and what a request to it needs.

    `provider` is its name in settings and status; `base_url` has no slash at its end. `dims` is the vector size
    to ask for, None for the model's own. `query_type` and `document_type` are values of `input_type` if the settings
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
        """The owner of the quota: provider, address and the fingerprint of the key, never the key itself."""
        return f"{self.provider}|{self.base_url}|{self.key.fingerprint() if self.key else '-'}"

    @property
    def redactor(self) -> Redactor:
        """What keeps the key and the headers out of messages that repeat words of the provider."""
        return redactor_of(self.key, self.headers, self.base_url)

    @property
    def bearer(self) -> dict[str, str]:
        """The header that carries the key, none without a key."""
        return {"Authorization": f"Bearer {self.key.reveal()}"} if self.key else {}

    def post_json(self, url: str, auth: Mapping[str, str], payload: Mapping[str, Any]) -> ApiRequest:
        """Return a POST of a JSON object; the user's headers replace memd's, whatever their case."""
        users = {name.lower() for name in self.headers}
        defaults = {
            "User-Agent": USER_AGENT,
            "Accept": "application/json",
            "Content-Type": "application/json",
            **auth,
        }
        headers = {name: value for name, value in defaults.items() if name.lower() not in users}
        return ApiRequest(
            "POST", url, headers | dict(self.headers), msgspec.json.encode(payload), self.redactor
        )


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request ready to be sent. Headers may hold the key: they are not printed, and `redactor` finds them."""

    method: Literal["GET", "POST", "DELETE"]
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)
    redactor: Redactor = field(default_factory=redactor_of)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A reply of any status. `headers` have lower-case names; `body` is decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long each phase of a request may take, in seconds, and all of it together.

    `read_s` and `write_s` count from one piece to the next, so `total_s` is what ends a slow drip.
    """

    connect_s: float = 5.0
    read_s: float = 60.0
    write_s: float = 30.0
    total_s: float = 120.0
