/** Searching: the query while it is typed, and again when memory changes. */

import { ask, shown } from "./api.js";
import { joined, paramsOf } from "./filters.js";
import { agentStatus } from "./health.js";
import { sourcesOf } from "./sources.js";
import { changed, noFilter, state } from "./state.js";

/** A pause in typing after which a question is asked. */
const PAUSE_MS = 250;
/** Hits per reply: by default those the agent gets, on request more. */
const MORE = 30;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
let turn = 0;

/**
 * Take what was typed, and ask it once typing pauses.
 * @param {string} query
 */
export function type(query) {
  Object.assign(state.search, { query, anything: false, more: false });
  clearTimeout(waiting);
  waiting = setTimeout(() => void search(), PAUSE_MS);
  changed();
}

/** Ask the question now. */
export async function search() {
  clearTimeout(waiting);
  turn += 1;
  const mine = turn;
  const query = state.search.query.trim();
  if (!query) {
    Object.assign(state.search, { reply: null, asking: false, error: null });
    changed();
    return;
  }
  state.search.asking = true;
  changed();
  try {
    const reply = isOfAll() ? foundInAll(await ask("search_agents", params(query))) : foundInOne(await ask("search", { agent: state.agent, ...params(query) }));
    if (mine !== turn) return;
    Object.assign(state.search, { reply, asking: false, error: null });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(state.search, { asking: false, error: shown(error) });
  }
  changed();
}

/** Say whether this page can search all agents: one that shows a single agent can't. */
export function canSearchAll() {
  return state.session.agent === null && state.session.agents.length > 1;
}

/** Say whether all agents are searched. */
export function isOfAll() {
  return canSearchAll() && state.search.scope === "all";
}

/** Return the sources that are searched besides notes. */
export function searchedSources() {
  const agent = agentStatus();
  return sourcesOf(isOfAll() ? (state.status?.agents ?? []) : agent ? [agent] : []);
}

/** Return what the searched conversations can be filtered by. */
export function searchedGroups() {
  const agents = isOfAll() ? state.session.agents : [state.agent];
  return joined(agents.flatMap((agent) => state.groups.get(agent) ?? []));
}

/**
 * @param {import("./kinds.js").SearchReply} reply
 * @returns {import("./kinds.js").Found}
 */
function foundInOne(reply) {
  const { hits, mode, model, took_ms, abstained, pending, degraded, empty } = reply;
  const notices = degraded ? [incomplete(degraded)] : [];
  return { hits, modes: [mode], model: mode === "keyword" ? "" : model, took_ms, abstained, pending, notices, empty: hits.length === 0 && empty ? [empty] : [] };
}

/**
 * @param {import("./kinds.js").SearchAgentsReply} reply
 * @returns {import("./kinds.js").Found}
 */
function foundInAll({ hits, agents, took_ms }) {
  const answered = agents.filter((one) => !one.error);
  const notices = agents.flatMap(({ agent, degraded, error }) => {
    if (error) return [{ title: `${agent}: ${error.code}`, text: error.message, hint: error.hint, bad: true }];
    return degraded ? [incomplete(degraded, agent)] : [];
  });
  const empty = answered.flatMap((one) => (one.empty ? [{ ...one.empty, message: `${one.agent}: ${one.empty.message}` }] : []));
  return {
    hits, modes: [...new Set(answered.map((one) => one.mode))], model: "", took_ms, abstained: answered.some((one) => one.abstained),
    pending: sumOf(answered.map((one) => one.pending)), notices, empty: hits.length === 0 ? empty : [],
  };
}

/** @param {(import("./kinds.js").PendingChanges | null)[]} pending */
function sumOf(pending) {
  return { files: pending.reduce((sum, one) => sum + (one?.files ?? 0), 0), chunks: pending.reduce((sum, one) => sum + (one?.chunks ?? 0), 0) };
}

/**
 * @param {import("./kinds.js").Degradation} degraded
 * @param {string} [agent] whose answer it is, if more than one was asked
 */
function incomplete({ code, reason, hint }, agent = "") {
  return { title: agent ? `${agent}: ${code}` : code, text: `${reason}. This answer is less than the whole.`, hint, bad: false };
}

/** @param {string} query */
function params(query) {
  const { filter, anything, more } = state.search;
  return {
    query,
    explain: true,
    ...(more ? { max_results: MORE } : {}),
    ...paramsOf(filter, searchedSources()),
    ...(anything ? { min_score: 0, include_weak: true } : { limit_weak: !more }),
  };
}

/**
 * Search other agents, show more hits, or show the nearest texts however far off they are.
 * @param {Partial<{scope: "agent" | "all", anything: boolean, more: boolean}>} choice
 */
export function choose(choice) {
  Object.assign(state.search, choice, choice.scope ? { filter: noFilter() } : {});
  void search();
}

/**
 * Limit the search to a source, a project or a time.
 * @param {Partial<import("./kinds.js").Filter>} choice
 */
export function chooseFilter(choice) {
  Object.assign(state.search.filter, choice);
  void search();
}

/**
 * Return a hit's name among the hits, which it keeps while its place in the file does.
 * @param {import("./kinds.js").Hit} hit
 */
export function keyOf(hit) {
  const place = `${hit.path}#${hit.start_line}`;
  return hit.agent ? `${hit.agent}:${place}` : place;
}

/**
 * Show or hide why a hit was found.
 * @param {string} key
 */
export function toggleExplain(key) {
  toggle(state.search.open, key);
}

/**
 * Show all lines of a hit, or those with evidence alone.
 * @param {string} key
 */
export function toggleLines(key) {
  toggle(state.search.unfolded, key);
}

/**
 * @param {Set<string>} keys
 * @param {string} key
 */
function toggle(keys, key) {
  if (!keys.delete(key)) keys.add(key);
  changed();
}
