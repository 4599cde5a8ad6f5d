"""Errors of embeddings: providers, local models, downloads. Import them from `memd_client.errors`."""

from __future__ import annotations

from memd_client.error_tree import MemdError


class ProviderUnavailableError(MemdError):
    """No embedding provider can be used with these settings."""

    code = "provider_unavailable"
    hint = "Keyword search works. For search by meaning run `memctl model pull minilm`."


class ProviderFailedError(MemdError):
    """The embedding provider failed or sent a reply that can't be used."""

    code = "provider_failed"
    hint = "Keyword search goes on; the daemon tries again by itself."


class ProviderUnreachableError(ProviderFailedError):
    """The embedding provider can't be reached, or did not answer in time."""

    code = "provider_unreachable"
    hint = "Check the network, the proxy and remote.baseUrl; keyword search goes on, and it is tried again by itself."


class ProviderReplyError(ProviderFailedError):
    """The embedding provider answered with something that can't be used: nothing of it was stored."""

    code = "provider_reply_invalid"
    hint = "Check that remote.baseUrl is the provider's own address; keyword search goes on."


class ProviderRateLimitedError(ProviderFailedError):
    """The embedding provider asks for a pause."""

    code = "provider_rate_limited"
    hint = "Nothing to do: it is asked again when the pause it named is over."


class ProviderQuotaError(ProviderFailedError):
    """The account at the embedding provider has no credit or no quota left."""

    code = "provider_quota_exhausted"
    hint = "Add credit at the provider, or choose another one; it is asked again by itself now and then."


class ProviderAuthError(ProviderFailedError):
    """The embedding provider refuses the key."""

    code = "provider_auth"
    hint = "Correct the key (remote.apiKey, models.providers, or the environment of the daemon)."


class ProviderModelError(ProviderFailedError):
    """The embedding provider has no such model."""

    code = "provider_model_unknown"
    hint = "Correct search.model; for Ollama, run `ollama pull` with its name."


class TextRefusedError(ProviderFailedError):
    """The embedding provider refuses a text: too long, empty or against its rules."""

    code = "text_refused"
    hint = "The text stays findable by its words; every other text is unaffected."


class TokenBudgetError(ProviderFailedError):
    """The tokens that may be bought in a day are used up."""

    code = "token_budget_exhausted"
    hint = "Raise daily_token_budget in memd.toml, or wait: it starts anew at midnight UTC."


class LocalExtraMissingError(MemdError):
    """llama-cpp-python is not installed."""

    code = "local_extra_missing"
    hint = (
        "Install llama-cpp-python for the daemon (needs a C++ compiler); `memctl doctor` prints the command."
    )


class ModelMissingError(MemdError):
    """The model file is not there."""

    code = "model_missing"
    hint = "Pull one with `memctl model pull minilm`, or correct local.modelPath."


class ModelInvalidError(MemdError):
    """The model file is not a usable embedding model."""

    code = "model_invalid"
    hint = "Use a GGUF file of an embedding model; `memctl model pull minilm` gets a small one."


class ModelChildError(MemdError):
    """The process that holds the model crashed, hung or was killed."""

    code = "model_child"
    hint = "It is started again by itself; if it keeps failing, see the daemon's log."


class DownloadFailedError(MemdError):
    """A model could not be downloaded."""

    code = "download_failed"
    hint = "Check the network and try again: the download goes on where it stopped."


class ChecksumMismatchError(MemdError):
    """A downloaded file is not the expected one."""

    code = "checksum_mismatch"
    hint = "The file was removed; try again, and don't use it from elsewhere."


class DimensionsChangedError(MemdError):
    """The provider returned vectors of another size than before."""

    code = "dimensions_changed"
    hint = "The model behind the provider changed: run `memctl index --force`."
