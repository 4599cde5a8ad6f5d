/** One hit: its day and title, its lines with evidence, and the explanation of its rank. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { bars, meter } from "../charts.js";
import { isConversation } from "../conversation.js";
import { evidenceOf } from "../evidence.js";
import { shownRows } from "../fold.js";
import { counted, dayName, lineRange } from "../format.js";
import { partsOf } from "../hit-parts.js";
import { joinParagraphs } from "../markdown.js";
import { openPlace } from "../reader.js";
import { keyOf, toggleExplain, toggleLines } from "../search.js";
import { state } from "../state.js";
import { seen } from "../text.js";
import { about, excerpt, saidLines, titleOf } from "./conversation.js";
import { inlineText } from "./markdown.js";
import { flowing, pathOf } from "./shared.js";

const STEPS = new Map([
  ["fused", "keywords and vectors"], ["neighbours", "neighbouring chunk"], ["days", "day in the query"],
  ["decay", "age"], ["annotations", "importance or project"], ["exact", "exact match"],
]);

/** Reasons that the words, the first step and the later steps of an explanation show already. */
const SHOWN_ELSEWHERE = /^(?:contains |fused score )/;
const STEP = /^[\d.-]+ to ([\d.-]+): (.+)$/;

const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;

/** @typedef {import("./shared.js").Evidence} Evidence */

/** @param {import("../kinds.js").Hit} found */
export function hit(found) {
  const key = keyOf(found);
  const explained = state.search.open.has(key);
  const evidence = evidenceOf(found);
  const isTalk = isConversation(found.path);
  const item = `hit:${key}`;
  const open = () => openPlace(found, evidence, item);
  const { title, rows } = isTalk ? { title: "", rows: [] } : noteParts(found);
  return html`<article class="card hit" data-hit=${key}>
    <div class="top">
      <h3><button class="open" data-item=${item} @click=${open}>${isTalk
        ? html`<bdi>${inlineText(titleOf(found.source, found.session), null)}</bdi>`
        : html`<span class="day-of-hit">${dayName(found.date).full || found.date}</span> <bdi>${inlineText(title, evidence)}</bdi>`}</button></h3>
      <span class="score number" title="relevance and score, 0 to 1">
        ${found.relevance === "weak" ? html`<span class="chip weak" title="hardly related to the query">weak</span>` : ""}${meter(found.score)}${found.score.toFixed(2)}</span>
    </div>
    <p class="meta">${found.agent ? html`<span class="chip agent">${seen(found.agent)}</span>` : ""}
      ${isTalk ? about(found.source, found.session) : html`<span>${pathOf(found.path)} <span class="within">${lineRange(found)}</span></span>`}</p>
    ${found.superseded_by ? html`<div class="below">${superseded(found.superseded_by, found.agent)}</div>` : ""}
    <div class="evidence" @click=${() => { if (getSelection()?.isCollapsed) open(); }}>${isTalk ? said(found, key, evidence) : written(found, rows, key, evidence)}</div>
    <div class="below">
      ${found.currency ? html`<span class="chip ${found.currency.verdict === "holds" ? "good" : "warn"}" data-currency>${seen(partsOf(found).currency)}</span>` : ""}
      ${partsOf(found).origin ? html`<span class="chip ${found.origin === "outside" ? "warn" : ""}" data-origin>${seen(partsOf(found).origin)}</span>` : ""}
      ${found.copies > 1 ? html`<span class="chip">in ${found.copies} places</span>` : ""}
      <button class="button plain" data-why aria-expanded=${explained} @click=${() => toggleExplain(key)}>${explained ? "Hide why" : "Why this?"}</button>
      ${explained ? "" : html`<span class="because">${seen(found.explain?.reasons[0] ?? "")}</span>`}
    </div>
    ${explained && found.explain ? why(found.explain) : ""}
  </article>`;
}

/**
 * Return the title of a hit in a note, which is the headings above it or its own first line, and its paragraphs.
 * @param {import("../kinds.js").Hit} found
 */
function noteParts(found) {
  const { heading, excerpt: text } = partsOf(found);
  const rows = joinParagraphs(text.split("\n"));
  const [, own] = HEADING.exec(rows[0]?.text ?? "") ?? [];
  if (!own) return { title: heading.replaceAll(" > ", " › "), rows };
  return { title: [...(heading ? [heading.replaceAll(" > ", " › ")] : []), own].join(" › "), rows: rows.length > 1 ? rows.slice(1) : rows };
}

/**
 * @param {import("../kinds.js").Hit} found
 * @param {{place: number, text: string}[]} rows
 * @param {string} key
 * @param {Evidence} evidence
 */
function written(found, rows, key, evidence) {
  const isWhole = state.search.unfolded.has(key);
  return html`${flowing(rows, found.start_line, evidence, isWhole)}${fold(rows.map(({ text }) => text), key, evidence, isWhole)}`;
}

/**
 * @param {import("../kinds.js").Hit} found
 * @param {string} key
 * @param {Evidence} evidence
 */
function said(found, key, evidence) {
  const isWhole = state.search.unfolded.has(key);
  const lines = saidLines(partsOf(found).excerpt.split("\n"));
  return html`${excerpt(lines, evidence, isWhole)}${fold(lines.map(({ text }) => text), key, evidence, isWhole)}`;
}

/**
 * Draw the button that shows the lines which are folded.
 * @param {string[]} lines
 * @param {string} key
 * @param {Evidence} evidence
 * @param {boolean} isWhole
 */
function fold(lines, key, evidence, isWhole) {
  const hidden = lines.length - shownRows(lines.map((text) => evidence !== null && evidence(text).length > 0)).length;
  if (hidden === 0) return "";
  const toggle = (/** @type {Event} */ event) => {
    event.stopPropagation();
    toggleLines(key);
  };
  return html`<button class="button plain fold" aria-expanded=${isWhole} data-fold @click=${toggle}>${isWhole ? "Show fewer lines" : `Show ${counted(hidden, "more line")}`}</button>`;
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

/** @param {import("../kinds.js").Explain} explain */
function why({ reasons, words, steps }) {
  const others = reasons.filter((reason) => !SHOWN_ELSEWHERE.test(reason) && !STEP.test(reason));
  return html`<div class="explain appears">
    ${words.length > 0 ? html`<div><h3 class="quiet small">Words of the query</h3><div class="words">${words.map(word)}</div></div>` : ""}
    ${others.length > 0 ? html`<ul>${others.map((reason) => html`<li>${seen(reason)}</li>`)}</ul>` : ""}
    <div class="steps"><h3 class="quiet small">Its score, step by step</h3>${bars(stepRows(steps, reasons), 1, (value) => value.toFixed(2))}</div>
  </div>`;
}

/**
 * Return the steps that changed the score, each with its reason.
 * @param {Record<string, number>} steps
 * @param {string[]} reasons
 */
function stepRows(steps, reasons) {
  const why = new Map(reasons.flatMap((reason) => {
    const [, now, text] = STEP.exec(reason) ?? [];
    return now ? [[now, text]] : [];
  }));
  const changes = Object.entries(steps).filter(([, value], place, all) => place === 0 || value !== all[place - 1][1]);
  return changes.map(([name, value], place) => ({
    name: (place > 0 ? why.get(value.toFixed(3)) : undefined) ?? STEPS.get(name) ?? name, value, caption: value.toFixed(3),
  }));
}

/** @param {import("../kinds.js").Explain["words"][number]} asked */
function word(asked) {
  const taken = asked.corrections ? ` → ${asked.corrections.join(", ")}` : "";
  const caption = `${asked.matched ? "here" : "not here"}; in ${counted(asked.chunks, "chunk")} of this memory; weight ${asked.weight.toFixed(1)}`;
  return html`<span class="chip ${asked.matched ? "good" : "missing"}" title=${caption}>${seen(asked.word + taken)}<span class="unseen"> (${caption})</span></span>`;
}
