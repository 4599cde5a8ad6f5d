/** The frame around the views: the agent, the navigation, the state of memory and the last message. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { addressOf, VIEWS } from "../address.js";
import { showCommand } from "../api.js";
import { countOf } from "../conversations.js";
import { count } from "../format.js";
import { agentStatus } from "../health.js";
import { chooseAgent, showHelp } from "../places.js";
import { connection, copy, state } from "../state.js";
import { plain, seen } from "../text.js";
import { isDark, toggleTheme } from "../theme.js";
import { verdictOn } from "../verdict.js";
import { conversationsView } from "./conversations.js";
import { factsView } from "./facts.js";
import { healthView } from "./health.js";
import { helpView } from "./help.js";
import { notesView } from "./notes.js";
import { readerView } from "./reader.js";
import { searchView } from "./search.js";
import { usageView } from "./usage.js";

const DRAWN = {
  notes: notesView,
  conversations: conversationsView,
  search: searchView,
  facts: factsView,
  health: healthView,
  usage: usageView,
};

const ICONS = {
  notes: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" aria-hidden="true"><path d="M5 3v14M5 5.5h10M5 10h8M5 14.5h10"></path></svg>`,
  conversations: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" aria-hidden="true"><path d="M3 4h14v9.5H9L5.5 17v-3.5H3z"></path></svg>`,
  search: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" aria-hidden="true"><circle cx="9" cy="9" r="5.5"></circle><path d="m13.2 13.2 3.8 3.8"></path></svg>`,
  facts: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" aria-hidden="true"><path d="M5.5 3h9v14L10 13.4 5.5 17z"></path></svg>`,
  health: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M2.5 10h3.6l2-5 3.8 10 2-5h3.6"></path></svg>`,
  usage: html`<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" aria-hidden="true"><path d="M4 17v-5M10 17V4M16 17V9"></path></svg>`,
};

export function frameView() {
  const draw = DRAWN[/** @type {keyof typeof DRAWN} */ (state.view)] ?? notesView;
  return html`<a class="skip" href="#main" @click=${toMain}>To the content</a>
    <div class="frame ${state.reader ? "reading" : ""}">
      ${side()}
      <main class="main" id="main" tabindex="-1">${connectionNotice()}${draw()}</main>
      ${state.reader ? readerView(state.reader) : ""}
    </div>
    <div role="status" aria-live="polite">${state.toast
      ? html`<div class="toast appears ${state.toast.tone}"><span>${state.toast.text}</span></div>` : ""}</div>
    ${helpView()}`;
}

/** @param {Event} event */
function toMain(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function side() {
  return html`<header class="side">
    <div class="brand"><img src="/static/icon.svg" alt=""><span>memd</span></div>
    ${who()}
    <nav class="tabs" aria-label="Views">${VIEWS.map(({ name, label }, place) => html`<a href=${addressOf(name)} data-view=${name} aria-keyshortcuts=${place + 1} aria-current=${state.view === name ? "page" : "false"}>
      ${ICONS[/** @type {keyof typeof ICONS} */ (name)]}${label}${counts(name)}</a>`)}</nav>
    ${foot()}
  </header>`;
}

function who() {
  const { session, agent } = state;
  if (session.agent !== null || session.agents.length < 2) return html`<div class="who"><span class="quiet small">Agent</span><p class="fixed">${seen(agent)}</p></div>`;
  return html`<div class="who"><label class="quiet small" for="agent">Agent</label>
    <select id="agent" .value=${live(agent)} @change=${(/** @type {any} */ event) => chooseAgent(event.target.value)}>
      ${session.agents.map((one) => html`<option value=${one} ?selected=${one === agent}>${plain(one)}</option>`)}</select></div>`;
}

/** @param {string} name */
function counts(name) {
  const { notes, facts } = state;
  if (name === "notes" && notes.loaded) return html`<span class="count">${count(notes.total)}</span>`;
  if (name === "conversations" && state.groups.has(state.agent)) return html`<span class="count">${count(countOf(state.agent))}</span>`;
  if (name === "facts" && facts.loaded) return html`<span class="count">${count(facts.total)}</span>`;
  return "";
}

function foot() {
  const verdict = verdictOn(agentStatus(), state.statusError);
  return html`<div class="foot">
    <a class="freshness" href=${addressOf("health")}><span class="dot ${verdict.tone}"></span><b>${verdict.title}</b><span class="small detail">${seen(verdict.detail)}</span></a>
    <div class="tools">
      <button class="button plain icon" aria-label=${isDark() ? "Light colours" : "Dark colours"} title=${isDark() ? "Light colours (t)" : "Dark colours (t)"} data-theme-toggle @click=${toggleTheme}>${isDark() ? "☀" : "☾"}</button>
      <button class="button plain icon" aria-label="Keys and help" title="Keys (?)" @click=${showHelp}>?</button>
    </div>
  </div>`;
}

function connectionNotice() {
  const now = connection();
  if (now === "closed") return lost("This page's session has ended.", "Showing the last data. To open a new page, run in a terminal:", true);
  if (now === "waiting") {
    return lost("Daemon not responding.", "Showing the last data. The page tries again every 2 seconds. If the daemon was stopped or restarted, its pages have ended; run in a terminal:", false);
  }
  return "";
}

/**
 * @param {string} title
 * @param {string} text
 * @param {boolean} bad
 */
function lost(title, text, bad) {
  const command = showCommand(state.session.agent);
  return html`<div class="notice ${bad ? "bad" : ""}" role="alert" id="lost">
    <p><strong>${title}</strong> ${text}</p>
    <p class="command"><code>${command}</code><button class="button" @click=${() => copy(command)}>Copy</button></p>
  </div>`;
}
