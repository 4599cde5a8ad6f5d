"""What every setting and environment variable means, one sentence each. Pure data: `scripts/config_doc` makes tables.

Keys are dotted names as they stand in a file. Types and defaults aren't here: they come from the structs of
`memd.settings.schema`, and a test holds both sides against each other.
"""

from __future__ import annotations

from typing import Final

AGENT_KEYS: Final[dict[str, dict[str, str]]] = {
    "indexed": {
        "enabled": "Whether the agent has a searchable memory; off, requests answer `memory_disabled`.",
        "sources": (
            "What is memory; with `sessions` (and `experimental.sessionMemory`) transcripts are, too: see "
            "[operations.md](operations.md#transcripts)."
        ),
        "extraPaths": (
            "More Markdown: paths, or objects with a `path` and a glob `pattern`; relative ones start at the workspace."
        ),
        "experimental.sessionMemory": "Allows `sessions` among the `sources`.",
        "chunking.tokens": ("Size of a chunk; after a change the next sync cuts all files anew."),
        "chunking.overlap": (
            "How many tokens a chunk repeats of the one before. Without either, notes are cut into passages."
        ),
        "store.driver": "The only one there is.",
        "store.path": "The index file; `{agentId}` stands for the agent.",
        "store.vector.enabled": "Use sqlite-vec where it loads.",
        "store.vector.extensionPath": "Another build of sqlite-vec.",
        "cache.enabled": "Kept for OpenClaw; vectors in use are always stored.",
        "cache.maxEntries": (
            "Most vectors kept in all; those in use never leave, of the others the least recently used do first."
        ),
    },
    "embedding": {
        "provider": (
            "Who embeds: `auto`, `none` (words alone, on purpose), a provider of [providers.md](providers.md), "
            "or an id of `models.providers`."
        ),
        "model": "The model's name as the provider has it; for `local` see `local.modelPath`.",
        "fallback": "Who embeds while the provider can't: a provider's name or id, or `none`.",
        "queryInputType": (
            "The `input_type` of questions, for Voyage in place of its `query`, for compatible endpoints that want one."
        ),
        "documentInputType": "The `input_type` of chunks, likewise; another value is another vector space.",
        "inputType": "Either of them where it isn't set.",
        "outputDimensionality": (
            "The size of vectors asked for, where the model offers several; another size is another vector space."
        ),
        "local.modelPath": "The local model: a path, `minilm`, `hf:owner/repo/file.gguf` or `https://…`.",
        "local.modelCacheDir": "Where pulled models are.",
    },
    "remote": {
        "remote.baseUrl": "The provider's address; setting it makes `openai` any OpenAI-compatible endpoint.",
        "remote.apiKey": (
            "The key: itself, `${VARIABLE}`, or an object that names a variable; see [Keys](#keys)."
        ),
        "remote.headers": "Headers sent with every request, beside the provider's own; `${VARIABLE}` works here, too.",
        "remote.batch.enabled": (
            "Use the provider's batch API for bulk work, where it has one; at another address than the provider's own "
            "only where this is set."
        ),
        "remote.batch.wait": "Whether `memctl index` waits for batch jobs.",
        "remote.batch.concurrency": "Batch jobs under way at once.",
        "remote.batch.pollIntervalMs": "How often a batch job is asked about, in milliseconds.",
        "remote.batch.timeoutMinutes": (
            "How long a batch job may take; then it is cancelled, and the rest is done by plain requests."
        ),
    },
    "sync": {
        "sync.onSearch": (
            "A search brings changed files in first; off, it only leaves out what is no longer there, and counts "
            "the rest as pending."
        ),
        "sync.onSessionStart": "`session_started` syncs, once for each session key.",
        "sync.watch": "File events start a sync before anybody asks.",
        "sync.watchDebounceMs": "Quiet time after file events, in milliseconds.",
        "sync.intervalMinutes": (
            "Sync every so many minutes; with 0 there is only the look at everything every ten minutes."
        ),
        "sync.sessions.deltaBytes": (
            "A transcript that grew so much is indexed before anybody asks; a search brings in any growth."
        ),
        "sync.sessions.deltaMessages": "Likewise, in messages.",
    },
    "query": {
        "query.maxResults": "Hits, where the request doesn't say.",
        "query.minScore": 'No hit below it; counts where you set it, and with `fusion: "weighted"`.',
        "query.hybrid.enabled": "Ask words and meaning; off, meaning alone where there are vectors.",
        "query.hybrid.fusion": (
            "How both are joined: `weighted` is OpenClaw's formula; see [ranking.md](ranking.md)."
        ),
        "query.hybrid.vectorWeight": "Share of meaning; `normalized` uses 0.4 unless you set a weight.",
        "query.hybrid.textWeight": "Share of words.",
        "query.hybrid.candidateMultiplier": "Kept for OpenClaw; the number of candidates is fixed.",
        "query.hybrid.mmr.enabled": "Prefer hits unlike those before.",
        "query.hybrid.mmr.lambda": "How much: 1 is relevance alone.",
        "query.hybrid.temporalDecay.enabled": "Dated notes count less with age.",
        "query.hybrid.temporalDecay.halfLifeDays": "Days after which a dated note counts half.",
        "query.rerank.enabled": "Have a local cross-encoder read the best hits and order them anew.",
        "query.rerank.model": (
            "Its GGUF file, which has a classification head: a path, `hf:owner/repo/file.gguf` or `https://…`."
        ),
        "query.rerank.candidates": "How many of the best hits it reads.",
        "query.rerank.timeoutMs": (
            "After so many milliseconds a search keeps the order it has, as it does while the model is being loaded."
        ),
    },
}
"""Below `search`, of an agent, by the chapter of docs/configuration.md that shows them."""

LIFE_KEYS: Final[dict[str, str]] = {
    "memory.citations": "Whether an agent's answers name their places: `auto` does so in direct chats.",
    "agents.defaults.userTimezone": "The user's time zone, which says what today is; else that of the machine.",
    "agents.defaults.compaction.reserveTokensFloor": "The part of the context kept free; the flush is due before it.",
    "agents.defaults.compaction.memoryFlush.enabled": "Whether an agent writes down what should last in time.",
    "agents.defaults.compaction.memoryFlush.softThresholdTokens": "How long before the reserve it is due.",
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes": (
        "It is due as well once the transcript is that large, in bytes or as `2mb`; 0: never for that."
    ),
    "agents.defaults.compaction.memoryFlush.prompt": "What the agent is told; `YYYY-MM-DD` becomes today.",
    "agents.defaults.compaction.memoryFlush.systemPrompt": "What its system prompt is told.",
    "hooks.internal.entries.session-memory.enabled": "Whether a session that ends leaves a note.",
    "hooks.internal.entries.session-memory.messages": "Of how many last messages.",
    "hooks.internal.entries.session-memory.slugModel": (
        "`provider/model` of `models.providers` that names the note; without one, the conversation's own words do."
    ),
    "plugins.entries.memory-lancedb.config.autoCapture": (
        "Whether facts are taken from what users say; OpenClaw's plugin has an `autoCapture` of its own."
    ),
    "plugins.entries.memory-lancedb.config.autoRecall": (
        "Whether facts are brought to a prompt; OpenClaw's plugin has an `autoRecall` of its own."
    ),
    "plugins.entries.memory-lancedb.config.captureMaxChars": "Longest text a fact is taken from.",
    "plugins.entries.memory-lancedb.config.recallLimit": "Most facts brought to one prompt.",
    "plugins.entries.memory-lancedb.config.recallMinScore": "How near a fact must be to a prompt, 0 to 1.",
}

PROVIDER_KEYS: Final[dict[str, str]] = {
    "baseUrl": "The endpoint's address.",
    "apiKey": "Its key, in any of the forms of `remote.apiKey`.",
    "api": "What it speaks; it decides which of the providers' interfaces is used.",
    "headers": "Headers sent with every request; `remote.headers` of the agent win.",
    "models": (
        "Its models; where the agent names none, the first with `embed` in its id is taken, else the first."
    ),
}
"""An entry `models.providers.<id>`, as far as embeddings are concerned."""

DAEMON_KEYS: Final[dict[str, str]] = {
    "socket": "Where to listen; clients are told by `MEMD_SOCKET`.",
    "log_level": "What is logged, from all to the worst only.",
    "memory_budget_mb": (
        "For the vectors of all agents together; the least recently searched leave first, and are searched on disk. "
        "`memctl status` shows what is in use."
    ),
    "model_memory_mb": (
        "For the local models of all agents together; one that doesn't fit beside another waits or evicts it. "
        "0: half of the machine's memory."
    ),
    "model_keep_alive_minutes": "How long an unused model stays loaded; with 0 as long as the daemon runs.",
    "pause_on_battery": (
        "While the machine runs on battery a local model embeds the newest few texts of a change; a backlog waits for "
        "mains power. `memctl index` doesn't wait."
    ),
    "model_threads": "Threads of a model; with 0 the physical cores, at most 8.",
    "query_embed_timeout_ms": "After so long without the question's vector a search answers by words alone.",
    "catch_up_ms": (
        "How long a search may spend on bringing changed files in, where the request has no deadline."
    ),
    "max_file_mb": (
        "A larger note is indexed up to here and a larger transcript not at all; status says so. Notes and facts that "
        "memd writes continue in a next file."
    ),
    "max_agent_files": (
        "Files and transcripts indexed for one agent; beyond that the oldest are left out, and status says so. "
        "What memd itself writes is indexed first."
    ),
    "max_agent_mb": "Likewise, their size together.",
    "daily_token_budget": (
        "Tokens bought of all remote providers together in a day (UTC); then none are until midnight. 0: no limit."
    ),
    "vector_cache_mb": "For vectors no text in use needs, in one agent's index: what makes going back to a model free.",
}
"""`memd.toml`."""

VARIABLES: Final[dict[str, str]] = {
    "OPENCLAW_STATE_DIR": (
        "The state directory; without it OpenClaw's, `~/.openclaw` or `~/.clawdbot`, and without OpenClaw memd's own."
    ),
    "OPENCLAW_CONFIG_PATH": "The settings file, else `openclaw.json` in the state directory.",
    "MEMD_SOCKET": "The socket's path.",
    "MEMD_CONFIG": "The daemon's own settings, else `memd.toml` in the user's config directory.",
    "MEMD_MODEL_DIR": "Where pulled models are, else `memd/models` in the user's cache directory.",
    "MEMD_AUTOSTART": "With `0` `memctl` never starts a daemon.",
    "OPENAI_API_KEY": "The key for `openai`, where the settings name none.",
    "GEMINI_API_KEY": "The key for `gemini`, likewise.",
    "GOOGLE_API_KEY": "The key for `gemini` where `GEMINI_API_KEY` isn't set.",
    "VOYAGE_API_KEY": "The key for `voyage`, likewise.",
    "MISTRAL_API_KEY": "The key for `mistral`, likewise.",
    "OLLAMA_API_KEY": "The key for `ollama`, where it stands behind one.",
    "HF_ENDPOINT": "A mirror of the hub that `hf:` models and `minilm` are pulled from.",
    "HF_TOKEN": "The token for models behind a licence; it goes to the hub alone, never to where that redirects.",
    "HUGGING_FACE_HUB_TOKEN": "Its older name.",
    "HF_HUB_OFFLINE": "With `1` no model is downloaded but by `memctl model pull`.",
    "HTTPS_PROXY": "The proxy for providers and downloads; lower case counts as well.",
    "HTTP_PROXY": "Likewise, for addresses without TLS; addresses of this machine are never asked through a proxy.",
    "ALL_PROXY": "Likewise, for both.",
    "NO_PROXY": "Hosts that are asked without a proxy.",
    "SSL_CERT_FILE": "Certificates to trust, where a company has its own.",
}
"""Environment variables the daemon and `memctl` read."""

DEFAULTS_IN_WORDS: Final[dict[str, str]] = {
    "store.path": "`<state>/memory/{agentId}.memd.sqlite`",
    "store.vector.extensionPath": "the bundled one",
    "cache.maxEntries": "see `vector_cache_mb`",
    "model": "the provider's own",
    "local.modelPath": "EmbeddingGemma 300M",
    "local.modelCacheDir": "`MEMD_MODEL_DIR`",
    "remote.baseUrl": "the provider's own",
    "queryInputType": "`inputType`",
    "documentInputType": "`inputType`",
    "outputDimensionality": "the model's own",
    "socket": "see [protocol.md](protocol.md)",
    "memory_budget_mb": "a sixteenth of the machine's memory, 64 to 1024",
    "agents.defaults.userTimezone": "the machine's",
    "agents.defaults.compaction.memoryFlush.prompt": "memd's own",
    "agents.defaults.compaction.memoryFlush.systemPrompt": "memd's own",
}
"""What an unset key means, where the struct holds nothing and something is done all the same."""
