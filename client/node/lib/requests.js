// Properties of each request: its timeout, and whether it may be sent twice.

import { MemdError } from "./errors.js";
import { REPLIES } from "./shapes.js";

/** Longest time without progress of requests that may take hours, such as `index`. */
const PROGRESS_TIMEOUT_MS = 300_000;

/** Added to a request's own deadline, which the daemon keeps, for the reply to arrive. */
const REPLY_MARGIN_MS = 5_000;

/** Shortest timeout of `session_ended`: a chat model may choose the name of the note. */
const SESSION_ENDED_MS = 30_000;

/** Shortest timeout of `forget`, and of `remote` if it exchanges data with a remote. */
const REMOTE_MS = 900_000;

/** Requests whose timeout restarts with each progress. */
const LONG = new Set(["index", "reset", "vacuum", "model"]);

/** Requests that don't use the client's own agent: without an agent, they concern all agents or none. */
const WITHOUT_CLIENT_AGENT = new Set([
  "hello",
  "status",
  "metrics",
  "hook_log",
  "usage",
  "search_agents",
  "sources",
  "remote",
  "model",
  "open_page",
  "subscribe",
  "cancel",
]);

/**
 * Requests that write, and whether executing them twice has the same effect as once.
 * @type {Record<string, (params: Record<string, unknown>) => boolean>}
 */
const WRITING = {
  append_note: ({ key }) => isGiven(key),
  memory_store: ({ id }) => isGiven(id),
  memory_edit: () => false,
  memory_forget: () => false,
  forget: ({ action }) => !isGiven(action) || action === "find" || action === "receipts",
  compaction_done: ({ session_key, compaction_count }) => !session_key || isGiven(compaction_count),
  hook: () => false,
  subscribe: () => false,
};

/** The names of all requests of the protocol. */
export const REQUESTS = Object.freeze(Object.keys(REPLIES));

/**
 * Return the name of a request's method: `memory_store` becomes `memoryStore`.
 * @param {string} name
 */
export function methodName(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

/**
 * Return how long to wait for a reply, in milliseconds, and whether each progress restarts that time.
 * @param {string} name The request.
 * @param {Record<string, unknown>} params
 * @param {number | null | undefined} callMs The call's `timeoutMs`; null: no limit.
 * @param {number | null} clientMs The client's `timeoutMs`; null: no limit.
 * @returns {{ deadlineMs: number, renewsDeadline: boolean }}
 */
export function replyTimeout(name, params, callMs, clientMs) {
  const renewsDeadline = LONG.has(name);
  if (callMs !== undefined) return { deadlineMs: callMs ?? Infinity, renewsDeadline };
  if (clientMs === null) return { deadlineMs: Infinity, renewsDeadline };
  let minTimeoutMs = 0;
  if (renewsDeadline) minTimeoutMs = PROGRESS_TIMEOUT_MS;
  else if (name === "session_ended") minTimeoutMs = SESSION_ENDED_MS;
  else if (name === "remote" && isGiven(params.action) && params.action !== "status") minTimeoutMs = REMOTE_MS;
  else if (name === "forget") minTimeoutMs = REMOTE_MS;
  else if (name === "sources" && params.action === "forget") minTimeoutMs = REMOTE_MS;
  else if (typeof params.deadline_ms === "number") minTimeoutMs = params.deadline_ms + REPLY_MARGIN_MS;
  return { deadlineMs: Math.max(clientMs, minTimeoutMs), renewsDeadline };
}

/**
 * Return whether a request may be sent again even if the daemon may have executed it. One that this release doesn't know
 * may not.
 * @param {string} name
 * @param {Record<string, unknown>} params
 */
export function isRepeatable(name, params) {
  if (Object.hasOwn(WRITING, name)) return WRITING[name](params);
  return Object.hasOwn(REPLIES, name);
}

/**
 * Return whether to send a request again over a new connection after this error.
 * @param {unknown} error
 * @param {boolean} repeatable
 */
export function canRepeat(error, repeatable) {
  if (!(error instanceof MemdError)) return false;
  if (error.code === "idle_timeout") return true; // the daemon closed before it read the request
  return error.code === "connection_lost" && (repeatable || error.data.sent === false);
}

/**
 * Return the parameters, with the client's own agent as the default of `agent`.
 * @param {string} name
 * @param {Record<string, unknown>} params
 * @param {string | undefined} agent
 */
export function withAgent(name, params, agent) {
  if (agent === undefined || WITHOUT_CLIENT_AGENT.has(name) || isGiven(params.agent)) return params;
  return { ...params, agent };
}

/** @type {(value: unknown) => boolean} */
function isGiven(value) {
  return value !== undefined && value !== null;
}
