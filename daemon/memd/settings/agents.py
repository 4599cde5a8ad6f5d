"""openclaw.json of every era, and memd's own places for settings -> agents and their settings.

`resolve` makes sense of what was read and touches no disk, so that it can be held against any document;
`load_home` reads and hands on. Nothing here raises for what a user's file holds: a slip becomes a problem
that names file and key, and costs no more than that key of that agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from memd.settings.layers import (
    Findings,
    Layer,
    absolute_path,
    earlier_index,
    is_path_text,
    resolve_settings,
    shown_key,
    usual_index,
)
from memd.settings.lifecycle import Life, resolve_life
from memd.settings.memd_names import AGENTS, PLUGIN_CONFIG, SEARCH, check_names
from memd.settings.memd_toml import MemdToml, load_memd_toml, read_daemon_settings
from memd.settings.openclaw_accepts import refused_keys
from memd.settings.openclaw_file import (
    find_config_path,
    find_state_dir,
    load_agent_folders,
    load_document,
    read_provider_entries,
    workspace_of,
)
from memd.settings.paths import daemon_config_file
from memd.settings.schema import DaemonSettings, MemorySearch, ProviderEntry
from memd_client.errors import ConfigInvalidError

DEFAULT_AGENT = "main"

OPENCLAW_DATABASE = "openclaw-agent.sqlite"
"""OpenClaw's own database, which holds conversations: never an index of ours."""

_AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOT_IN_AGENT_ID = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One agent: where its Markdown and its index are, its settings, and what is wrong with them.

    `earlier_index` is where an index may be left from before, which is taken over where there is none yet.
    """

    id: str
    workspace: Path
    settings: MemorySearch
    index_path: Path
    is_default: bool
    problems: tuple[ConfigInvalidError, ...] = ()
    life: Life = field(default_factory=Life)
    earlier_index: Path | None = None


@dataclass(frozen=True, slots=True)
class OpenClawHome:
    """All agents under one state directory.

    `providers` are OpenClaw's `models.providers` by id. `problems` concern the file, or what it says for all
    agents. `readable` is false where the file could not be understood at all, so that agents were found by their
    folders alone; `has_own` is false if `memd.toml` could not. `refused_keys` are those of our settings that OpenClaw
    2026.9 refuses in its file.
    """

    state_dir: Path
    config_path: Path
    agents: dict[str, AgentConfig]
    default_agent: str
    problems: tuple[ConfigInvalidError, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    readable: bool = True
    has_own: bool = True
    refused_keys: tuple[str, ...] = ()
    providers: dict[str, ProviderEntry] = field(default_factory=dict)


def agent_id_of(raw: str) -> str | None:
    """Return the id OpenClaw knows an agent by, or None for a name that can't be one.

    Ids become file names: they are lower case, and spaces and other characters become `-`. A name with a
    path separator or a control character is refused rather than mended.
    """
    text = raw.strip().lower()
    if text.startswith(".") or any(char in "/\\" or not char.isprintable() for char in text):
        return None
    mended = _NOT_IN_AGENT_ID.sub("-", text).strip("-")[:64]
    return mended if _AGENT_ID.fullmatch(mended) else None


def load_settings(
    environ: Mapping[str, str], home: Path
) -> tuple[OpenClawHome, DaemonSettings, tuple[ConfigInvalidError, ...]]:
    """Return all agents, the daemon's own settings, and what is wrong with the latter; see `load_home`."""
    toml = load_memd_toml(daemon_config_file(environ))
    return load_home(environ, home, toml), *read_daemon_settings(toml)


def load_home(environ: Mapping[str, str], home: Path, toml: MemdToml | None = None) -> OpenClawHome:
    """Return all agents and their settings from the disk."""
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
    """Return the agents that a document, the folders beside it and `memd.toml` describe."""
    read = _read_document(document, config_path)
    default = read.take_folders(agent_folders)
    read.take_own(document, toml)
    agents: dict[str, AgentConfig] = {}
    for agent_id in sorted(read.drafts, key=lambda name: name != default):
        draft = read.drafts[agent_id]
        own = [*read.own, *draft.own]
        layers = [*read.layers, *draft.layers, *(layer.below(SEARCH) for layer in own)]
        layers.sort(key=lambda layer: not layer.shared)
        settings = resolve_settings(layers, agent_id, state_dir=state_dir, home=home, findings=draft.findings)
        taken = {agent.settings.store.path: agent.id for agent in agents.values()}
        settings = _with_own_index(settings, agent_id, taken, state_dir, draft.findings)
        beside = agent_id != default and has_workspace(agent_id)
        usual = workspace_of(agent_id if beside else None, state_dir, home)
        named = draft.workspace or (None if beside else read.workspace)
        agents[agent_id] = AgentConfig(
            id=agent_id,
            workspace=absolute_path(named, base=state_dir, home=home) if named else usual,
            settings=settings,
            index_path=Path(settings.store.path),
            earlier_index=earlier_index(settings.store.path, agent_id, state_dir),
            is_default=agent_id == default,
            life=resolve_life(document, draft.entries, draft.findings, own),
            problems=tuple(draft.findings.own.values()),
        )
    taken_paths = {agent.index_path for agent in agents.values()}
    for agent in agents.values():
        if agent.earlier_index in taken_paths:  # somebody else's, by the settings
            agents[agent.id] = replace(agent, earlier_index=None)
    return OpenClawHome(
        state_dir=state_dir,
        config_path=config_path,
        agents={agent_id: agents[agent_id] for agent_id in read.drafts},
        default_agent=default,
        problems=tuple(read.findings.shared.values()),
        unknown_keys=tuple(sorted(read.findings.unknown)),
        has_own=toml is None or toml.tables is not None,
        refused_keys=refused_keys(document),
        providers=read.providers,
    )


def _with_own_index(
    settings: MemorySearch, agent_id: str, taken: Mapping[str, str], state_dir: Path, findings: Findings
) -> MemorySearch:
    """Return the settings with an index file no other agent and no other program has."""
    path = settings.store.path
    if path not in taken and Path(path).name != OPENCLAW_DATABASE:
        return settings
    owner = f"the index of agent {taken[path]}" if path in taken else "OpenClaw's own database"
    usual = usual_index(agent_id, state_dir)
    path = str(usual if str(usual) not in taken else usual.with_name(f"{agent_id}.own.memd.sqlite"))
    findings.say(
        f"store.path of agent {agent_id}",
        f"it names {owner}; using {path}. Put {{agentId}} into the path",
        expected="a file for each agent",
        shared=False,
    )
    return msgspec.structs.replace(settings, store=msgspec.structs.replace(settings.store, path=path))


@dataclass(slots=True)
class _Draft:
    """What the document says of one agent."""

    findings: Findings
    layers: list[Layer] = field(default_factory=list)
    own: list[Layer] = field(default_factory=list)
    entries: list[tuple[str, object]] = field(default_factory=list)
    workspace: str | None = None


@dataclass(slots=True)
class _Document:
    """What the document says, before defaults and bounds."""

    findings: Findings
    layers: list[Layer] = field(default_factory=list)
    own: list[Layer] = field(default_factory=list)
    workspace: str | None = None
    default: str | None = None
    drafts: dict[str, _Draft] = field(default_factory=dict)
    providers: dict[str, ProviderEntry] = field(default_factory=dict)

    def take(self, document: object) -> None:
        """Read a whole document."""
        root = self._object({"the file": document}, "the file", "the file")
        if "$include" in root:
            self.findings.unknown.setdefault("$include")
        agents = self._object(root, "agents", "agents")
        defaults = self._object(agents, "defaults", "agents.defaults")
        memory = self._object(root, "memory", "memory")
        self.workspace = _path(defaults, "agents.defaults", self.findings, shared=True)
        self.layers = [
            self._layer(defaults, "memorySearch", "agents.defaults", self.findings, shared=True),
            self._layer(memory, "search", "memory", self.findings, shared=True),
        ]
        models = self._object(root, "models", "models")
        entries = self._object(models, "providers", "models.providers")
        self.providers = read_provider_entries(entries, self.findings)
        self._take_list(agents.get("list"))
        for name, raw in self._object(agents, "entries", "agents.entries").items():
            place = f"agents.entries.{shown_key(name)}"
            if not isinstance(raw, Mapping):
                self.findings.add(place, "an object", raw, shared=True)
            else:
                self._take_agent(name, raw, place, place)

    def take_folders(self, names: Iterable[str]) -> str:
        """Add an agent for every folder, `main` where there is none at all, and return the default agent."""
        named = list(self.drafts)
        for name in sorted(names):
            agent_id = agent_id_of(name)
            if agent_id is None:
                self.findings.say(f"agents/{shown_key(name)}", "not an agent's folder; ignored", shared=True)
            else:
                self._draft(agent_id)
        if not self.drafts:
            self._draft(DEFAULT_AGENT)
        candidates = named or list(self.drafts)
        return self.default or (DEFAULT_AGENT if DEFAULT_AGENT in candidates else candidates[0])

    def take_own(self, document: object, toml: MemdToml | None) -> None:
        """Read memd's own places, lowest first: settings of all agents, and of those that are known by now."""
        self.own = [Layer("", document if isinstance(document, Mapping) else {}, True).below(*PLUGIN_CONFIG)]
        if toml is not None:
            self.own.append(Layer("", toml.tables or {}, True, toml.path))
        for root in self.own:
            check_names(root, self.findings, is_root=True)
            table = root.below(AGENTS, shared=False)
            for name, values in table.values.items():
                draft = self.drafts.get(agent_id_of(name) or "")
                if draft is None:
                    self.findings.add_unknown(table, shown_key(name))
                elif not isinstance(values, Mapping):
                    draft.findings.wrong(table, shown_key(name), "an object", values)
                else:
                    draft.own.append(table.below(name))
                    check_names(draft.own[-1], draft.findings, is_root=False)

    def _take_list(self, raw: object) -> None:
        """Read `agents.list`; of two entries with one id the first counts, as in OpenClaw."""
        if raw is None:
            return
        if not isinstance(raw, list):
            self.findings.add("agents.list", "a list of agents", raw, shared=True)
            return
        for position, entry in enumerate(raw):
            place = f"agents.list[{position}]"
            if not isinstance(entry, Mapping):
                self.findings.add(place, "an object", entry, shared=True)
            elif isinstance(entry.get("id"), str) and agent_id_of(entry["id"]) in self.drafts:
                self.findings.say(f"{place}.id", "the id is in use already; ignored", shared=True)
            else:
                self._take_agent(entry.get("id"), entry, place, f"{place}.id")

    def _take_agent(self, name: object, entry: Mapping[str, object], place: str, name_place: str) -> None:
        """Read one agent's entry of either era."""
        if not isinstance(name, str):
            self.findings.add(name_place, "a string", name, shared=True)
            return
        agent_id = agent_id_of(name)
        if agent_id is None:
            what = "can't be an agent's id: letters, digits, - and _, at most 64; ignored"
            self.findings.say(name_place, what, expected="an agent id", shared=True)
            return
        draft = self._draft(agent_id)
        draft.entries.append((place, entry))
        draft.workspace = _path(entry, place, draft.findings, shared=False) or draft.workspace
        memory = self._object(entry, "memory", f"{place}.memory", draft.findings)
        draft.layers += [
            self._layer(entry, "memorySearch", place, draft.findings, shared=False),
            self._layer(memory, "search", f"{place}.memory", draft.findings, shared=False),
        ]
        is_default = entry.get("default")
        if is_default is True and self.default is None:
            self.default = agent_id
        elif is_default is not None and not isinstance(is_default, bool):
            draft.findings.add(f"{place}.default", "true or false", is_default, shared=False)

    def _draft(self, agent_id: str) -> _Draft:
        """Return the draft of an agent, a new one where there is none."""
        common = self.findings
        new = _Draft(Findings(common.file, shared=common.shared, unknown=common.unknown))
        return self.drafts.setdefault(agent_id, new)

    def _object(
        self, holder: Mapping[str, object], key: str, place: str, findings: Findings | None = None
    ) -> Mapping[str, object]:
        """Return the object under a key; an empty one, and a problem, where it is something else."""
        raw = holder.get(key)
        if isinstance(raw, Mapping):
            return raw
        if raw is not None:
            (findings or self.findings).add(place, "an object", raw, shared=findings is None)
        return {}

    def _layer(
        self, holder: Mapping[str, object], key: str, before: str, findings: Findings, *, shared: bool
    ) -> Layer:
        """Return the settings under a key as a layer."""
        place = f"{before}.{key}"
        return Layer(place, self._object(holder, key, place, None if shared else findings), shared)


def _read_document(document: object, config_path: Path) -> _Document:
    """Return what a document says."""
    read = _Document(Findings(config_path))
    read.take(document)
    return read


def _path(holder: Mapping[str, object], before: str, findings: Findings, *, shared: bool) -> str | None:
    """Return the `workspace` of an entry, or None with a problem noted where it can't be a path."""
    raw = holder.get("workspace")
    if raw is None:
        return None
    if not isinstance(raw, str) or not is_path_text(raw or "."):
        findings.add(f"{before}.workspace", "a path", raw, shared=shared)
        return None
    return raw.strip() or None
