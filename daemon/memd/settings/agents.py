"""Agents and their settings, from openclaw.json of any release and memd's own settings.

`load_home` reads the files, and `resolve` interprets them without reading the disk. Invalid settings never raise: they
become problems that name file and key, and only that key of that agent is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from memd.settings.endpoints import ProviderEntry
from memd.settings.layers import Findings, Layer, absolute_path, is_path_text, read_layers, shown_key
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.memd_toml import MemdToml, load_memd_toml, read_daemon_settings, toml_problem
from memd.settings.names import (
    AGENT_PLACES,
    AGENTS,
    OWN_NAMES,
    PLACES,
    PLUGIN_CONFIG,
    SEARCH,
    SOURCES,
    TOML_NAMES,
    refused_keys,
    remembers_conversations,
)
from memd.settings.openclaw_file import (
    find_config_path,
    find_state_dir,
    load_agent_folders,
    load_document,
    read_provider_entries,
    workspace_of,
)
from memd.settings.paths import daemon_config_file
from memd.settings.schema import DaemonSettings, MemorySearch
from memd.settings.search import earlier_index, own_index, read_search, usual_index
from memd.settings.sources import (
    SHARED_AGENT,
    OwnedSource,
    SourceConfig,
    read_sources,
    sources_of,
)
from memd_client.errors import ConfigInvalidError

DEFAULT_AGENT = "main"

OPENCLAW_DATABASE = "openclaw-agent.sqlite"
"""OpenClaw's own database of conversations; never used as an index."""

_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOT_IN_AGENT_ID = re.compile(r"[^a-z0-9_-]+")


class AgentConfig(Struct, frozen=True):
    """One agent: the paths of its workspace and index, its settings, and their problems.
    `sources` are those of other programs, by name. `earlier_index` is the path of an index of an earlier
    release of memd, which is moved if there is no index yet, or of OpenClaw, whose vectors are reused.
    """

    id: str
    workspace: Path
    settings: MemorySearch
    index_path: Path
    is_default: bool
    problems: tuple[ConfigInvalidError, ...] = ()
    life: LifecycleSettings = field(default_factory=LifecycleSettings)
    earlier_index: Path | None = None
    sources: tuple[SourceConfig, ...] = ()


class OpenClawHome(Struct, frozen=True):
    """All agents under one state directory.

    `providers` are OpenClaw's `models.providers` by id. `problems` concern the file, or settings of all agents.
    `readable` is false if the file could not be parsed, so that agents are known by their folders only; `has_own` is
    false if `memd.toml` could not be parsed. `refused_keys` are settings that OpenClaw 2026.9 refuses in its file.
    """

    state_dir: Path
    config_path: Path
    agents: dict[str, AgentConfig]
    default_agent: str
    problems: tuple[ConfigInvalidError, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    typos: tuple[ConfigInvalidError, ...] = ()
    readable: bool = True
    has_own: bool = True
    refused_keys: tuple[str, ...] = ()
    providers: dict[str, ProviderEntry] = field(default_factory=dict)


def agent_id_of(raw: str) -> str | None:
    """Return the id of an agent's name in OpenClaw; None if the name is invalid.

    Ids become file names: they are lower case, and spaces and other characters become `-`. A name with a path separator
    or a control character is refused.
    """
    text = raw.strip().lower()
    if text.startswith(".") or any(char in "/\\" or not char.isprintable() for char in text):
        return None
    agent_id = _NOT_IN_AGENT_ID.sub("-", text).strip("-")[:64]
    return agent_id if _AGENT_ID.fullmatch(agent_id) else None


def load_settings(
    environ: Mapping[str, str], home: Path
) -> tuple[OpenClawHome, DaemonSettings, tuple[ConfigInvalidError, ...]]:
    """Return all agents, the daemon's own settings, and the problems of the latter; see `load_home`."""
    toml = load_memd_toml(daemon_config_file(environ))
    found, (daemon, problems) = load_home(environ, home, toml), read_daemon_settings(toml)
    if environ.get("MEMD_CONFIG", "").strip() and not toml.problem and not toml.path.exists():
        problems += (toml_problem(toml.path, "does not exist, although MEMD_CONFIG names it", "MEMD_CONFIG"),)
    return found, daemon, (*problems, *found.typos)


def load_home(environ: Mapping[str, str], home: Path, toml: MemdToml | None = None) -> OpenClawHome:
    """Read all agents and their settings from the disk."""
    state_dir, config_path = find_state_dir(environ, home), find_config_path(environ, home)
    problems: list[ConfigInvalidError] = []
    document: dict[str, object] | None = None
    folders: list[str] = []
    try:
        document = load_document(config_path, required=bool(environ.get("OPENCLAW_CONFIG_PATH", "").strip()))
    except ConfigInvalidError as error:
        problems.append(error)
    try:
        folders = load_agent_folders(state_dir)
    except ConfigInvalidError as error:
        problems.append(error)
    resolved = resolve(
        document or {},
        config_path=config_path,
        state_dir=state_dir,
        home=home,
        agent_folders=folders,
        has_workspace=lambda agent_id: workspace_of(agent_id, state_dir, home).is_dir(),
        toml=toml,
    )
    return replace(resolved, problems=(*problems, *resolved.problems), readable=document is not None)


def resolve(
    document: object,
    *,
    config_path: Path,
    state_dir: Path,
    home: Path,
    agent_folders: Iterable[str] = (),
    has_workspace: Callable[[str], bool] = lambda _: False,
    toml: MemdToml | None = None,
) -> OpenClawHome:
    """Return the agents in a document, in the folders of the state directory, and in `memd.toml`."""
    read = _Document(Findings(config_path))
    read.add_document(document)
    default = read.add_folders(agent_folders)
    sources = read_sources(toml, home, read.findings)
    read.add_shared_agent(sources, state_dir)
    read.add_own_settings(document, toml)
    agents = dict[str, AgentConfig]()
    for agent_id in sorted(read.drafts, key=lambda name: name != default):
        draft, findings = read.drafts[agent_id], read.drafts[agent_id].findings
        search, life = draft.layers_with(read.layers)
        taken = {agent.settings.store.path: agent.id for agent in agents.values()}
        shared = read_search(search, agent_id, state_dir=state_dir, home=home, findings=findings)
        settings = _with_own_index(shared, agent_id, taken, state_dir, findings)
        has_own = agent_id != default and has_workspace(agent_id)
        usual = workspace_of(agent_id if has_own else None, state_dir, home)
        named = draft.workspace or (None if has_own else read.workspace)
        agents[agent_id] = AgentConfig(
            id=agent_id,
            workspace=absolute_path(named, base=state_dir, home=home) if named else usual,
            settings=settings,
            index_path=Path(settings.store.path),
            earlier_index=earlier_index(settings.store.path, agent_id, state_dir),
            is_default=agent_id == default,
            life=read_layers(LifecycleSettings, life, findings),
            problems=tuple(findings.own.values()),
            sources=sources_of(agent_id, sources, default),
        )
    with_indexes = _without_taken_indexes(agents)
    return OpenClawHome(
        state_dir=state_dir,
        config_path=config_path,
        agents={agent_id: with_indexes[agent_id] for agent_id in read.drafts},
        default_agent=default,
        problems=tuple(read.findings.shared.values()),
        unknown_keys=tuple(sorted(read.findings.unknown)),
        typos=tuple(read.findings.typos.values()),
        has_own=toml is None or toml.tables is not None,
        refused_keys=refused_keys(document),
        providers=read.providers,
    )


def _without_taken_indexes(agents: Mapping[str, AgentConfig]) -> dict[str, AgentConfig]:
    """Return the agents without earlier indexes that the settings give to another agent."""
    taken = {agent.index_path for agent in agents.values()}
    return {
        agent_id: replace(agent, earlier_index=None) if agent.earlier_index in taken else agent
        for agent_id, agent in agents.items()
    }


def _with_own_index(
    settings: MemorySearch, agent_id: str, taken: Mapping[str, str], state_dir: Path, findings: Findings
) -> MemorySearch:
    """Return the settings with an index file that no other agent or program uses."""
    path = settings.store.path
    if path not in taken and Path(path).name != OPENCLAW_DATABASE:
        return settings
    owner = f"the index of agent {taken[path]}" if path in taken else "OpenClaw's own database"
    usual = usual_index(agent_id, state_dir)
    path = str(usual if str(usual) not in taken else own_index(agent_id, state_dir))
    findings.add(
        Layer("", {}, shared=False),
        f"store.path of agent {agent_id}",
        f"is {owner}; using {path} instead (add {{agentId}} to the path)",
        "one file per agent",
    )
    return msgspec.structs.replace(settings, store=msgspec.structs.replace(settings.store, path=path))


class _Layers(Struct):
    """Layers of one agent or of all: those of `search`, and those of the other settings."""

    search: list[Layer] = field(default_factory=list)
    life: list[Layer] = field(default_factory=list)


class _Draft(Struct):
    """The settings of one agent before they are resolved."""

    findings: Findings
    layers: _Layers = field(default_factory=_Layers)
    workspace: str | None = None

    def layers_with(self, common: _Layers) -> tuple[list[Layer], list[Layer]]:
        """Return the layers of `search` and of the other settings, the agent's own above those of all agents."""
        return common.search + self.layers.search, common.life + self.layers.life


class _Document(Struct):
    """The settings in all files, before defaults and bounds."""

    findings: Findings
    layers: _Layers = field(default_factory=_Layers)
    workspace: str | None = None
    default: str | None = None
    drafts: dict[str, _Draft] = field(default_factory=dict)
    providers: dict[str, ProviderEntry] = field(default_factory=dict)

    def add_document(self, document: object) -> None:
        """Read openclaw.json."""
        find = self.findings
        whole = find.object_in(Layer("", {"the file": document}, shared=True), "the file")
        root = Layer("", whole.values, shared=True)
        if "$include" in root.values:
            find.add_unknown(root, "$include")
        agents, memory = find.object_in(root, "agents"), find.object_in(root, "memory")
        defaults = find.object_in(agents, "defaults")
        if remembers_conversations(root.values):
            self.layers.search.append(Layer("", {"rememberAcrossConversations": True}, shared=True))
        self.workspace = _workspace(defaults, find)
        self.layers.search += [find.object_in(defaults, "memorySearch"), find.object_in(memory, "search")]
        self.layers.life.append(replace(root, places=PLACES, is_foreign=True))
        providers = find.object_in(find.object_in(root, "models"), "providers")
        self.providers = read_provider_entries(providers, find)
        self._add_list(agents)
        entries = find.object_in(agents, "entries")
        for name, raw in entries.values.items():
            if not isinstance(raw, Mapping):
                find.add_wrong(entries, shown_key(name), "an object", raw)
            else:
                self._add_agent(name, Layer(entries.key(shown_key(name)), raw, shared=True), "")

    def add_folders(self, names: Iterable[str]) -> str:
        """Add an agent for every folder, `main` if there is none at all, and return the default agent."""
        named = list(self.drafts)
        for name in sorted(names):
            agent_id = agent_id_of(name)
            if agent_id is None:
                folders = Layer("", {}, shared=True)
                self.findings.add(folders, f"agents/{shown_key(name)}", "is not an agent's folder; ignored")
            else:
                self._draft(agent_id)
        if not self.drafts:
            self._draft(DEFAULT_AGENT)
        candidates = named or list(self.drafts)
        return self.default or (DEFAULT_AGENT if DEFAULT_AGENT in candidates else candidates[0])

    def add_shared_agent(self, sources: Sequence[OwnedSource], state_dir: Path) -> None:
        """Add the agent `shared` if a source belongs to it; a source of an unknown agent is a problem."""
        for source in sources:
            agent_id = source.agent
            if agent_id == SHARED_AGENT and agent_id not in self.drafts:
                self._draft(agent_id).workspace = str(state_dir / "memory" / SHARED_AGENT)
            elif agent_id and agent_id not in self.drafts:
                name = f"{SOURCES}.{source.config.name}.agent"
                self.findings.add(
                    Layer("", {}, shared=True), name, f"there is no agent {agent_id!r}; ignored"
                )

    def add_own_settings(self, document: object, toml: MemdToml | None) -> None:
        """Read the plugin's config and `memd.toml`: settings of all agents, and of known agents."""
        roots = [Layer("", document if isinstance(document, Mapping) else {}, shared=True).at(PLUGIN_CONFIG)]
        if toml is not None:
            roots.append(Layer("", toml.tables or {}, shared=True, file=toml.path))
        for root in roots:
            names = OWN_NAMES if root.file is None else TOML_NAMES
            ours = {key: value for key, value in root.values.items() if key in names}
            self._add_own_layer(replace(root, values=ours), self.layers, self.findings)
            table = self.findings.object_in(root, AGENTS, shared=False)
            for name, values in table.values.items():
                draft = self.drafts.get(agent_id_of(name) or "")
                if draft is None:
                    self.findings.add_unknown(table, shown_key(name), self.drafts)
                elif not isinstance(values, Mapping):
                    draft.findings.add_wrong(table, shown_key(name), "an object", values)
                else:
                    self._add_own_layer(table.below(name), draft.layers, draft.findings)

    def _add_own_layer(self, layer: Layer, layers: _Layers, findings: Findings) -> None:
        """Add the layers of the plugin's config or `memd.toml`, for all agents or for one."""
        layers.search.append(findings.object_in(layer, SEARCH))
        other = {SEARCH, AGENTS} if layer.shared else {SEARCH}
        rest = {key: value for key, value in layer.values.items() if key not in other}
        layers.life.append(replace(layer, values=rest))

    def _add_list(self, agents: Layer) -> None:
        """Read `agents.list`; of two entries with the same id the first is used, as in OpenClaw."""
        raw = agents.get("list")
        if raw is None:
            return
        if not isinstance(raw, list):
            self.findings.add_wrong(agents, "list", "a list of agents", raw)
            return
        for position, entry in enumerate(raw):
            name = f"list[{position}]"
            if not isinstance(entry, Mapping):
                self.findings.add_wrong(agents, name, "an object", entry)
                continue
            layer, agent_id = Layer(agents.key(name), entry, shared=True), entry.get("id")
            if isinstance(agent_id, str) and agent_id_of(agent_id) in self.drafts:
                self.findings.add(layer, "id", "is the id of another agent; ignored")
            else:
                self._add_agent(agent_id, layer, "id")

    def _add_agent(self, name: object, entry: Layer, id_key: str) -> None:
        """Read one agent's entry, in the older or the newer form."""
        place = entry if id_key else Layer("", {}, shared=True)
        key = id_key or entry.prefix
        if not isinstance(name, str):
            self.findings.add_wrong(place, key, "a string", name)
            return
        agent_id = agent_id_of(name)
        if agent_id is None:
            what = "is not a valid id of an agent (letters, digits, - and _, at most 64); ignored"
            self.findings.add(place, key, what, "an agent id")
            return
        draft, entry = self._draft(agent_id), replace(entry, shared=False)
        find = draft.findings
        draft.workspace = _workspace(entry, find) or draft.workspace
        memory = find.object_in(entry, "memory")
        draft.layers.search += [find.object_in(entry, "memorySearch"), find.object_in(memory, "search")]
        draft.layers.life.append(replace(entry, places=AGENT_PLACES, is_foreign=True))
        is_default = entry.get("default")
        if is_default is True and self.default is None:
            self.default = agent_id
        elif is_default is not None and not isinstance(is_default, bool):
            find.add_wrong(entry, "default", "true or false", is_default)

    def _draft(self, agent_id: str) -> _Draft:
        """Return the draft of an agent, created if missing."""
        common = self.findings
        new = _Draft(Findings(common.file, shared=common.shared, unknown=common.unknown, typos=common.typos))
        return self.drafts.setdefault(agent_id, new)


def _workspace(entry: Layer, findings: Findings) -> str | None:
    """Return the `workspace` of an entry; None, with a problem added, if it is not a path."""
    raw = entry.get("workspace")
    if raw is None:
        return None
    if not isinstance(raw, str) or not is_path_text(raw):
        findings.add_wrong(entry, "workspace", "a path", raw)
        return None
    return raw.strip() or None
