"""Errors of embeddings: providers, local models, downloads. Import them from `memd_client.errors`."""

from __future__ import annotations

from memd_client.error_tree import MemdError


class ProviderUnavailableError(MemdError):
    """No embedding provider can be used with these settings."""

    code = "provider_unavailable"
    hint = "run `memctl model pull minilm` for vector search; keyword search works without it"


class ProviderFailedError(MemdError):
    """The embedding provider failed or sent an unusable reply."""

    code = "provider_failed"
    hint = "see `memctl status`; memd retries after the back-off, and keyword search continues"


class ProviderUnreachableError(ProviderFailedError):
    """The embedding provider can't be reached or did not reply in time."""

    code = "provider_unreachable"
    hint = "check the network, the proxy and endpoint.baseUrl; memd retries after the back-off"


class ProviderReplyError(ProviderFailedError):
    """The embedding provider sent an unusable reply; nothing of it was stored."""

    code = "provider_reply_invalid"
    hint = "check that endpoint.baseUrl is the provider's own address; keyword search continues"


class ProviderRateLimitedError(ProviderFailedError):
    """The embedding provider limits the request rate."""

    code = "provider_rate_limited"
    hint = "wait: memd retries when the provider's pause is over"


class ProviderQuotaError(ProviderFailedError):
    """The account at the embedding provider has no credit or quota left."""

    code = "provider_quota_exhausted"
    hint = "add credit at the provider or choose another provider; memd retries after the back-off"


class ProviderAuthError(ProviderFailedError):
    """The embedding provider rejects the API key."""

    code = "provider_auth"
    hint = "correct the key (endpoint.apiKey, models.providers, or the environment of the daemon)"


class ProviderModelError(ProviderFailedError):
    """The embedding provider has no such model."""

    code = "provider_model_unknown"
    hint = "correct search.model; for Ollama, run `ollama pull` with its name"


class TextRefusedError(ProviderFailedError):
    """The embedding provider rejects a text: too long, empty or against its rules."""

    code = "text_refused"
    hint = "shorten or split the text; keyword search finds it meanwhile"


class TokenBudgetError(ProviderFailedError):
    """The daily token budget is used up."""

    code = "token_budget_exhausted"
    hint = "raise daily_token_budget in memd.toml, or wait until midnight UTC"


class LocalExtraMissingError(MemdError):
    """No package with llama.cpp is installed."""

    code = "local_extra_missing"
    hint = "install llama.cpp for the daemon; `memctl doctor` prints the command"


class ModelMissingError(MemdError):
    """The model file does not exist."""

    code = "model_missing"
    hint = "pull a model with `memctl model pull minilm`, or correct local.modelPath"


class ModelInvalidError(MemdError):
    """The model file is not a usable embedding model."""

    code = "model_invalid"
    hint = "use a GGUF file of an embedding model; `memctl model pull minilm` downloads a small one"


class ModelChildError(MemdError):
    """The model process crashed, hung or was killed."""

    code = "model_child"
    hint = "see the daemon's log if it keeps failing; memd restarts the process"


class DownloadFailedError(MemdError):
    """A model could not be downloaded."""

    code = "download_failed"
    hint = "check the network, then try again to resume the download"


class ChecksumMismatchError(MemdError):
    """A downloaded file has the wrong checksum."""

    code = "checksum_mismatch"
    hint = "download it again; the file was removed"


class DimensionsChangedError(MemdError):
    """The provider returned vectors of other dimensions than before."""

    code = "dimensions_changed"
    hint = "run `memctl index --force`: the model behind the provider changed"
