"""A non-default value for every memory setting, as in memd.toml and the plugin's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SAMPLES: Final[dict[str, Any]] = {
    "citations": "on",
    "userTimezone": "Europe/Prague",
    "compaction.reserveTokensFloor": 30_000,
    "compaction.memoryFlush.enabled": False,
    "compaction.memoryFlush.softThresholdTokens": 5_000,
    "compaction.memoryFlush.forceFlushTranscriptBytes": "3mb",
    "compaction.memoryFlush.prompt": "Keep what matters of YYYY-MM-DD.",
    "compaction.memoryFlush.systemPrompt": "Be brief.",
    "sessionNote.enabled": False,
    "sessionNote.messages": 7,
    "sessionNote.slugModel": "mine/small",
    "facts.autoCapture": True,
    "facts.autoRecall": True,
    "facts.captureMaxChars": 300,
    "facts.recallLimit": 5,
    "facts.recallMinScore": 0.5,
    "search.enabled": False,
    "search.sources": ["memory", "sessions"],
    "search.extraPaths": ["~/notes", {"path": "~/vault", "pattern": "**/*.md"}],
    "search.provider": "openai",
    "search.fallback": "local",
    "search.model": "text-embedding-3-large",
    "search.inputType": "text",
    "search.queryInputType": "question",
    "search.documentInputType": "passage",
    "search.outputDimensionality": 512,
    "search.experimental.sessionMemory": True,
    "search.rememberAcrossConversations": True,
    "search.work": False,
    "search.endpoint.baseUrl": "https://box.example/v1",
    "search.endpoint.apiKey": {"source": "env", "provider": "default", "id": "BOX_KEY"},
    "search.endpoint.headers": {"X-Team": "a"},
    "search.endpoint.batch.enabled": False,
    "search.endpoint.batch.wait": False,
    "search.endpoint.batch.concurrency": 3,
    "search.endpoint.batch.pollIntervalMs": 5_000,
    "search.endpoint.batch.timeoutMinutes": 30,
    "search.local.modelPath": "minilm",
    "search.local.modelCacheDir": "/srv/models",
    "search.local.gpuLayers": 12,
    "search.store.driver": "sqlite",
    "search.store.path": "/srv/{agentId}.sqlite",
    "search.store.vector.enabled": False,
    "search.store.vector.extensionPath": "/srv/vec0.so",
    "search.chunking.tokens": 300,
    "search.chunking.overlap": 30,
    "search.sync.onSearch": False,
    "search.sync.onSessionStart": False,
    "search.sync.watch": False,
    "search.sync.watchDebounceMs": 500,
    "search.sync.intervalMinutes": 15,
    "search.sync.sessions.deltaBytes": 5_000,
    "search.sync.sessions.deltaMessages": 5,
    "search.query.maxResults": 9,
    "search.query.minScore": 0.5,
    "search.query.currency": False,
    "search.query.preferTrusted": False,
    "search.query.hybrid.enabled": False,
    "search.query.hybrid.fusion": "rrf",
    "search.query.hybrid.vectorWeight": 0.25,
    "search.query.hybrid.textWeight": 0.75,
    "search.query.hybrid.candidateMultiplier": 6,
    "search.query.hybrid.mmr.enabled": True,
    "search.query.hybrid.mmr.lambda": 0.5,
    "search.query.hybrid.temporalDecay.enabled": True,
    "search.query.hybrid.temporalDecay.halfLifeDays": 60,
    "search.cache.enabled": False,
    "search.cache.maxEntries": 1_000,
}
"""Values by dotted name; a test checks that none is missing."""

SIBLINGS: Final = {"search.sources": "search.experimental.sessionMemory"}
"""Settings that have no effect without another one."""


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables for dotted names."""
    root: dict[str, Any] = {}
    for name, value in values.items():
        *groups, key = name.split(".")
        table = root
        for group in groups:
            table = table.setdefault(group, {})
        table[key] = value
    return root


def set_at(root: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a document with a value below dotted keys, creating missing ones."""
    *groups, key = place.split(".")
    table = root
    for group in groups:
        table = table.setdefault(group, {})
    table[key] = value
    return root


def toml_text(tables: Mapping[str, Any], prefix: str = "") -> str:
    """Return tables as TOML: plain values first, objects in lists inline."""
    lines = [f"{key} = {_value(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    text = (f"[{prefix}]\n" if prefix and lines else "") + "".join(f"{line}\n" for line in lines)
    for key, value in tables.items():
        if isinstance(value, dict):
            text += toml_text(value, f"{prefix}.{key}".lstrip("."))
    return text


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + "}"
    return str(value)
