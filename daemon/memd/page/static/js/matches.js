/** The other places in an opened file or conversation that match the query it was found with. */

import { ask } from "./api.js";
import { evidenceOf } from "./evidence.js";
import { changed, state } from "./state.js";

/** Matches of one file that are gone through at most. */
const MOST = 100;

/**
 * Load the places in the open file that match, in the order of the file.
 * @param {import("./kinds.js").Reader} reader
 * @param {string} query
 */
export async function loadMatches(reader, query) {
  if (!query || !reader.found) return;
  try {
    const reply = await ask("search", { agent: reader.agent, query, path: reader.path, max_results: MOST });
    if (state.reader !== reader) return;
    /** @type {import("./kinds.js").Hit[]} */
    const hits = reply.hits.filter((/** @type {import("./kinds.js").Hit} */ hit) => hit.path === reader.path);
    hits.sort((one, other) => one.start_line - other.start_line);
    const { start, end } = reader.found;
    const at = hits.findIndex((hit) => hit.start_line <= end && hit.end_line >= start);
    if (at >= 0 && hits.length > 1) reader.matches = { query, hits, at };
  } catch {
    return; // the hit itself is shown, only without the way to the others
  }
  changed();
}

/**
 * Make another match the one that is shown; return whether there is one.
 * @param {import("./kinds.js").Reader} reader
 * @param {number} by
 */
export function chooseMatch(reader, by) {
  const { matches } = reader;
  if (!matches) return false;
  matches.at = (matches.at + by + matches.hits.length) % matches.hits.length;
  const hit = matches.hits[matches.at];
  reader.found = { start: hit.start_line, end: hit.end_line };
  reader.evidence = evidenceOf(hit);
  return true;
}
