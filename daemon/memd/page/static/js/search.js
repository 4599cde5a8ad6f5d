/** Searching: the question as it is typed, and again when memory changes. */

import { ask, shown } from "./api.js";
import { changed, state } from "./state.js";

/** A pause in typing after which a question is asked. */
const PAUSE_MS = 250;
/** An answer holds what the agent itself would get, and so many hits where somebody wants more. */
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
    const reply = await ask("search", params(query));
    if (mine !== turn) return;
    Object.assign(state.search, { reply, asking: false, error: null });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(state.search, { asking: false, error: shown(error) });
  }
  changed();
}

/** @param {string} query */
function params(query) {
  const { sources, anything, more } = state.search;
  return {
    agent: state.agent,
    query,
    explain: true,
    ...(more ? { max_results: MORE } : {}),
    ...(sources === "all" ? {} : { sources: [sources] }),
    ...(anything ? { min_score: 0 } : {}),
  };
}

/**
 * Search in some sources, show more hits, or show the nearest texts however far off they are.
 * @param {Partial<{sources: string, anything: boolean, more: boolean}>} choice
 */
export function choose(choice) {
  Object.assign(state.search, choice);
  void search();
}

/**
 * Return a hit's name among the hits, which it keeps while its place in the file does.
 * @param {import("./kinds.js").Hit} hit
 */
export function keyOf(hit) {
  return `${hit.path}#${hit.start_line}`;
}

/**
 * Show or hide why a hit was found.
 * @param {string} key
 */
export function toggleExplain(key) {
  const { open } = state.search;
  if (!open.delete(key)) open.add(key);
  changed();
}
