/**
 * Visibility of hits in transcripts: only those of sessions that `tools.sessions.visibility` shows to the requesting session.
 *
 * Notes belong to the agent and are always visible. In case of doubt a hit is withheld.
 */

/** @import { HostConfig, SearchRow, SessionEntries, SessionEntry, Visibility } from "./types.js" */

import { agentOf, isIncognito } from "./sessions.js";

const SCOPES = new Set(["self", "tree", "agent", "all"]);

/**
 * Return the hits that may be shown, in their order.
 * @template {{ path: string, source: string }} Hit
 * @param {Hit[]} hits
 * @param {{ cfg: HostConfig | undefined, agent: string | undefined, requester: string | undefined, sandboxed: boolean,
 *           entries: SessionEntries }} asked `entries` lists an agent's sessions
 * @returns {Hit[]}
 */
export function visibleHits(hits, asked) {
  if (!hits.some((hit) => hit.source !== "memory")) return hits;
  const may = visibility(asked);
  return hits.filter((hit) => hit.source === "memory" || (hit.source === "sessions" && may(hit.path)));
}

/**
 * @param {{ cfg: HostConfig | undefined, agent: string | undefined, requester: string | undefined, sandboxed: boolean,
 *           entries: SessionEntries }} asked
 * @returns {Visibility}
 */
function visibility({ cfg, agent, requester, sandboxed, entries }) {
  const owner = agent ?? agentOf(requester);
  if (requester === undefined || requester === "" || owner === undefined) return () => false;
  if ((agentOf(requester) ?? owner).toLowerCase() !== owner.toLowerCase()) return () => false;
  const clamped = sandboxed && (cfg?.agents?.defaults?.sandbox?.sessionToolsVisibility ?? "spawned") === "spawned";
  const scope = scopeOf(cfg, clamped);
  const sessions = listed(entries, owner);
  if (sessions === undefined) return () => false;
  const everything = scope === "all" || scope === "agent" || (scope === "tree" && !clamped && isMain(cfg, owner, requester));
  return (path) => {
    const keys = keysOf(path, sessions);
    if (keys.some(({ key }) => isIncognito(key))) return false;
    if (everything) return true;
    return keys.some(({ key, entry }) => key === requester || (scope === "tree" && isChild(entry, requester)));
  };
}

/**
 * @param {HostConfig | undefined} cfg
 * @param {boolean} clamped by the sandbox, to what the session spawned
 */
function scopeOf(cfg, clamped) {
  const said = cfg?.tools?.sessions?.visibility;
  const scope = typeof said === "string" && SCOPES.has(said.toLowerCase()) ? said.toLowerCase() : "all";
  return clamped && scope !== "self" ? "tree" : scope;
}

/**
 * @param {HostConfig | undefined} cfg
 * @param {string} agent
 * @param {string} key
 */
function isMain(cfg, agent, key) {
  return key === `agent:${agent}:${cfg?.session?.mainKey ?? "main"}`;
}

/**
 * @param {SessionEntry} entry
 * @param {string} requester
 */
function isChild(entry, requester) {
  return [entry.spawnedBy, entry.parentSessionKey, entry.ownerSessionKey].includes(requester);
}

/**
 * Return the sessions a transcript's path may belong to: `sessions/<session id>.jsonl`, or what was rotated away of it.
 * @param {string} path
 * @param {Array<{ key: string, entry: SessionEntry }>} sessions
 */
export function keysOf(path, sessions) {
  const name = path.split("/").at(-1) ?? "";
  const id = /^(.+?)(?:-topic-[^.]*)?\.jsonl(?:$|\.)/u.exec(name)?.[1];
  if (id === undefined) return [];
  return sessions.filter(({ entry }) => entry.sessionId === id || baseName(entry.sessionFile) === name);
}

/** @param {string | undefined} path */
function baseName(path) {
  return path?.split("/").at(-1);
}

/**
 * @param {SessionEntries} entries
 * @param {string} agent
 */
export function listed(entries, agent) {
  try {
    return entries(agent).map(({ sessionKey, entry }) => ({ key: sessionKey, entry }));
  } catch {
    return undefined;
  }
}
