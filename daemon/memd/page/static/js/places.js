/** Where one is on the page: which view, which agent, whether the keys are shown. */

import { loadFacts } from "./facts.js";
import { loadMetrics, loadStatus } from "./health.js";
import { loadNotes } from "./notes.js";
import { search } from "./search.js";
import { changed, forgetAgent, state } from "./state.js";

export const VIEWS = [
  { name: "notes", label: "Notes" },
  { name: "search", label: "Search" },
  { name: "facts", label: "Facts" },
  { name: "health", label: "Health" },
];

/** Show the view that the address names. The question isn't part of it, so that none is kept in the browser's history. */
export function followAddress() {
  const name = location.hash.slice(1);
  state.view = VIEWS.some((view) => view.name === name) ? name : "notes";
  if (state.view === "health") void loadMetrics();
  changed();
}

/** @param {string} name */
export function goTo(name) {
  location.hash = name;
  followAddress(); // at once: the browser tells of it later, and keys may come before
}

/**
 * Show another agent's memory.
 * @param {string} agent
 */
export function chooseAgent(agent) {
  forgetAgent();
  state.agent = agent;
  changed();
  return loadAll();
}

/** Load everything anew. */
export function loadAll() {
  return Promise.all([loadStatus(), loadNotes(), loadFacts(), search()]);
}

export function showHelp() {
  state.help = true;
  /** @type {HTMLDialogElement} */ (document.getElementById("help")).showModal();
}

export function hideHelp() {
  state.help = false;
}
