"""Builds the embedding provider that an agent's settings name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio

from memd.embedding.choose.local_resolver import LocalResolver
from memd.embedding.choose.remote_resolver import ModelChoice, RemotePlan, RemoteResolver
from memd.embedding.local.extra import is_extra_installed
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.provider import LocalProvider
from memd.embedding.local.reference import ModelReference, parse_reference
from memd.embedding.prefixes import Prefixes
from memd.embedding.provider import EmbeddingProvider
from memd.embedding.remote.catalog import AUTO_ORDER
from memd.settings.endpoints import ProviderEntry
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.system.log import log
from memd_client.errors import MemdError, ModelMissingError, ProviderUnavailableError, ShuttingDownError

if TYPE_CHECKING:
    from memd.embedding.remote.account import Account
    from memd.embedding.remote.accounts import Accounts
    from memd.embedding.remote.bulk.api import BulkApi
    from memd.embedding.remote.http import HttpClient
    from memd.embedding.remote.providers.api import EmbeddingApi

QUERY_TIMEOUT_S: Final = 30.0
"""The timeout for a query, retries included. Searches wait less; the vector then serves the next search."""

OLLAMA_QUERY_TIMEOUT_S: Final = 120.0
"""Longer, because Ollama may load its model first."""


class ProviderFactory:
    """Builds local and remote providers for agents.

    Resources: owns the HTTP client from the first remote provider until `aclose`. The caller closes the providers.
    """

    def __init__(
        self,
        *,
        models: ModelOwner,
        models_dir: Path,
        http: Callable[[], HttpClient],
        accounts: Callable[[], Accounts],
        entries: Mapping[str, ProviderEntry],
        state_dir: Path,
        environ: Mapping[str, str],
        daemon: DaemonSettings,
        start_download: Callable[[ModelReference, Path], bool] | None = None,
        has_extra: Callable[[], bool] = is_extra_installed,
    ) -> None:
        self._models = models
        self._models_dir = models_dir
        self._make_http = http
        self._accounts = accounts
        self._entries = entries
        self._state_dir = state_dir
        self._environ = environ
        self._keep_alive_s = math.ceil(daemon.model_keep_alive_minutes * 60) or -1
        self._start_download = start_download
        self._has_extra = has_extra
        self._http: HttpClient | None = None
        self._closed = False
        self._disk = trio.CapacityLimiter(2)

    def __repr__(self) -> str:
        state = "closed" if self._closed else "no HTTP yet" if self._http is None else "with HTTP"
        return f"<ProviderFactory {state}>"

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return the provider with a name of the settings, or raise why it can't be used."""
        local, remote = self._resolvers(settings, agent_id)
        try:
            plan = await trio.to_thread.run_sync(plan_provider, name, local, remote, limiter=self._disk)
        except ModelMissingError as error:
            raise self._start_model_download(name, settings, local, error) from None
        return self._build(plan)

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return an earlier provider with its vendor's current settings, if possible."""
        local, remote = self._resolvers(settings, agent_id)
        try:
            plan = await trio.to_thread.run_sync(_replan, recipe, local, remote, limiter=self._disk)
        except MemdError as error:
            log.info("embedding.earlier_unavailable", agent=agent_id, code=error.code, problem=error.message)
            return None
        return None if plan is None else self._build(plan)

    async def aclose(self) -> None:
        """Close the HTTP client; idempotent. Providers built here fail afterwards."""
        self._closed = True
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    def _resolvers(self, settings: MemorySearch, agent_id: str) -> tuple[LocalResolver, RemoteResolver]:
        if self._closed:
            raise ShuttingDownError("the providers were closed")
        local = LocalResolver(settings, self._models, self._models_dir, self._has_extra)
        remote = RemoteResolver(
            settings,
            agent_id,
            entries=self._entries,
            state_dir=self._state_dir,
            environ=self._environ,
            keep_alive_s=self._keep_alive_s,
        )
        return local, remote

    def _start_model_download(
        self, name: str, settings: MemorySearch, local: LocalResolver, error: ModelMissingError
    ) -> ModelMissingError:
        """Start the download of the configured model; return the error meanwhile."""
        if self._start_download is None or name != "local" or settings.provider != "local":
            return error
        reference = local.reference
        if reference.kind not in ("hf", "https") or not self._start_download(reference, local.models_dir):
            return error
        hint = "It is being downloaded: see `memctl status`. Keyword search works meanwhile."
        return ModelMissingError(error.message, hint=hint, data=error.data)

    def _build(self, plan: LocalProvider | RemotePlan) -> EmbeddingProvider:
        """Return the provider of a plan."""
        if isinstance(plan, LocalProvider):
            return plan
        if self._closed:
            raise ShuttingDownError("the providers were closed")
        # Imported here to save RAM in a daemon without remote providers.
        from memd.embedding.remote.providers.table import APIS
        from memd.embedding.remote.remote import RemoteProvider

        if self._http is None:
            self._http = self._make_http()
        account = self._accounts().account_for(plan.endpoint, plan.limits)
        api = APIS[plan.dialect](plan.endpoint)
        return RemoteProvider(
            api,
            plan.space,
            http=self._http,
            account=account,
            limits=plan.limits,
            metered=plan.metered,
            query_timeout_s=OLLAMA_QUERY_TIMEOUT_S if plan.dialect == "ollama" else QUERY_TIMEOUT_S,
            bulk=_bulk_of(plan, api, self._http, account) if plan.has_bulk else None,
        )


def plan_provider(name: str, local: LocalResolver, remote: RemoteResolver) -> LocalProvider | RemotePlan:
    """Return the plan of the provider with a name. Blocks on disk; sends nothing."""
    if name == "local":
        return local.resolve(local.reference)
    return _plan_auto(local, remote) if name == "auto" else remote.plan(name)


def _plan_auto(local: LocalResolver, remote: RemoteResolver) -> LocalProvider | RemotePlan:
    """Return the plan of a pulled local model, else of a remote provider with a key.

    A provider that is configured but not usable is skipped and logged. If none is usable, its error is raised.
    """
    problem: MemdError | None = None
    nothing = ProviderUnavailableError("no embedding provider is configured and no model was pulled")
    found: LocalProvider | RemotePlan | None = None
    for name in ("local", *AUTO_ORDER):
        try:
            found = local.resolve_auto() if name == "local" else remote.plan_auto(name)
            break
        except ProviderUnavailableError:
            continue
        except MemdError as error:
            problem = problem or error
    if found is None:
        raise problem or nothing
    if problem is not None:
        log.warning("embedding.provider_passed_over", code=problem.code, problem=problem.message, chosen=name)
    return found


def _replan(
    recipe: Mapping[str, str], local: LocalResolver, remote: RemoteResolver
) -> LocalProvider | RemotePlan | None:
    """Return the plan of an earlier provider. Blocks on disk."""
    name, model = recipe.get("provider", ""), recipe.get("model", "")
    prefixes = Prefixes(recipe.get("query_prefix", ""), recipe.get("document_prefix", ""))
    if name == "local":
        return local.resolve(parse_reference(model), prefixes)
    dims = recipe.get("dims", "")
    earlier = ModelChoice(
        model,
        recipe.get("base_url", ""),
        int(dims) if dims.isdecimal() and len(dims) < 10 else None,
        recipe.get("query_type") or None,
        recipe.get("document_type") or None,
        prefixes,
    )
    return remote.replan(name, earlier)


def _bulk_of(plan: RemotePlan, api: EmbeddingApi, http: HttpClient, account: Account) -> BulkApi:
    """Return the batch API of an endpoint."""
    from memd.embedding.remote.bulk.file_jobs import OPENAI, VOYAGE, FileJobs
    from memd.embedding.remote.bulk.gemini_jobs import GeminiJobs

    prefix = plan.space.document_prefix
    if plan.dialect == "gemini":
        return GeminiJobs(api, http, account, prefix=prefix)
    return FileJobs(api, http, account, VOYAGE if plan.dialect == "voyage" else OPENAI, prefix=prefix)
