/** Search: hits with their evidence and the explanation of their rank. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { isFiltered } from "../filters.js";
import { counted, span } from "../format.js";
import { NO_STRONG_MATCH } from "../hit-parts.js";
import { canSearchAll, choose, chooseFilter, keyOf, search, searchedGroups, searchedSources, type } from "../search.js";
import { noFilter, state } from "../state.js";
import { seen } from "../text.js";
import { filterBar, searchChoices } from "./filters.js";
import { hit } from "./hit.js";
import { empty, failure, notice } from "./shared.js";

/** @type {["agent" | "all", string][]} */
const SCOPES = [["agent", "This agent"], ["all", "All agents"]];

/** With fewer hits than this there is hardly more to show. */
const FEW = 3;

export function searchView() {
  const { search: asked } = state;
  return html`<div class="column">
    <form class="ask" role="search" @submit=${(/** @type {Event} */ event) => { event.preventDefault(); void search(); }}>
      <div class="bar">
        <input class="field" id="query" type="search" name="q" autocomplete="off" spellcheck="false" dir="auto" aria-label="Search this agent's memory"
          placeholder="Ask its memory anything" .value=${live(asked.query)} @input=${(/** @type {any} */ event) => type(event.target.value)}
          @focus=${(/** @type {any} */ event) => event.target.select()}>
        <kbd aria-hidden="true">/</kbd>
      </div>
      <div class="row">
        ${canSearchAll() ? html`<div class="choices" role="group" aria-label="Whose memory to search">${SCOPES.map(([name, label]) => html`
          <button type="button" aria-pressed=${asked.scope === name} @click=${() => choose({ scope: name })}>${label}</button>`)}
        </div>` : ""}
        ${filterBar(asked.filter, searchChoices(searchedSources()), searchedGroups(), chooseFilter, true)}
        <span class="quiet small number" role="status">${summary()}</span>
      </div>
    </form>
    ${asked.error ? failure(asked.error) : ""}
    ${asked.reply ? answer(asked.reply) : beginning()}
  </div>`;
}

function summary() {
  const { reply, asking } = state.search;
  if (!reply) return asking ? "Searching…" : "";
  const { hits, modes, took_ms, model } = reply;
  const isBoth = modes.includes("hybrid") || modes.length > 1;
  const how = isBoth ? "by keyword and vector search" : modes[0] === "vector" ? "by vector search" : "by keyword search";
  return `${counted(hits.length, "hit")} ${how} in ${span(took_ms)}${model ? ` · ${model}` : ""}`;
}

function beginning() {
  if (state.search.query.trim() || state.search.error) return "";
  return empty("What does it remember?", "Ask in your own words, or name a file, a ticket, a person. Each hit says why it was found.");
}

/** @param {import("../kinds.js").Found} reply */
function answer(reply) {
  return html`
    ${reply.notices.map(notice)}
    ${reply.pending.files + reply.pending.chunks > 0 ? html`<p class="quiet small lacking">Not in this answer yet: ${missing(reply.pending)}.</p>` : ""}
    ${reply.hits.length === 0 ? nothing(reply) : ""}
    ${reply.hits.length > 0 && reply.hits.every(({ relevance }) => relevance === "weak") ? html`<p class="quiet lacking">${NO_STRONG_MATCH}</p>` : ""}
    <div class="hits">${repeat(reply.hits, keyOf, hit)}</div>
    ${reply.hits.length >= FEW && !state.search.more ? html`<p class="empty"><button class="button" @click=${() => choose({ more: true })}>Show what comes after</button></p>` : ""}`;
}

/** @param {{files: number, chunks: number}} pending */
function missing({ files, chunks }) {
  const parts = [files > 0 ? `${counted(files, "file")} to read` : "", chunks > 0 ? `vectors of ${counted(chunks, "chunk")}` : ""];
  return parts.filter(Boolean).join(" and ");
}

/** @param {import("../kinds.js").Found} reply */
function nothing(reply) {
  const hasNearest = reply.abstained && !state.search.anything && reply.empty.every((one) => one.code === "no_match");
  // The hint of `no_match` names a parameter of the request; the button below does the same.
  const reasons = reply.empty.map((one) => html`<p>${seen(one.message)}</p>${one.hint && !hasNearest ? html`<p class="small">${seen(one.hint)}</p>` : ""}`);
  if (isFiltered(state.search.filter)) {
    return html`<div class="empty"><h2>Nothing found with these filters</h2>${reasons}
      <p class="command"><button class="button main-act" @click=${() => chooseFilter(noFilter())}>Search without filters</button>
        ${hasNearest ? html`<button class="button" @click=${() => choose({ anything: true })}>Show the nearest anyway</button>` : ""}</p></div>`;
  }
  if (!hasNearest) return reasons.length > 0 ? html`<div class="empty"><h2>Nothing found</h2>${reasons}</div>` : empty("Nothing found", "No chunk of this memory matches the query.");
  return html`<div class="empty"><h2>Nothing relevant</h2>
    ${reasons.length > 0 ? reasons : html`<p>Nothing in this memory answers that, so nothing is made up. Say it in other words, or look at what is nearest.</p>`}
    <button class="button" @click=${() => choose({ anything: true })}>Show the nearest anyway</button></div>`;
}
