/**
 * Visibility of conversations: hits in transcripts, and in notes that keep a conversation, are only shown if
 * `tools.sessions.visibility` shows the session to the requesting one.
 *
 * All other notes belong to the agent and are always visible. In case of doubt a hit is withheld.
 */

/** @import { Asker, SessionEntries, SessionEntry, Visibility, HostConfig } from "./types.js" */

import { agentOf, isIncognito } from "./sessions.js";

const SCOPES = new Set(["self", "tree", "agent", "all"]);

/**
 * Return the hits that may be shown, in their order.
 * @template {{ path: string, source: string }} Hit
 * @param {Hit[]} hits
 * @param {Asker} asked
 * @returns {Hit[]}
 */
export function visibleHits(hits, { noteSessions, ...asked }) {
  if (!hits.some(({ path, source }) => source !== "memory" || noteSessions?.get(path) !== undefined)) return hits;
  const may = visibility(asked);
  return hits.filter(({ path, source }) => {
    const session = noteSessions?.get(path);
    if (session !== undefined) return may.seeSession(session);
    return source === "memory" || (source === "sessions" && may.seeTranscript(path));
  });
}

/**
 * @param {Asker} asked
 * @returns {Visibility}
 */
function visibility({ cfg, agent, requester, sandboxed, entries }) {
  const nothing = { seeTranscript: () => false, seeSession: () => false };
  const owner = agent ?? agentOf(requester);
  if (requester === undefined || requester === "" || owner === undefined) return nothing;
  if ((agentOf(requester) ?? owner).toLowerCase() !== owner.toLowerCase()) return nothing;
  const clamped = sandboxed && (cfg?.agents?.defaults?.sandbox?.sessionToolsVisibility ?? "spawned") === "spawned";
  const scope = scopeOf(cfg, clamped);
  const sessions = listed(entries, owner);
  if (sessions === undefined) return nothing;
  const everything = scope === "all" || scope === "agent" || (scope === "tree" && !clamped && isMain(cfg, owner, requester));
  const may = (/** @type {Session[]} */ found) => {
    if (found.some(({ key }) => isIncognito(key))) return false;
    if (everything) return true;
    return found.some(({ key, entry }) => key === requester || (scope === "tree" && isChild(entry, requester)));
  };
  return {
    seeTranscript: (path) => may(keysOf(path, sessions)),
    seeSession: (key) => isOf(owner, key) && may([withKey(key, sessions)]),
  };
}

/**
 * Whether a session belongs to an agent; agents that share a workspace have notes of one another's conversations.
 * @param {string} owner
 * @param {string} key empty if it could not be read
 */
export function isOf(owner, key) {
  return key !== "" && (agentOf(key) ?? owner).toLowerCase() === owner.toLowerCase();
}

/**
 * Return the session with a key; one that OpenClaw no longer lists has an empty entry.
 * @param {string} key
 * @param {Session[]} sessions
 * @returns {Session}
 */
export function withKey(key, sessions) {
  return sessions.find((session) => session.key === key) ?? { key, entry: {} };
}

/** @typedef {{ key: string, entry: SessionEntry }} Session */

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
