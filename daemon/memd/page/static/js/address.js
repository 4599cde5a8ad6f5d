/** The address after `#`: which agent, view and file the page shows. A query is never part of it. */

import { state } from "./state.js";

export const VIEWS = [
  { name: "notes", label: "Notes" },
  { name: "conversations", label: "Conversations" },
  { name: "search", label: "Search" },
  { name: "facts", label: "Facts" },
  { name: "usage", label: "Usage" },
  { name: "health", label: "Health" },
];

/** @typedef {{path: string, agent: string, found: {start: number, end: number} | null}} Place */
/** @typedef {{agent: string, view: string, place: Place | null}} Target */

/**
 * Return what an address asks for. A value that can't be used is replaced by its default.
 * @param {string} hash `location.hash`
 * @param {{agent: string | null, agents: string[]}} session
 * @returns {Target}
 */
export function parseAddress(hash, session) {
  const given = new URLSearchParams(hash.slice(1));
  const known = (/** @type {string | null} */ agent) => (agent !== null && session.agent === null && session.agents.includes(agent) ? agent : null);
  const agent = session.agent ?? known(given.get("agent")) ?? session.agents[0] ?? "";
  const view = VIEWS.find((one) => one.name === given.get("view"))?.name ?? VIEWS[0].name;
  const path = given.get("file");
  const place = path ? { path, agent: known(given.get("of")) ?? agent, found: linesOf(given.get("lines")) } : null;
  return { agent, view, place };
}

/** @param {string | null} lines as `3-9` */
function linesOf(lines) {
  const [, start, end] = /^([1-9]\d{0,8})-([1-9]\d{0,8})$/.exec(lines ?? "") ?? [];
  return start && Number(start) <= Number(end) ? { start: Number(start), end: Number(end) } : null;
}

/**
 * Return the address of a view with what else is shown.
 * @param {string} [view]
 */
export function addressOf(view = state.view) {
  const { session, agent, reader } = state;
  const parts = [`view=${view}`];
  if (session.agent === null) parts.unshift(`agent=${encoded(agent)}`);
  if (reader) {
    parts.push(`file=${encoded(reader.path)}`);
    if (reader.agent !== agent) parts.push(`of=${encoded(reader.agent)}`);
    if (reader.found) parts.push(`lines=${reader.found.start}-${reader.found.end}`);
  }
  return `#${parts.join("&")}`;
}

/** @param {string} value */
function encoded(value) {
  return encodeURIComponent(value).replaceAll("%2F", "/");
}

/** Put what is shown into the address, as a new entry of the browser's history. */
export function pushAddress() {
  const address = addressOf();
  if (address !== location.hash) history.pushState(null, "", address);
}

/** Put what is shown into the address in place of what was asked for. */
export function correctAddress() {
  const address = addressOf();
  if (address !== location.hash) history.replaceState(null, "", address);
}
