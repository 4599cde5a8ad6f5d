"""One agent's search settings, with bounds between settings and the providers' defaults applied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from memd.programs.catalog import OPENCLAW_SOURCE
from memd.settings.endpoints import EndpointSettings
from memd.settings.layers import Findings, Layer, absolute_path, read_layers
from memd.settings.schema import Hybrid, MemorySearch, Source

replace = msgspec.structs.replace

DEFAULT_MODELS: Final = {
    "openai": "text-embedding-3-small",
    "gemini": "gemini-embedding-001",
    "voyage": "voyage-4-large",
    "mistral": "mistral-embed",
}
"""OpenClaw's default models of providers."""


def read_search(
    layers: Sequence[Layer], agent_id: str, *, state_dir: Path, home: Path, findings: Findings
) -> MemorySearch:
    """Return an agent's search settings."""
    read = read_layers(MemorySearch, layers, findings)
    provider = read.provider.strip() or "auto"
    input_type = _filled(read.input_type)
    index = _index_file(read.store.path, agent_id, state_dir, home)
    remembers = read.remember_across_conversations is True
    searched = _bounded_sources(read.sources, read.experimental.session_memory or remembers)
    is_for_recall = remembers and OPENCLAW_SOURCE not in searched
    return replace(
        read,
        sources=(*searched, OPENCLAW_SOURCE) if is_for_recall else searched,
        searched_sources=searched if is_for_recall else None,
        provider=provider,
        fallback=read.fallback.strip() or "none",
        model=read.model.strip() or DEFAULT_MODELS.get(provider, ""),
        input_type=input_type,
        query_input_type=_filled(read.query_input_type) or input_type,
        document_input_type=_filled(read.document_input_type) or input_type,
        endpoint=_endpoint(read.endpoint or EndpointSettings(), provider),
        store=replace(read.store, path=str(index)),
        chunking=replace(read.chunking, overlap=min(read.chunking.overlap, read.chunking.tokens - 1)),
        query=replace(read.query, hybrid=_bounded_hybrid(read.query.hybrid)),
    )


def usual_index(agent_id: str, state_dir: Path) -> Path:
    """Return the default path of an agent's index.

    Not `earlier_index`: newer releases of OpenClaw treat a file there as their own old index, and refuse to start if
    they can't import it.
    """
    return state_dir / "memory" / f"{agent_id}.memd.sqlite"


def own_index(agent_id: str, state_dir: Path) -> Path:
    """Return the path of an agent's index if the settings give its default path to another agent."""
    return state_dir / "memory" / f"{agent_id}.own.memd.sqlite"


def is_usual_index(path: Path, agent_id: str, state_dir: Path) -> bool:
    """Return whether memd chose the path of an agent's index, rather than the settings."""
    return path in (usual_index(agent_id, state_dir), own_index(agent_id, state_dir))


def earlier_index(path: str, agent_id: str, state_dir: Path) -> Path | None:
    """Return the path of an index of older releases of OpenClaw or memd, if the default path is used."""
    is_usual = path == str(usual_index(agent_id, state_dir))
    return state_dir / "memory" / f"{agent_id}.sqlite" if is_usual else None


def _index_file(raw: str, agent_id: str, state_dir: Path, home: Path) -> Path:
    """Return the path of an agent's index."""
    if not raw.strip():
        return usual_index(agent_id, state_dir)
    return absolute_path(raw.replace("{agentId}", agent_id), base=state_dir, home=home)


def _filled(text: str | None) -> str | None:
    """Return a text without surrounding space; None if it is empty."""
    return (text or "").strip() or None


def _endpoint(endpoint: EndpointSettings, provider: str) -> EndpointSettings | None:
    """Return the endpoint's settings if a remote provider may be used or is configured, else None."""
    is_described = endpoint.base_url or endpoint.api_key or endpoint.headers is not None
    return endpoint if is_described or provider == "auto" or provider in DEFAULT_MODELS else None


def _bounded_hybrid(hybrid: Hybrid) -> Hybrid:
    """Return weights that add up to 1, and a half-life of whole days."""
    vector, text, usual = hybrid.vector_weight, hybrid.text_weight, Hybrid()
    total = vector + text
    decay = hybrid.temporal_decay
    return replace(
        hybrid,
        vector_weight=vector / total if total > 0 else usual.vector_weight,
        text_weight=text / total if total > 0 else usual.text_weight,
        temporal_decay=replace(decay, half_life_days=math.floor(decay.half_life_days)),
    )


def _bounded_sources(wanted: Sequence[Source], has_sessions: bool) -> tuple[Source, ...]:
    """Return the distinct sources, with transcripts only if another setting allows them; default: memory."""
    allowed = [source for source in wanted if source != OPENCLAW_SOURCE or has_sessions]
    return tuple(dict.fromkeys(allowed)) or ("memory",)
