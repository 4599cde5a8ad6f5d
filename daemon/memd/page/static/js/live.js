/** What changes while one looks: the daemon's events, and what each of them makes old. */

import { loadConversations } from "./conversations.js";
import { loadFacts } from "./facts.js";
import { loadMetrics, loadStatus } from "./health.js";
import { loadNotes } from "./notes.js";
import { loadAll } from "./places.js";
import { refreshReader } from "./reader.js";
import { isOfAll, search } from "./search.js";
import { changed, connection, state } from "./state.js";

/** Events come in bursts: so long is waited for more before anything is loaded. */
const GATHER_MS = 200;
/** While the daemon can't be reached it is asked this often. */
const RETRY_MS = 2000;
/** Ages and what is pending are counted by the daemon when asked, so it is asked now and then. */
const LOOK_MS = 15_000;

/** What is old after an event of a kind; every kind changes the status. */
const OLD = new Map([
  ["sync", ["notes", "conversations", "search", "facts", "reader"]],
  ["note", ["notes", "search", "reader"]],
  ["fact", ["facts", "notes", "reader"]],
  ["provider", ["search"]],
  ["recovered", ["search"]],
  ["degraded", []],
  ["flush", []],
]);

/** @type {Set<string>} */
const old = new Set();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

/** Listen, and load what is asked for now and then. */
export function startListening() {
  const source = new EventSource("/api/events");
  let lost = false;
  source.addEventListener("open", () => {
    if (lost) {
      void loadAll();
      refreshReader();
    }
    lost = false;
    state.live = "open";
    changed();
  });
  source.addEventListener("error", () => {
    lost = true;
    state.live = source.readyState === EventSource.CLOSED ? "closed" : "waiting";
    changed();
  });
  for (const kind of OLD.keys()) {
    source.addEventListener(kind, (event) => take(kind, JSON.parse(/** @type {MessageEvent} */ (event).data)));
  }
  setInterval(() => {
    if (!document.hidden && connection() === "open") void loadStatus();
  }, LOOK_MS);
  setInterval(() => void retry(), RETRY_MS);
}

/** Ask a daemon that could not be reached, and load everything once it answers. */
async function retry() {
  if (connection() !== "waiting") return;
  await loadStatus();
  if (connection() !== "open") return;
  void loadAll();
  refreshReader();
}

/**
 * @param {string} kind
 * @param {{agent?: string}} event
 */
function take(kind, event) {
  const isShown = !event.agent || event.agent === state.agent;
  for (const what of OLD.get(kind) ?? []) {
    if (isShown || (what === "search" && isOfAll()) || (what === "reader" && event.agent === state.reader?.agent)) old.add(what);
  }
  clearTimeout(waiting);
  waiting = setTimeout(renew, GATHER_MS);
}

/** Load what is old. The views keep their places: rows keep their elements, and new ones come in between. */
function renew() {
  const due = new Set(old);
  old.clear();
  void loadStatus();
  if (due.has("notes")) void loadNotes();
  if (due.has("conversations")) void loadConversations();
  if (due.has("facts")) void loadFacts();
  if (due.has("reader")) refreshReader();
  if (due.has("search") && state.search.reply) void search();
  if (state.view === "health") void loadMetrics();
}
