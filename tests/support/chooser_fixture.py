"""Providers and plans for given settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import trio

from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.choose.remote_resolver import RemotePlan, RemoteResolver
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.reference import ModelReference
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.http import HttpClient
from memd.settings.endpoints import ProviderEntry
from memd.settings.schema import DaemonSettings, MemorySearch
from memd_client.errors import MemdError

KEYS = {
    "OPENAI_API_KEY": "key-of-openai",
    "GEMINI_API_KEY": "key-of-gemini",
    "VOYAGE_API_KEY": "key-of-voyage",
    "MISTRAL_API_KEY": "key-of-mistral",
}
"""A key for every provider that requires one."""


class Choice(NamedTuple):
    """The configured provider, or why it can't be used."""

    provider: EmbeddingProvider | None = None
    problem: MemdError | None = None


class ChooserFixture:
    """`Providers` for tests; records the clients created and downloads started."""

    def __init__(
        self,
        cache: Path,
        *,
        extra: bool = True,
        environ: Mapping[str, str] | None = None,
        entries: Mapping[str, ProviderEntry] | None = None,
        daemon: DaemonSettings | None = None,
        online: bool = True,
    ) -> None:
        self.clients: list[HttpClient] = []
        self.downloads: list[tuple[ModelReference, Path]] = []
        self._online = online
        accounts = Accounts(None, lambda: 0, 0)
        self.providers = ProviderFactory(
            models=ModelOwner(),
            models_dir=cache,
            http=self._client,
            accounts=lambda: accounts,
            entries=entries or {},
            state_dir=cache / "state",
            environ=environ or {},
            daemon=daemon or DaemonSettings(),
            start_download=self._download,
            has_extra=lambda: extra,
        )

    def _client(self) -> HttpClient:
        self.clients.append(HttpClient())
        return self.clients[-1]

    def _download(self, reference: ModelReference, folder: Path) -> bool:
        self.downloads.append((reference, folder))
        return self._online

    def choose(self, **settings: Any) -> Choice:
        """Return the configured provider of these settings, or why there is none."""
        configured = MemorySearch(**settings)
        try:
            return Choice(trio.run(self.providers.make, configured.provider, configured, "main"))
        except MemdError as error:
            return Choice(problem=error)

    def rebuild(self, recipe: Mapping[str, str], **settings: Any) -> EmbeddingProvider | None:
        """Return the earlier provider of a recipe, with these settings."""
        return trio.run(self.providers.rebuild, recipe, MemorySearch(**settings), "main")


def remote_resolver(
    settings: MemorySearch, *entries: ProviderEntry, environ: Mapping[str, str] = KEYS
) -> RemoteResolver:
    """Return the remote providers of an agent that has no auth profiles."""
    return RemoteResolver(
        settings,
        "main",
        entries={entry.id: entry for entry in entries},
        state_dir=Path("/nowhere"),
        environ=environ,
        keep_alive_s=1800,
    )


def plan(
    provider: str, *entries: ProviderEntry, name: str = "", environ: Mapping[str, str] = KEYS, **settings: Any
) -> RemotePlan:
    """Return the plan for `name`, or else for the configured provider itself."""
    chosen = MemorySearch(provider=provider, **settings)
    return remote_resolver(chosen, *entries, environ=environ).plan(name or provider)


def key_in(plan: RemotePlan) -> str | None:
    """Return the key of a plan in plain text."""
    key = plan.endpoint.key
    return None if key is None else key.reveal()
