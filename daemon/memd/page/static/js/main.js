/** The page's beginning: who is shown, then everything there is of them, then what changes. */

import { html, render } from "../vendor/lit-html/lit-html.js";
import { askSession, shown } from "./api.js";
import { moreConversations } from "./conversations.js";
import { startKeys } from "./keys.js";
import { startListening } from "./live.js";
import { sight } from "./notes.js";
import { followAddress } from "./places.js";
import { onChange, state } from "./state.js";
import { startTheme } from "./theme.js";
import { frameView } from "./views/frame.js";
import { failure } from "./views/shared.js";

const page = /** @type {HTMLElement} */ (document.getElementById("app"));

/** First lines are read of notes that are in sight, or nearly. */
const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (target.matches("[data-more]")) {
      if (isIntersecting) moreConversations();
      continue;
    }
    sight(/** @type {HTMLElement} */ (target).dataset.excerpt ?? "", isIntersecting);
    if (!target.isConnected) watched.delete(target);
  }
}, { rootMargin: "400px" });
/** @type {WeakSet<Element>} */
const watched = new WeakSet();

function draw() {
  const reading = document.getElementById("reader") !== null;
  const writing = document.activeElement?.id === "editing";
  render(frameView(), page);
  for (const note of page.querySelectorAll("[data-excerpt], [data-more]")) {
    if (watched.has(note)) continue;
    watched.add(note);
    watcher.observe(note);
  }
  if (writing) document.getElementById("editing")?.focus(); // its row may be another one by now
  if (state.reader && !reading) document.getElementById("reader-lines")?.focus({ preventScroll: true });
}

async function start() {
  startTheme();
  try {
    state.session = await askSession();
  } catch (error) {
    page.replaceChildren();
    render(html`<div class="boot">${failure(shown(error))}</div>`, page);
    return;
  }
  page.replaceChildren();
  onChange(draw);
  followAddress();
  window.addEventListener("hashchange", followAddress);
  startKeys();
  startListening();
}

void start();
