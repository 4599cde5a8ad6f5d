"""Resolves remote providers of the settings to plans.

Keys and headers configured for one vendor are never sent to another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memd.embedding.choose.credentials import ENDPOINT, expand, find_key, usable_headers
from memd.embedding.prefixes import NONE, Prefixes, prefixes_of
from memd.embedding.provider import BatchLimits
from memd.embedding.remote.catalog import (
    AUTO_ORDER,
    KNOWN,
    Dialect,
    KnownProvider,
    dialect_of_api,
    is_loopback,
    limits_of,
)
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.space import VectorSpace
from memd.settings.endpoints import Batch, EndpointSettings, ProviderEntry
from memd.settings.layers import shown_key
from memd.settings.schema import MemorySearch
from memd_client.errors import ConfigInvalidError, ProviderUnavailableError

AUTH_HEADERS: Final = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
"""Headers that carry a key: if the user configures one, no other key is needed."""

TYPED: Final[tuple[Dialect, ...]] = ("voyage", "compatible")
"""Interfaces with configurable input types."""

COMPATIBLE_NAMES: Final = ("compatible", "openai-compatible")
"""Names for a server with OpenAI's interface that is configured by `endpoint` only."""


class Vendor(Struct, frozen=True):
    """A remote provider; `is_entry` if only `models.providers` defines it."""

    name: str
    known: KnownProvider
    entry: ProviderEntry | None = None
    is_entry: bool = False

    def address(self, environ: Mapping[str, str], setting: str, key: str) -> str:
        """Return the base URL of the entry or the vendor, else raise about `setting`."""
        if self.entry is not None and (self.entry.base_url or "").strip():
            place = f"models.providers.{shown_key(self.entry.id)}.baseUrl"
            return checked_url(self.entry.base_url or "", place, environ)
        if self.known.base_url:
            return self.known.base_url
        raise ConfigInvalidError(
            f"provider {shown_key(self.name)} has no base URL",
            hint=f"set {setting}, such as http://127.0.0.1:8080/v1",
            data={"key": key},
        )


def vendor_of(name: str, entries: Mapping[str, ProviderEntry]) -> Vendor:
    """Return the remote provider with a name."""
    name = name.strip()
    lowered = name.lower()
    for known in KNOWN.values():
        if lowered == known.name != "compatible" or lowered in known.entry_names:
            entry = next((entries[alias] for alias in known.entry_names if alias in entries), None)
            return Vendor(known.name, known, entry)
    entry = entries.get(name)
    if entry is not None:
        dialect = dialect_of_api(entry.api or "", name)
        if dialect is None:
            raise ConfigInvalidError(
                f"the interface {shown_key(entry.api or '')!r} of models.providers.{shown_key(name)} has no embeddings",
                hint="choose another provider, or set its `api` to openai-completions if it is compatible with OpenAI",
            )
        return Vendor(name, _known_entry(KNOWN[dialect], name), entry, is_entry=True)
    if lowered in COMPATIBLE_NAMES:
        return Vendor(lowered, replace(KNOWN["compatible"], entry_names=COMPATIBLE_NAMES))
    raise ConfigInvalidError(
        f"search.provider is not a known provider: {shown_key(name)!r}",
        hint=f"use auto, local, none, {', '.join(KNOWN)}, or an id of models.providers",
    )


def _known_entry(known: KnownProvider, name: str) -> KnownProvider:
    """Return an entry's data by its interface, without that vendor's keys and models."""
    return replace(
        known,
        default_model="",
        key_variables=(),
        entry_names=(name,),
        model_prefixes=(f"{name}/",),
        has_bulk=False,
    )


def model_of(vendor: Vendor, wanted: str) -> str:
    """Return the model's name at the vendor, without prefixes."""
    name = wanted.strip() or vendor.known.default_model
    if not name and vendor.entry is not None:
        listed = vendor.entry.models
        name = next((model for model in listed if "embed" in model.lower()), listed[0] if listed else "")
    if not name:
        raise ConfigInvalidError(
            f"no model is configured for provider {shown_key(vendor.name)}",
            hint="set search.model to the name that the server uses",
            data={"key": "search.model"},
        )
    return _without_prefixes(name, vendor.known.model_prefixes)


def _without_prefixes(name: str, prefixes: tuple[str, ...]) -> str:
    """Return a model's name without the provider's prefixes, never empty."""
    for prefix in prefixes:
        if name.startswith(prefix) and name != prefix:
            return _without_prefixes(name.removeprefix(prefix), prefixes)
    return name


def is_own_host(vendor: Vendor, base_url: str) -> bool:
    """Return whether an address belongs to the vendor, regional hosts included."""
    usual = urlsplit(vendor.known.base_url).hostname
    host = urlsplit(base_url).hostname
    return not vendor.is_entry and bool(usual) and (host == usual or str(host).endswith(f".{usual}"))


def checked_url(raw: str, setting: str, environ: Mapping[str, str]) -> str:
    """Return a valid address without trailing slash."""
    text = expand(raw, environ, setting).strip()
    problem = None
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or (parts.port or 1) < 1:
            problem = "is not an address that begins with http:// or https://"
        elif parts.username is not None or parts.query or parts.fragment:
            problem = "contains a password or a query, which memd can't keep secret there"
        elif not text.isprintable() or " " in text:
            problem = "contains a space or a control character"
    except ValueError:
        problem = "is not an address that begins with http:// or https://"
    if problem is None:
        return text.rstrip("/")
    raise ConfigInvalidError(
        f"{setting} {problem}",
        hint=f"write an address such as https://host/v1, and secrets into {ENDPOINT}.apiKey or headers",
        data={"key": setting},
    )


# --- plans ------------------------------------------------------------------------------------------


class RemotePlan(Struct, frozen=True):
    """A complete description of a remote provider, from which it is built."""

    dialect: Dialect
    endpoint: Endpoint
    space: VectorSpace
    limits: BatchLimits
    metered: bool
    has_bulk: bool


class ModelChoice(Struct, frozen=True):
    """A vendor's model, current or earlier; `prefixes` None for the usual ones."""

    model: str
    base_url: str
    dims: int | None = None
    query_type: str | None = None
    document_type: str | None = None
    prefixes: Prefixes | None = None


def remote_space(endpoint: Endpoint, dialect: Dialect, prefixes: Prefixes = NONE) -> VectorSpace:
    """Return a remote model's vector space, which ignores URL, key and headers."""
    return VectorSpace(
        endpoint.provider,
        endpoint.model,
        prefixes.query,
        prefixes.document,
        endpoint.dims,
        (endpoint.document_type or "") if dialect in TYPED else "",
    )


class RemoteResolver:
    """Resolves remote providers for one agent. Blocks on disk."""

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
        return f"<RemoteResolver of {self._agent_id}>"

    def plan(self, name: str) -> RemotePlan:
        """Return the plan of a provider with the current settings."""
        vendor = vendor_of(name, self._entries)
        remote = self._remote_for(vendor)
        base_url = self._address(vendor, remote)
        own_model = self._is_name_of(vendor, self._settings.provider)
        wanted = self._settings if own_model else MemorySearch()
        return self._plan(
            vendor,
            remote,
            base_url,
            ModelChoice(
                model_of(vendor, wanted.model),
                base_url,
                wanted.output_dimensionality,
                wanted.query_input_type,
                wanted.document_input_type,
            ),
        )

    def plan_auto(self, name: str) -> RemotePlan:
        """Return a provider's plan for `auto`: it must have a key, a base URL or headers."""
        plan = self.plan(name)
        remote = self._remote_for(vendor_of(name, self._entries))
        if plan.endpoint.key is None and not (remote and (remote.base_url or remote.headers)):
            raise ProviderUnavailableError(f"provider {name} has no API key, base URL or headers")
        return plan

    def replan(self, name: str, earlier: ModelChoice) -> RemotePlan | None:
        """Return an earlier provider's plan with current settings, None if impossible.

        A key is sent only to the configured address, to the vendor's own hosts, or to this machine. An earlier address
        that is none of these is replaced by the configured one, if there is one.
        """
        vendor = vendor_of(name, self._entries)
        remote = self._remote_for(vendor)
        if earlier.base_url:
            checked_url(earlier.base_url, "the address of the earlier provider", {})
        try:
            current = self._address(vendor, remote)
        except ConfigInvalidError:
            current = vendor.known.base_url
        if current and earlier.base_url in (current, ""):
            return self._plan(vendor, remote, current, earlier)
        if is_own_host(vendor, earlier.base_url) or is_loopback(earlier.base_url):
            moved = replace(vendor, entry=None) if vendor.entry and vendor.entry.base_url else vendor
            return self._plan(moved, None, earlier.base_url, earlier)
        if current and not is_own_host(vendor, current):
            return self._plan(vendor, remote, current, earlier)
        if earlier.base_url and not vendor.known.needs_key:
            return self._plan(replace(vendor, entry=None), None, earlier.base_url, earlier, keyless=True)
        return None

    def _is_name_of(self, vendor: Vendor, configured: str) -> bool:
        """Return whether a configured name means this vendor; `auto` matches all."""
        if configured == "auto":
            return True
        if configured in ("local", "none"):
            return False
        try:
            return vendor_of(configured, self._entries).name == vendor.name
        except ConfigInvalidError:
            return False

    def _remote_for(self, vendor: Vendor) -> EndpointSettings | None:
        """Return the endpoint's settings if it belongs to this vendor.

        It belongs to the configured provider, with `auto` to the first one tried, with a local model to the fallback.
        """
        provider = self._settings.provider
        owner = self._settings.fallback if provider in ("local", "none") else provider
        owner = AUTO_ORDER[0] if owner == "auto" else owner
        return (self._settings.endpoint or EndpointSettings()) if self._is_name_of(vendor, owner) else None

    def _plan(
        self,
        vendor: Vendor,
        remote: EndpointSettings | None,
        base_url: str,
        wanted: ModelChoice,
        *,
        keyless: bool = False,
    ) -> RemotePlan:
        known = vendor.known
        is_own = is_own_host(vendor, base_url)
        dialect: Dialect = "compatible" if known.name == "openai" and not is_own else known.name
        headers = self._headers(vendor, remote)
        key = None
        if not keyless:
            key = find_key(known, vendor.entry, remote, self._agent_id, self._state_dir, self._environ)
        has_key = key is not None or any(name.lower() in AUTH_HEADERS for name in headers)
        if known.needs_key and not has_key and not is_loopback(base_url):
            raise _missing_key_error(vendor, may_use_remote=remote is not None)
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
        interface = KNOWN["compatible"] if dialect == "compatible" else known
        batch = (self._settings.endpoint or EndpointSettings()).batch
        return RemotePlan(
            dialect,
            endpoint,
            remote_space(endpoint, dialect, prefixes),
            limits_of(interface, wanted.model),
            known.metered and not is_loopback(base_url),
            known.has_bulk and _wants_bulk(batch, is_own),
        )

    def _address(self, vendor: Vendor, remote: EndpointSettings | None) -> str:
        """Return the base URL of the settings, else of the vendor's entry, else the usual one."""
        if remote is not None and (remote.base_url or "").strip():
            return checked_url(remote.base_url or "", f"{ENDPOINT}.baseUrl", self._environ)
        return vendor.address(self._environ, f"{ENDPOINT}.baseUrl", f"{ENDPOINT}.baseUrl")

    def _headers(self, vendor: Vendor, remote: EndpointSettings | None) -> dict[str, str]:
        """Return the headers of the vendor's entry, overridden by those of the settings."""
        merged: dict[str, tuple[str, str]] = {}
        entry = vendor.entry
        places = [] if entry is None else [(entry.headers, f"models.providers.{shown_key(entry.id)}.headers")]
        places += [] if remote is None else [(remote.headers, f"{ENDPOINT}.headers")]
        for headers, place in places:
            for name, value in usable_headers(headers, self._environ, place).items():
                merged[name.lower()] = (name, value)
        return dict(merged.values())


def _wants_bulk(batch: Batch, is_own: bool) -> bool:
    """Return whether to use the batch API; explicit at other hosts than the vendor's."""
    return batch.enabled and (is_own or batch.enabled_set)


def _missing_key_error(vendor: Vendor, *, may_use_remote: bool) -> ProviderUnavailableError:
    """Return the error that lists the settings for a key."""
    places = [f"{ENDPOINT}.apiKey"] if may_use_remote else []
    places += [f"models.providers.{shown_key(name)}.apiKey" for name in vendor.known.entry_names[:1]]
    places += [f"the environment variable {name}" for name in vendor.known.key_variables]
    return ProviderUnavailableError(
        f"provider {shown_key(vendor.name)} has no API key; only keyword search works",
        hint=f"set {', or '.join(places)} (the daemon's own environment counts)",
    )
