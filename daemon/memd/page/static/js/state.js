/**
 * What the page knows, in one object, and how views hear of a change.
 *
 * Views are functions of this state; nothing else holds any. Nothing of it is kept in the browser.
 */

/** @typedef {import("./kinds.js").State} State */

const NOTHING_LISTED = { rows: [], total: 0, title: "", loaded: false, asking: false, error: null };

/** No filter. @returns {import("./kinds.js").Filter} */
export const noFilter = () => ({ source: "", project: "", time: "", origin: "" });

/** @type {State} */
export const state = {
  session: { agent: null, agents: [], version: "" },
  agent: "",
  view: "notes",
  live: "opening",
  status: null,
  statusError: null,
  metrics: null,
  deep: "",
  notes: { files: [], skipped: [], total: 0, excerpts: new Map(), loaded: false, error: null },
  search: { query: "", scope: "all", filter: noFilter(), anything: false, more: false, reply: null, asking: false, error: null, open: new Set(), unfolded: new Set() },
  conversations: { ...NOTHING_LISTED, filter: noFilter() },
  groups: new Map(),
  sources: null,
  sourcesError: null,
  facts: { rows: [], total: 0, query: "", loaded: false, error: null, editing: null, forgetting: "", busy: false },
  usage: { agent: "", report: null, error: null },
  reader: null,
  reading: "",
  toast: null,
  help: false,
};

/**
 * Return how the page is connected: `waiting` if the daemon can't be reached, `closed` if it no longer knows the page.
 * @returns {State["live"]}
 */
export function connection() {
  const code = state.statusError?.code;
  if (state.live === "closed" || code === "page_closed") return "closed";
  return code === "daemon_unreachable" ? "waiting" : state.live;
}

/** @type {() => void} */
let draw = () => {};
let due = false;
/** @type {string[]} */
const toFocus = [];

/**
 * Say who draws the page.
 * @param {() => void} drawer
 */
export function onChange(drawer) {
  draw = drawer;
}

/** Draw soon: once for all that changes in the same turn. */
export function changed() {
  if (due) return;
  due = true;
  queueMicrotask(() => {
    due = false;
    draw();
    const [selector] = toFocus.splice(0).reverse();
    if (selector) /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus();
  });
}

/**
 * Focus what a selector finds once the page is drawn, before the next key comes.
 * @param {string} selector
 */
export function focusDrawn(selector) {
  toFocus.push(selector);
  changed();
}

/** Forget what belongs to one agent, for another one to be shown. */
export function forgetAgent() {
  state.notes = { files: [], skipped: [], total: 0, excerpts: new Map(), loaded: false, error: null };
  state.search = { ...state.search, filter: noFilter(), reply: null, asking: false, error: null, open: new Set(), unfolded: new Set() };
  state.conversations = { ...NOTHING_LISTED, filter: noFilter() };
  state.facts = { rows: [], total: 0, query: "", loaded: false, error: null, editing: null, forgetting: "", busy: false };
  state.status = null;
  state.reader = null;
}

/**
 * Put a text into the clipboard, and say so.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not allow copying. Select the text instead.", "bad");
  }
}

let toastTurn = 0;

/**
 * Say what came of something, for a while.
 * @param {string} text
 * @param {"good" | "bad"} [tone]
 */
export function say(text, tone = "good") {
  toastTurn += 1;
  const turn = toastTurn;
  state.toast = { text, tone };
  changed();
  setTimeout(() => {
    if (turn !== toastTurn) return;
    state.toast = null;
    changed();
  }, tone === "bad" ? 12000 : 6000);
}
