/** Search: hits with their evidence and the explanation of their rank. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { bars, meter } from "../charts.js";
import { isConversation } from "../conversation.js";
import { evidenceOf } from "../evidence.js";
import { counted, span, lineRange } from "../format.js";
import { NO_STRONG_MATCH, partsOf } from "../hit-parts.js";
import { openPlace } from "../reader.js";
import { canSearchAll, choose, hasTranscripts, keyOf, search, toggleExplain, type } from "../search.js";
import { state } from "../state.js";
import { seen } from "../text.js";
import { about, excerpt, titleOf } from "./conversation.js";
import { inlineText } from "./markdown.js";
import { empty, failure, flowing, notice, pathOf } from "./shared.js";

const SOURCES = [["all", "Everything"], ["memory", "Notes"], ["sessions", "Transcripts"]];
/** @type {["agent" | "all", string][]} */
const SCOPES = [["agent", "This agent"], ["all", "All agents"]];

/** With fewer hits than this there is hardly more to show. */
const FEW = 3;

const STEPS = new Map([
  ["fused", "keywords and vectors"], ["neighbours", "neighbouring chunk"], ["days", "day in the query"],
  ["decay", "age"], ["annotations", "importance or project"], ["exact", "exact match"],
]);

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
          <button type="button" aria-pressed=${asked.scope === name} @click=${() => choose({ scope: name, sources: "all" })}>${label}</button>`)}
        </div>` : ""}
        ${hasTranscripts() ? html`<div class="choices" role="group" aria-label="Sources to search">${SOURCES.map(([name, label]) => html`
          <button type="button" aria-pressed=${asked.sources === name} @click=${() => choose({ sources: name })}>${label}</button>`)}
        </div>` : ""}
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
  if (!hasNearest) return reasons.length > 0 ? html`<div class="empty"><h2>Nothing found</h2>${reasons}</div>` : empty("Nothing found", "No chunk of this memory matches the query.");
  return html`<div class="empty"><h2>Nothing relevant</h2>
    ${reasons.length > 0 ? reasons : html`<p>Nothing in this memory answers that, so nothing is made up. Say it in other words, or look at what is nearest.</p>`}
    <button class="button" @click=${() => choose({ anything: true })}>Show the nearest anyway</button></div>`;
}

/** @param {import("../kinds.js").Hit} found */
function hit(found) {
  const key = keyOf(found);
  const explained = state.search.open.has(key);
  const evidence = evidenceOf(found);
  const isTalk = isConversation(found.path);
  const { date, heading } = partsOf(found);
  const item = `hit:${key}`;
  const open = () => openPlace(found, evidence, item);
  return html`<article class="card hit" data-hit=${key}>
    <div class="top">
      <h3>${found.agent ? html`<span class="chip agent">${seen(found.agent)}</span> ` : ""}<button class="open" data-item=${item} @click=${open}>${isTalk ? html`<bdi>${inlineText(titleOf(found.source, found.session), null)}</bdi>` : html`${pathOf(found.path)}
        <span class="quiet small within">${lineRange(found)}</span>`}</button></h3>
      <span class="score number" title="day, relevance and score, 0 to 1">${date ? html`<span class="quiet small day">${date}</span>` : ""}
        ${found.relevance === "weak" ? html`<span class="chip weak" title="hardly related to the query">weak</span>` : ""}${meter(found.score)}${found.score.toFixed(2)}</span>
    </div>
    ${isTalk ? html`<p class="meta">${about(found.source, found.session)}</p>` : ""}
    ${found.superseded_by ? html`<div class="below">${superseded(found.superseded_by, found.agent)}</div>` : ""}
    ${heading ? html`<p class="quiet small heading"><bdi>${seen(heading)}</bdi></p>` : ""}
    <div class="evidence" @click=${() => { if (getSelection()?.isCollapsed) open(); }}>${text(found, evidence)}</div>
    <div class="below">
      ${found.copies > 1 ? html`<span class="chip">in ${found.copies} places</span>` : ""}
      <button class="button plain" data-why aria-expanded=${explained} @click=${() => toggleExplain(key)}>${explained ? "Hide why" : "Why this?"}</button>
      ${explained ? "" : html`<span class="because">${seen(found.explain?.reasons[0] ?? "")}</span>`}
    </div>
    ${explained && found.explain ? why(found.explain) : ""}
  </article>`;
}

/**
 * @param {import("../kinds.js").Supersession} later
 * @param {string | null | undefined} agent
 */
function superseded(later, agent) {
  const label = html`superseded by ${seen(later.citation)} (${seen(later.date)})`;
  const item = `later:${agent ?? ""}:${later.citation}`;
  const open = () => openPlace({ ...later, agent, source: "memory" }, null, item);
  return html`<button class="chip warn" data-item=${item} @click=${open}>${label}</button>`;
}

/**
 * @param {import("../kinds.js").Hit} found
 * @param {import("./shared.js").Evidence} evidence
 */
function text(found, evidence) {
  const lines = partsOf(found).excerpt.split("\n");
  return isConversation(found.path) ? excerpt(lines, evidence) : flowing(lines, found.start_line, evidence);
}

/** @param {import("../kinds.js").Explain} explain */
function why(explain) {
  const steps = Object.entries(explain.steps).filter(([, value], place, all) => place === 0 || value !== all[place - 1][1]);
  return html`<div class="explain appears">
    <ol>${explain.reasons.map((reason) => html`<li>${seen(reason)}</li>`)}</ol>
    ${explain.words.length > 0 ? html`<div><h3 class="quiet small">What was asked for</h3><div class="words">${explain.words.map(word)}</div></div>` : ""}
    <dl>
      ${pair("vector similarity (cosine)", explain.cosine?.toFixed(3) ?? "no vector match")}
      ${pair("keyword match (BM25)", explain.bm25?.toFixed(2) ?? "no keyword match")}
    </dl>
    <div class="steps"><h3 class="quiet small">Its score, step by step</h3>
      ${bars(steps.map(([name, value]) => ({ name: STEPS.get(name) ?? name, value, caption: value.toFixed(3) })), 1, (value) => value.toFixed(2))}</div>
  </div>`;
}

/**
 * @param {string} name
 * @param {string} value
 */
function pair(name, value) {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

/** @param {import("../kinds.js").Explain["words"][number]} asked */
function word(asked) {
  const taken = asked.corrections ? ` → ${asked.corrections.join(", ")}` : "";
  const caption = `${asked.matched ? "here" : "not here"}; in ${counted(asked.chunks, "chunk")} of this memory; weight ${asked.weight.toFixed(1)}`;
  return html`<span class="chip ${asked.matched ? "good" : "missing"}" title=${caption}>${seen(asked.word + taken)}<span class="unseen"> (${caption})</span></span>`;
}
