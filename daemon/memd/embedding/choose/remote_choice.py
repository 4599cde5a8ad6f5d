"""Which remote provider a name means, where it is, with which key, and what its vectors are comparable with.

What the user configured for one vendor is for that vendor alone: no other one is sent its key or its headers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memd.embedding.choose.credentials import REMOTE, find_key, usable_headers
from memd.embedding.choose.vendor import Vendor, checked_url, is_own_host, model_of, vendor_of
from memd.embedding.prefixes import NONE, Prefixes, prefixes_of
from memd.embedding.provider import BatchLimits
from memd.embedding.remote.catalog import AUTO_ORDER, KNOWN, Dialect, is_loopback, limits_of
from memd.embedding.remote.providers.api import Endpoint
from memd.embedding.secret import Secret
from memd.embedding.space import VectorSpace
from memd.settings.layers import shown_key
from memd.settings.schema import Batch, MemorySearch, ProviderEntry, Remote
from memd_client.errors import ConfigInvalidError, ProviderUnavailableError

AUTH_HEADERS: Final = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
"""Headers that carry a key: where the user sets one, no other key is needed."""

TYPED: Final[tuple[Dialect, ...]] = ("voyage", "compatible")
"""Interfaces that are told what kind of input a text is in the user's words."""


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """All that is needed to make a remote provider: nothing was sent yet."""

    dialect: Dialect
    endpoint: Endpoint
    space: VectorSpace
    limits: BatchLimits
    metered: bool
    has_bulk: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a vendor, or was by a provider whose vectors are still in the index.

    `prefixes` None means what the model is known to want.
    """

    model: str
    base_url: str
    dims: int | None = None
    query_type: str | None = None
    document_type: str | None = None
    prefixes: Prefixes | None = None


def remote_space(endpoint: Endpoint, dialect: Dialect, prefixes: Prefixes = NONE) -> VectorSpace:
    """Return the space of a remote model. URL, key and headers are no part of it."""
    return VectorSpace(
        endpoint.provider,
        endpoint.model,
        prefixes.query,
        prefixes.document,
        endpoint.dims,
        (endpoint.document_type or "") if dialect in TYPED else "",
    )


class RemoteChoice:
    """Remote providers an agent may use. Touches the disk for auth profiles."""

    def __init__(
        self,
        settings: MemorySearch,
        agent_id: str,
        *,
        entries: Mapping[str, ProviderEntry],
        state_dir: Path,
        environ: Mapping[str, str],
        keep_alive_s: int,
    ) -> None:
        self._settings = settings
        self._agent_id = agent_id
        self._entries = entries
        self._state_dir = state_dir
        self._environ = environ
        self._keep_alive_s = keep_alive_s

    def __repr__(self) -> str:
        return f"<RemoteChoice of {self._agent_id}>"

    def plan(self, name: str) -> RemotePlan:
        """Return how the provider of that name is used today."""
        vendor = vendor_of(name, self._entries)
        remote = self._remote_for(vendor)
        base_url = self._address(vendor, remote)
        own_model = self._is_meant(vendor, self._settings.provider)
        wanted = self._settings if own_model else MemorySearch()
        return self._plan(
            vendor,
            remote,
            base_url,
            Wanted(
                model_of(vendor, wanted.model),
                base_url,
                wanted.output_dimensionality,
                wanted.query_input_type,
                wanted.document_input_type,
            ),
        )

    def plan_auto(self, name: str) -> RemotePlan:
        """Return how a provider is used where `auto` looks for one: it needs a key, or an address of its own."""
        plan = self.plan(name)
        remote = self._remote_for(vendor_of(name, self._entries))
        if plan.endpoint.key is None and not (remote and (remote.base_url or remote.headers)):
            raise ProviderUnavailableError(f"nothing says that the provider {name} is to be used")
        return plan

    def replan(self, name: str, earlier: Wanted) -> RemotePlan | None:
        """Return how an earlier provider is used with what is configured for its vendor today.

        A key goes only where today's settings send it, to the vendor's own address, or to this machine. Elsewhere
        the address of today stands for the earlier one, where there is one in the settings.
        """
        vendor = vendor_of(name, self._entries)
        remote = self._remote_for(vendor)
        if earlier.base_url:
            checked_url(earlier.base_url, "the address of the earlier provider", {})
        try:
            today = self._address(vendor, remote)
        except ConfigInvalidError:
            today = vendor.known.base_url
        if today and earlier.base_url in (today, ""):
            return self._plan(vendor, remote, today, earlier)
        if is_own_host(vendor, earlier.base_url) or is_loopback(earlier.base_url):
            moved = replace(vendor, entry=None) if vendor.entry and vendor.entry.base_url else vendor
            return self._plan(moved, None, earlier.base_url, earlier)
        if today and not is_own_host(vendor, today):
            return self._plan(vendor, remote, today, earlier)
        if earlier.base_url and not vendor.known.needs_key:
            return self._plan(replace(vendor, entry=None), None, earlier.base_url, earlier, keyless=True)
        return None

    def _is_meant(self, vendor: Vendor, configured: str) -> bool:
        """Return whether a name in the settings means this vendor; `auto` may mean any."""
        if configured == "auto":
            return True
        if configured in ("local", "none"):
            return False
        try:
            return vendor_of(configured, self._entries).name == vendor.name
        except ConfigInvalidError:
            return False

    def _remote_for(self, vendor: Vendor) -> Remote | None:
        """Return `remote` where it is meant for this vendor.

        That is the configured provider; of those `auto` tries, the first; beside a local model, the fallback.
        """
        provider = self._settings.provider
        owner = self._settings.fallback if provider in ("local", "none") else provider
        owner = AUTO_ORDER[0] if owner == "auto" else owner
        return (self._settings.remote or Remote()) if self._is_meant(vendor, owner) else None

    def _plan(
        self,
        vendor: Vendor,
        remote: Remote | None,
        base_url: str,
        wanted: Wanted,
        *,
        keyless: bool = False,
    ) -> RemotePlan:
        """Put a plan together."""
        known = vendor.known
        is_own = is_own_host(vendor, base_url)
        dialect: Dialect = "compatible" if known.name == "openai" and not is_own else known.name
        headers = self._headers(vendor, remote)
        key = None if keyless else self._key(vendor, remote)
        has_key = key is not None or any(name.lower() in AUTH_HEADERS for name in headers)
        if known.needs_key and not has_key and not is_loopback(base_url):
            raise _no_key(vendor, may_use_remote=remote is not None)
        endpoint = Endpoint(
            vendor.name,
            wanted.model,
            base_url,
            key,
            headers,
            wanted.dims,
            wanted.query_type,
            wanted.document_type,
            self._keep_alive_s,
        )
        usual = prefixes_of(wanted.model) if dialect == "ollama" else NONE
        prefixes = usual if wanted.prefixes is None else wanted.prefixes
        spoken = KNOWN["compatible"] if dialect == "compatible" else known
        batch = (self._settings.remote or Remote()).batch
        return RemotePlan(
            dialect,
            endpoint,
            remote_space(endpoint, dialect, prefixes),
            limits_of(spoken, wanted.model),
            known.metered and not is_loopback(base_url),
            known.has_bulk and _wants_bulk(batch, is_own),
        )

    def _address(self, vendor: Vendor, remote: Remote | None) -> str:
        """Return the base URL: of `remote`, else of the vendor's entry, else its own."""
        if remote is not None and (remote.base_url or "").strip():
            return checked_url(remote.base_url or "", f"{REMOTE}.baseUrl", self._environ)
        if vendor.entry is not None and (vendor.entry.base_url or "").strip():
            place = f"models.providers.{shown_key(vendor.entry.id)}.baseUrl"
            return checked_url(vendor.entry.base_url or "", place, self._environ)
        if vendor.known.base_url:
            return vendor.known.base_url
        raise ConfigInvalidError(
            f"the address of the provider {shown_key(vendor.name)} is not known",
            hint=f"Set {REMOTE}.baseUrl, such as http://127.0.0.1:8080/v1.",
            data={"key": f"{REMOTE}.baseUrl"},
        )

    def _key(self, vendor: Vendor, remote: Remote | None) -> Secret | None:
        """Return the vendor's key, where there is one."""
        return find_key(vendor.known, vendor.entry, remote, self._agent_id, self._state_dir, self._environ)

    def _headers(self, vendor: Vendor, remote: Remote | None) -> dict[str, str]:
        """Return the headers of the vendor's entry and of `remote`, which wins."""
        merged: dict[str, tuple[str, str]] = {}
        entry = vendor.entry
        places = [] if entry is None else [(entry.headers, f"models.providers.{shown_key(entry.id)}.headers")]
        places += [] if remote is None else [(remote.headers, f"{REMOTE}.headers")]
        for headers, place in places:
            for name, value in usable_headers(headers, self._environ, place).items():
                merged[name.lower()] = (name, value)
        return dict(merged.values())


def _wants_bulk(batch: Batch, is_own: bool) -> bool:
    """Return whether the batch API may be used: another address than the vendor's own has one if somebody says so."""
    return batch.enabled and (is_own or batch.enabled_set)


def _no_key(vendor: Vendor, *, may_use_remote: bool) -> ProviderUnavailableError:
    """Return the error that says where a key may stand."""
    places = [f"{REMOTE}.apiKey"] if may_use_remote else []
    places += [f"models.providers.{shown_key(name)}.apiKey" for name in vendor.known.entry_names[:1]]
    places += [f"the environment variable {name}" for name in vendor.known.key_variables]
    return ProviderUnavailableError(
        f"there is no key for the provider {shown_key(vendor.name)}; search is by keywords",
        hint=f"Set {', or '.join(places)} (the daemon's own environment counts).",
    )
