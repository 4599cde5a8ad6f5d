/** Keyboard control: j and k move the focus, the other keys act on the focused element. */

import { VIEWS } from "./address.js";
import { typeTitle } from "./conversations.js";
import { askToForget, edit, keep, stopEditing } from "./facts.js";
import { goTo, showHelp } from "./places.js";
import { chooseReading, closeReader, goToMatch, isRendered } from "./reader.js";
import { search, toggleExplain } from "./search.js";
import { focusDrawn, state } from "./state.js";
import { toggleTheme } from "./theme.js";

/** Begin to listen to the keyboard. */
export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (/** @type {HTMLDialogElement | null} */ (document.getElementById("help"))?.open) return;
    if (event.key === "Escape") {
      leave();
      return;
    }
    if (isWriting()) {
      if (event.key === "ArrowDown" && isQuery()) act(event, () => step(1));
      return;
    }
    const action = ACTIONS.get(event.key) ?? viewKey(event.key);
    if (action) act(event, action);
  });
}

/** @type {Map<string, () => void>} */
const ACTIONS = new Map([
  ["/", toQuery],
  ["?", showHelp],
  ["t", toggleTheme],
  ["j", () => step(1)],
  ["k", () => step(-1)],
  ["e", editOrExplain],
  ["f", forgetFocused],
  ["r", changeReading],
  ["n", () => void goToMatch(1)],
  ["p", () => void goToMatch(-1)],
  ["Enter", openFocused],
]);

/**
 * @param {KeyboardEvent} event
 * @param {() => void} action
 */
function act(event, action) {
  const isButton = document.activeElement?.closest("button, a, select") !== null;
  if (event.key === "Enter" && isButton) return;
  event.preventDefault();
  action();
}

/** @param {string} key */
function viewKey(key) {
  const view = VIEWS[Number(key) - 1];
  return view ? () => goTo(view.name) : null;
}

function isWriting() {
  return document.activeElement?.matches("input, textarea, select") ?? false;
}

/** Say whether the focus is where one says what to look for, above the items of a view. */
function isQuery() {
  return document.activeElement?.matches("#query, #title") ?? false;
}

/**
 * Move the focus among the items of the view; from elsewhere to the first.
 * @param {number} by
 */
function step(by) {
  const items = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-item]")]);
  const here = document.activeElement?.closest("article")?.querySelector("[data-item]") ?? document.activeElement?.closest("[data-item]");
  const place = items.indexOf(/** @type {HTMLElement} */ (here));
  const next = place < 0 ? items[0] : items[Math.max(0, Math.min(items.length - 1, place + by))];
  next?.focus({ preventScroll: true });
  next?.closest("article")?.scrollIntoView({ block: "nearest" });
}

function focusedFact() {
  return /** @type {HTMLElement | null} */ (document.activeElement?.closest("[data-fact]"))?.dataset.fact;
}

function editOrExplain() {
  const fact = focusedFact();
  if (fact) {
    edit(fact);
    return;
  }
  const hit = /** @type {HTMLElement | null} */ (document.activeElement?.closest("[data-hit]"))?.dataset.hit;
  if (hit) toggleExplain(hit);
}

function forgetFocused() {
  const fact = focusedFact();
  if (fact) askToForget(fact);
}

function changeReading() {
  const { reader } = state;
  if (reader) chooseReading(isRendered(reader) ? "source" : "rendered");
}

function openFocused() {
  /** @type {HTMLElement | null} */ (document.activeElement?.closest("[data-fact]")?.querySelector(".acts button"))?.click();
}

/** Go to the question, on whatever view one is. */
function toQuery() {
  goTo("search");
  focusDrawn("#query");
}

/** Leave the innermost of what is open. */
function leave() {
  if (state.facts.editing) stopEditing();
  else if (state.facts.forgetting) keep();
  else if (state.reader) closeReader();
  else if (document.activeElement?.id === "title" && state.conversations.title) typeTitle("");
  else if (document.activeElement?.id === "query" && state.search.query) {
    state.search.query = "";
    void search();
  } else /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
}
