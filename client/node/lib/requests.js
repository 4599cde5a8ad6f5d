// How each request is to be treated: how long to wait for it, and whether it may be sent twice.

import { MemdError } from "./errors.js";
import { REPLIES } from "./shapes.js";

/** `index` and its like may take hours; they are given up after this long without progress. */
const LONG_SILENCE_MS = 300_000;

/** Added to a request's own deadline: the daemon keeps it, and its answer still has to arrive. */
const REPLY_MS = 5_000;

/** A chat model may be asked what to call the note. */
const SESSION_ENDED_MS = 30_000;

/** Requests that live as long as they make progress. */
const LONG = new Set(["index", "reset", "vacuum", "model"]);

/** Requests that mean all agents where none is named. */
const OF_ALL_AGENTS = new Set([
  "hello",
  "status",
  "metrics",
  "search_agents",
  "model",
  "show",
  "subscribe",
  "cancel",
]);

/**
 * Requests that write, and when doing it twice does no more than doing it once.
 * @type {Record<string, (params: Record<string, unknown>) => boolean>}
 */
const WRITING = {
  append_note: ({ key }) => isGiven(key),
  memory_store: ({ id }) => isGiven(id),
  memory_edit: () => false,
  memory_forget: () => false,
  compaction_done: ({ session_key, compaction_count }) => !session_key || isGiven(compaction_count),
  subscribe: () => false,
};

/** The names of all requests of the protocol. */
export const REQUESTS = Object.freeze(Object.keys(REPLIES));

/**
 * Return a request's name as the client's method: `memory_search` is `memorySearch`.
 * @param {string} name
 */
export function methodName(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/**
 * Return how long to wait for a reply, in milliseconds, and whether progress starts that time anew.
 * @param {string} name The request.
 * @param {Record<string, unknown>} params
 * @param {number | null | undefined} given The caller's deadline for this call; null: none.
 * @param {number | null} usual The client's own patience; null: none.
 * @returns {{ deadlineMs: number, renews: boolean }}
 */
export function patience(name, params, given, usual) {
  const renews = LONG.has(name);
  if (given !== undefined) return { deadlineMs: given ?? Infinity, renews };
  if (usual === null) return { deadlineMs: Infinity, renews };
  let least = 0;
  if (renews) least = LONG_SILENCE_MS;
  else if (name === "session_ended") least = SESSION_ENDED_MS;
  else if (typeof params.deadline_ms === "number") least = params.deadline_ms + REPLY_MS;
  return { deadlineMs: Math.max(usual, least), renews };
}

/**
 * Return whether a request may be sent a second time although the first may have been carried out. One that this
 * release doesn't know may not.
 * @param {string} name
 * @param {Record<string, unknown>} params
 */
export function isRepeatable(name, params) {
  if (Object.hasOwn(WRITING, name)) return WRITING[name](params);
  return Object.hasOwn(REPLIES, name);
}

/**
 * Return whether to send a request once more over a new connection after this error.
 * @param {unknown} error
 * @param {boolean} repeatable
 */
export function mayRepeat(error, repeatable) {
  if (!(error instanceof MemdError)) return false;
  if (error.code === "idle_timeout") return true; // the daemon closed before it read the request
  return error.code === "connection_lost" && (repeatable || error.data.sent === false);
}

/**
 * Return the parameters with the client's own agent where it is meant and none is named.
 * @param {string} name
 * @param {Record<string, unknown>} params
 * @param {string | undefined} agent
 */
export function withAgent(name, params, agent) {
  if (agent === undefined || OF_ALL_AGENTS.has(name) || isGiven(params.agent)) return params;
  return { ...params, agent };
}

/** @type {(value: unknown) => boolean} */
function isGiven(value) {
  return value !== undefined && value !== null;
}
