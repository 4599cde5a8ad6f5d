"""Which vendor a provider's name means, what it calls its models, and which addresses are its own. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from memd.embedding.choose.credentials import REMOTE, expand
from memd.embedding.remote.catalog import KNOWN, KnownProvider, dialect_of_api
from memd.settings.layers import shown_key
from memd.settings.schema import ProviderEntry
from memd_client.errors import ConfigInvalidError

COMPATIBLE_NAMES: Final = ("compatible", "openai-compatible")
"""What people call any server that speaks as OpenAI does, where it is described by `remote` alone."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A remote provider by its name in the settings.

    `is_entry` says that it is known from `models.providers` alone.
    """

    name: str
    known: KnownProvider
    entry: ProviderEntry | None = None
    is_entry: bool = False


def vendor_of(name: str, entries: Mapping[str, ProviderEntry]) -> Vendor:
    """Return the remote provider a name means."""
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
                hint="Choose a provider that has, or set its `api` to openai-completions if it speaks as OpenAI does.",
            )
        return Vendor(name, _known_entry(KNOWN[dialect], name), entry, is_entry=True)
    if lowered in COMPATIBLE_NAMES:
        return Vendor(lowered, replace(KNOWN["compatible"], entry_names=COMPATIBLE_NAMES))
    raise ConfigInvalidError(
        f"search.provider names no provider: {shown_key(name)!r}",
        hint=f"Use auto, local, none, {', '.join(KNOWN)}, or an id of models.providers.",
    )


def _known_entry(known: KnownProvider, name: str) -> KnownProvider:
    """Return what is known of an entry by its interface: the vendor's own keys and models are not its own."""
    return replace(
        known,
        default_model="",
        key_variables=(),
        entry_names=(name,),
        model_prefixes=(f"{name}/",),
        has_bulk=False,
    )


def model_of(vendor: Vendor, wanted: str) -> str:
    """Return a model's own name."""
    name = wanted.strip() or vendor.known.default_model
    if not name and vendor.entry is not None:
        listed = vendor.entry.models
        name = next((model for model in listed if "embed" in model.lower()), listed[0] if listed else "")
    if not name:
        raise ConfigInvalidError(
            f"no model is named for the provider {shown_key(vendor.name)}",
            hint="Set search.model to the name its server has for it.",
            data={"key": "search.model"},
        )
    return _without_prefixes(name, vendor.known.model_prefixes)


def _without_prefixes(name: str, prefixes: tuple[str, ...]) -> str:
    """Return a model's name without the provider's name before it, never an empty one."""
    for prefix in prefixes:
        if name.startswith(prefix) and name != prefix:
            return _without_prefixes(name.removeprefix(prefix), prefixes)
    return name


def is_own_host(vendor: Vendor, base_url: str) -> bool:
    """Return whether an address is the vendor's own, one of its regions included."""
    usual = urlsplit(vendor.known.base_url).hostname
    host = urlsplit(base_url).hostname
    return not vendor.is_entry and bool(usual) and (host == usual or str(host).endswith(f".{usual}"))


def checked_url(raw: str, setting: str, environ: Mapping[str, str]) -> str:
    """Return an address without a slash at its end."""
    text = expand(raw, environ, setting).strip()
    what = None
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or (parts.port or 1) < 1:
            what = "is no address that begins with http:// or https://"
        elif parts.username is not None or parts.query or parts.fragment:
            what = "holds a password or a query, which can't be kept secret there"
        elif not text.isprintable() or " " in text:
            what = "holds a space or a control character"
    except ValueError:
        what = "is no address that begins with http:// or https://"
    if what is None:
        return text.rstrip("/")
    raise ConfigInvalidError(
        f"{setting} {what}",
        hint=f"Write an address such as https://host/v1; what is secret belongs into {REMOTE}.apiKey or headers.",
        data={"key": setting},
    )
