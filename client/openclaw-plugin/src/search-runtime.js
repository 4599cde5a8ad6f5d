/**
 * OpenClaw's memory interface: a manager for each agent that searches, reads and reports the state of the index.
 */

/** @import { DescribeNotes, EntryReader, ManagerStatus, MemoryManager, MemoryOrigin, MemoryRuntime, ProvenanceReader, SearchOptions, SearchRow, SessionEntries, Settings, WorkspaceOf } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { activeProjects, CURATED_FILES, describedRows, entryLimit, entryRow, trustedPaths } from "./curated.js";
import { labelledHit, textOfGet } from "memd-client";

import { codeOf, sentence } from "./daemon.js";
import { pathsOfNotes, readSessions, sessionOf } from "./note-facts.js";
import { hasMemory } from "./settings.js";
import { visibleHits } from "./visibility.js";
import { classifyWorkspaceMemoryPaths } from "./workspace-memory.js";

const INDEX_MS = 10 * 60_000; // a requested sync waits for the whole index

/** What OpenClaw shows the state of the index for. Everything else is part of a turn, which doesn't wait for it. */
const SHOWN = new Set(["status", "cli"]);

/**
 * Return the runtime of the memory capability.
 * @param {{ daemon: Daemon, settings: Settings, entries: SessionEntries, workspaceOf: WorkspaceOf,
 *           readProvenance: ProvenanceReader, readEntries: EntryReader, describe: DescribeNotes }} parts
 * @returns {MemoryRuntime}
 */
export function searchRuntime({ daemon, settings, entries, workspaceOf, readProvenance, readEntries, describe }) {
  return {
    async getMemorySearchManager({ cfg, agentId, purpose = "default" }) {
      const manager = new AgentManager(agentId, workspaceOf(cfg, agentId), {
        daemon,
        settings,
        describe,
        readEntries: hasMemory(cfg, agentId) ? readEntries : async () => [],
        async classify(workspaceDir, relativePaths) {
          const rows = await classifyWorkspaceMemoryPaths({ workspaceDir, relativePaths }, readProvenance);
          return new Map(rows.map(({ relativePath, originClass }) => [relativePath, originClass]));
        },
      });
      try {
        if (SHOWN.has(purpose)) await manager.refresh();
      } catch (error) {
        return { manager: null, error: `memd: ${sentence(error)}` };
      }
      return { manager };
    },
    resolveMemoryBackendConfig: () => ({ backend: "builtin" }),
    async authorizeSearchHits({ cfg, agentId, requesterSessionKey, sandboxed, hits }) {
      const noteSessions = await readSessions(workspaceOf(cfg, agentId), hits.map(({ path }) => path));
      return visibleHits(hits, { cfg, agent: agentId, requester: requesterSessionKey, sandboxed, entries, noteSessions });
    },
    supportsWorkspaceMemoryReadSources: true,
    classifyWorkspaceMemoryPaths: (request) => classifyWorkspaceMemoryPaths(request, readProvenance),
    async closeMemorySearchManager() {},
    closeAllMemorySearchManagers: () => daemon.close(),
  };
}

/**
 * One agent's memory. The last status is kept, since OpenClaw reads it synchronously.
 * @implements {MemoryManager}
 */
class AgentManager {
  /** @type {Record<string, any> | undefined} */
  #said;
  #agent;
  #workspace;
  #daemon;
  #settings;
  #readEntries;
  #classify;
  #describe;

  /**
   * @param {string} agent
   * @param {string} workspace
   * @param {{ daemon: Daemon, settings: Settings, readEntries: EntryReader, describe: DescribeNotes,
   *           classify: (workspaceDir: string, paths: string[]) => Promise<Map<string, MemoryOrigin>> }} parts
   *     `classify` returns the origins of notes
   */
  constructor(agent, workspace, { daemon, settings, readEntries, describe, classify }) {
    this.#agent = agent;
    this.#workspace = workspace;
    this.#describe = describe;
    this.#daemon = daemon;
    this.#settings = settings;
    this.#readEntries = readEntries;
    this.#classify = classify;
  }

  async refresh() {
    const reply = await this.#ask("status", {});
    this.#said = reply.agents.find((/** @type {any} */ row) => row.agent === this.#agent) ?? reply.agents[0];
  }

  /**
   * @param {string} query
   * @param {SearchOptions} [options]
   * @returns {Promise<SearchRow[]>}
   */
  async search(query, { maxResults, minScore, sources, lexicalOnly, activeProjectKeys, signal, onDebug } = {}) {
    if (query.trim() === "") return [];
    const params = {
      query,
      ...(maxResults === undefined ? {} : { max_results: maxResults }),
      ...(minScore === undefined ? {} : { min_score: minScore }),
      ...(sources === undefined ? {} : { sources }),
      ...(lexicalOnly === true ? { lexical_only: true } : {}),
      ...activeProjects(activeProjectKeys),
    };
    const reply = lexicalOnly === true
      ? await this.#daemon.askInTurn("search", { agent: this.#agent, ...params }, { signal })
      : await this.#ask("search", params, signal);
    const fallback = reply.degraded?.reason;
    onDebug?.({ backend: "builtin", effectiveMode: reply.mode, ...(fallback ? { fallback } : {}) });
    const rows = reply.hits.map(labelledHit).map(row);
    const notes = await this.#describe(this.#workspace, pathsOfNotes(rows));
    return describedRows(rows, reply.hits, notes);
  }

  /**
   * Return entries of curated notes that have triggers, the most important first.
   * @param {{ limit?: number, activeProjectKeys?: string[] }} [options]
   */
  async listTriggerCandidates({ limit, activeProjectKeys } = {}) {
    return this.#entries("triggers", limit, activeProjectKeys);
  }

  /**
   * Return entries of curated notes about projects that are all active, the most important first.
   * @param {{ limit?: number, activeProjectKeys: string[] }} options
   */
  async listCuratedProjectCandidates({ limit, activeProjectKeys }) {
    return activeProjectKeys.length === 0 ? [] : this.#entries("projects", limit, activeProjectKeys);
  }

  /**
   * @param {"triggers" | "projects"} kind
   * @param {number | undefined} limit
   * @param {string[] | undefined} activeProjectKeys
   * @returns {Promise<SearchRow[]>}
   */
  async #entries(kind, limit, activeProjectKeys) {
    const origins = await this.#classify(this.#workspace, CURATED_FILES);
    const asked = { kind, limit: Infinity, activeProjects: activeProjects(activeProjectKeys).active_projects };
    const entries = await this.#readEntries(this.#workspace, trustedPaths(origins), asked);
    const outside = await this.#outsideLines([...new Set(entries.map(({ path }) => path))]);
    const own = entries.filter((entry) => !outside.some((run) =>
      run.path === entry.path && run.start_line <= entry.end_line && entry.start_line <= run.end_line));
    return own.slice(0, entryLimit(kind, limit)).map((entry) => entryRow(entry, origins));
  }

  /**
   * Return the lines of notes that are of other people; none if the daemon doesn't answer, so that the user's entries stay.
   * @param {string[]} paths
   * @returns {Promise<{ path: string, start_line: number, end_line: number }[]>}
   */
  async #outsideLines(paths) {
    const replies = await Promise.all(paths.map((path) =>
      this.#daemon.askInTurn("get", { agent: this.#agent, path }).catch(() => ({ path, origins: [] }))));
    return replies.flatMap(({ path, origins = [] }) =>
      origins.filter((/** @type {any} */ { origin }) => origin === "outside").map((/** @type {any} */ run) => ({ ...run, path })));
  }

  /**
   * Read lines of a note. OpenClaw doesn't name the session that wants them, so a note that keeps a conversation is not found.
   * @param {{ relPath: string, from?: number, lines?: number }} asked
   */
  async readFile({ relPath, from, lines }) {
    const missing = { status: /** @type {const} */ ("not_found"), path: relPath, text: /** @type {const} */ ("") };
    try {
      const params = { path: relPath, ...(from ? { from_line: from } : {}), ...(lines ? { lines } : {}) };
      const reply = await this.#ask("get", params);
      const { path, from_line, lines: count, truncated } = reply;
      if ((await sessionOf(this.#workspace, path)) !== undefined) return missing;
      const next = truncated ? { truncated: true, nextFrom: from_line + count } : {};
      return { status: /** @type {const} */ ("ok"), path, text: textOfGet(reply), from: from_line, lines: count, ...next };
    } catch (error) {
      if (codeOf(error) !== "file_missing") throw error;
      return missing;
    }
  }

  /** @returns {ManagerStatus} */
  status() {
    const said = this.#said;
    if (said === undefined) return { backend: "builtin", provider: "memd", workspaceDir: this.#workspace, custom: { keptBy: "memd" } };
    const vectors = said.vector_path !== "none";
    const whole = said.vectors >= said.chunks;
    return {
      backend: "builtin",
      provider: said.provider,
      ...(said.model ? { model: said.model } : {}),
      files: said.files,
      chunks: said.chunks,
      dirty: said.files_pending + said.chunks_pending > 0,
      workspaceDir: said.workspace,
      dbPath: said.index_path,
      sources: said.sources,
      fts: { enabled: true, available: true },
      vector: {
        enabled: vectors,
        available: vectors,
        storeAvailable: vectors,
        semanticAvailable: vectors && said.degraded === null,
        ...(vectors && said.dims ? { dims: said.dims } : {}),
        ...(vectors ? { index: { state: said.chunks === 0 ? "empty" : whole ? "complete" : "incomplete" } } : {}),
      },
      ...(said.fallback ? { fallback: { from: said.fallback.provider, reason: said.fallback.reason } } : {}),
      custom: { keptBy: "memd", degraded: said.degraded, watch: said.watch, problems: said.problems },
    };
  }

  /** @param {{ force?: boolean, progress?: (update: { completed: number, total: number, label?: string }) => void }} [asked] */
  async sync({ force = false } = {}) {
    await this.#daemon.ask("index", { agent: this.#agent, force }, { deadlineMs: INDEX_MS });
    await this.refresh();
  }

  async probeEmbeddingAvailability() {
    await this.refresh();
    const { degraded, provider } = this.#said ?? {};
    if (degraded) return { ok: false, error: degraded.reason, checked: true };
    return provider === "none"
      ? { ok: false, error: "no embedding provider; keyword search only", checked: true }
      : { ok: true, checked: true };
  }

  async probeVectorAvailability() {
    await this.refresh();
    return this.#said?.vector_path !== "none";
  }

  async close() {}

  /**
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {AbortSignal} [signal]
   */
  #ask(method, params, signal) {
    const whole = { agent: this.#agent, ...params };
    return this.#daemon.ask(method, whole, { deadlineMs: this.#settings.toolDeadlineMs, signal });
  }
}

/**
 * Return a hit in OpenClaw's shape.
 * @param {Record<string, any>} hit
 * @returns {SearchRow}
 */
function row(hit) {
  return {
    path: hit.path,
    startLine: hit.start_line,
    endLine: hit.end_line,
    score: hit.score,
    ...(typeof hit.vector_score === "number" ? { vectorScore: hit.vector_score } : {}),
    ...(typeof hit.text_score === "number" ? { textScore: hit.text_score } : {}),
    snippet: hit.snippet,
    source: hit.source,
    citation: hit.citation,
  };
}
