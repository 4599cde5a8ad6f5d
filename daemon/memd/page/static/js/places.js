/** The location on the page: agent, view, file, and whether the help is shown. */

import { correctAddress, parseAddress, pushAddress } from "./address.js";
import { loadConversations, loadGroups } from "./conversations.js";
import { loadFacts } from "./facts.js";
import { CONVERSATIONS } from "./filters.js";
import { loadMetrics, loadStatus } from "./health.js";
import { loadNotes } from "./notes.js";
import { hideReader, openAddressed } from "./reader.js";
import { search } from "./search.js";
import { loadSources } from "./sources.js";
import { changed, forgetAgent, state } from "./state.js";
import { loadUsage } from "./usage.js";

/** Show what the address names: at the beginning, and when the browser goes back, forward or to a bookmark. */
export function followAddress() {
  const { agent, view, place } = parseAddress(location.hash, state.session);
  if (agent !== state.agent) show(agent);
  state.view = view;
  loadView(view);
  if (place) openAddressed(place);
  else if (state.reader) hideReader();
  correctAddress();
  changed();
}

/** @param {string} name a view */
export function goTo(name) {
  state.view = name;
  pushAddress();
  loadView(name);
  changed();
}

/** Load what a view alone needs. @param {string} view */
function loadView(view) {
  if (view === "usage") void loadUsage();
  if (view !== "health") return;
  void loadMetrics();
  void loadSources();
}

/**
 * Search for what was looked for in titles, in all that was said.
 * @param {string} query
 * @param {import("./kinds.js").Filter} filter
 */
export function searchInstead(query, filter) {
  Object.assign(state.search, { query, scope: "agent", filter: { ...filter, source: filter.source || CONVERSATIONS } });
  goTo("search");
  void search();
}

/**
 * Show another agent's memory.
 * @param {string} agent
 */
export function chooseAgent(agent) {
  show(agent);
  pushAddress();
}

/** @param {string} agent */
function show(agent) {
  forgetAgent();
  state.agent = agent;
  changed();
  if (state.view === "usage") void loadUsage();
  void loadAll();
}

/** Reload everything. */
export function loadAll() {
  return Promise.all([loadStatus(), loadNotes(), loadFacts(), loadConversations(), loadGroups(), search()]);
}

export function showHelp() {
  state.help = true;
  /** @type {HTMLDialogElement} */ (document.getElementById("help")).showModal();
}

export function hideHelp() {
  state.help = false;
}
