"""Settings of embedding providers' endpoints: address, key, headers and batch API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from memd.settings.fields import REFUSED, Derived, Setting, Settings

KEY_KINDS = 'a string, or {source: "env", id: "NAME"}'
"""Types of an API key in words; of OpenClaw's references to secrets, those to variables."""


class Batch(Settings, frozen=True, kw_only=True):
    """A provider's asynchronous batch API."""

    enabled: Annotated[
        bool,
        Setting(
            "Whether to use the provider's batch API for bulk work, if it has one; with a `baseUrl` only if this "
            "is set explicitly."
        ),
    ] = True
    wait: Annotated[bool, Setting("Whether `memctl index` waits for batch jobs."), REFUSED] = True
    concurrency: Annotated[int, Setting("Maximum number of concurrent batch jobs.", least=1), REFUSED] = 2
    poll_interval_ms: Annotated[
        int,
        Setting("Interval between two checks of a batch job.", unit="milliseconds", least=0),
        REFUSED,
    ] = 2000
    timeout_minutes: Annotated[
        int,
        Setting(
            "Timeout of a batch job; it is then cancelled, and ordinary requests embed the rest.",
            unit="minutes",
            least=0,
        ),
        REFUSED,
    ] = 60
    enabled_set: Annotated[bool, Derived("enabled")] = False


class EndpointSettings(Settings, frozen=True, kw_only=True):
    """The address, key and headers of an embedding provider's endpoint.

    `${NAME}` in the key, the address or a header's value is replaced by an environment variable.
    """

    base_url: Annotated[
        str | None,
        Setting(
            "The provider's address; with `openai`, any OpenAI-compatible endpoint.",
            default="the provider's own",
        ),
    ] = None
    api_key: Annotated[
        str | None,
        Setting(
            "The key, `${VARIABLE}`, or an object that names a variable; see [Keys](#keys).",
            kind=KEY_KINDS,
        ),
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        Setting("Headers added to every request; may contain `${VARIABLE}`."),
    ] = None
    batch: Batch = Batch()

    def __repr__(self) -> str:
        """Return the settings without the key and the headers' values: they must not reach a log."""
        return f"EndpointSettings({_hidden(self.base_url, self.api_key, self.headers)}, batch={self.batch!r})"


class ProviderEntry(Settings, frozen=True, kw_only=True):
    """One of OpenClaw's `models.providers`: its id, and the settings used for embeddings.

    As in `EndpointSettings`, `${NAME}` is replaced by an environment variable.
    """

    id: Annotated[str, Derived()] = ""
    base_url: Annotated[str | None, Setting("The endpoint's address.")] = None
    api_key: Annotated[
        str | None, Setting("The endpoint's key, in any form of `endpoint.apiKey`.", kind=KEY_KINDS)
    ] = None
    api: Annotated[
        str | None, Setting("The endpoint's API, which determines the provider interface used.")
    ] = None
    headers: Annotated[
        dict[str, str] | None,
        Setting("Headers sent with every request; the agent's `endpoint.headers` take precedence."),
    ] = None
    models: Annotated[
        tuple[str, ...],
        Setting(
            "The endpoint's models; if the agent sets none, the first with `embed` in its id is used, else the first.",
            kind="a list of objects with an id",
        ),
    ] = ()

    def __repr__(self) -> str:
        """Return the entry without the key and the headers' values: they must not reach a log."""
        facts = _hidden(self.base_url, self.api_key, self.headers)
        return f"ProviderEntry(id={self.id!r}, {facts}, api={self.api!r}, models={self.models!r})"


def _hidden(base_url: str | None, api_key: str | None, headers: Mapping[str, str] | None) -> str:
    """Return address, key and headers for a repr, without secrets."""
    address = base_url and re.sub(r"(?<=//).*@|[?#].*", "", base_url, flags=re.DOTALL)
    key = "set" if api_key else "none"
    return f"base_url={address!r}, api_key=<{key}>, headers={sorted(headers or {})}"
