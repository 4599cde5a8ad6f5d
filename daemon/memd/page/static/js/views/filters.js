/** The choices of a source, a project, a time and an origin, as drawn over a list. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { CONVERSATIONS, NOTES, ORIGINS, SPANS, monthsSince } from "../filters.js";
import { count, monthName } from "../format.js";
import { distinct } from "../sources.js";
import { plain } from "../text.js";

/** @typedef {import("../kinds.js").Filter} Filter */
/** @typedef {[value: string, label: string]} Choice */

/**
 * Draw the choices.
 * @param {Filter} filter what is chosen
 * @param {Choice[]} sources
 * @param {import("../kinds.js").Groups} groups
 * @param {(choice: Partial<Filter>) => void} choose
 * @param {boolean} [withOrigins] whether lines are filtered, and not whole conversations
 */
export function filterBar(filter, sources, groups, choose, withOrigins = false) {
  const projects = distinct(groups.projects.map(({ name, title, conversations }) => ({ name, title: plain(title), conversations })));
  return html`<div class="filters" role="group" aria-label="Filters">
    ${select("Source", filter.source, [["", "All sources"], ...sources], (source) => choose({ source }))}
    ${projects.length > 0 ? select("Project", filter.project, [["", "All projects"],
      ...projects.map(({ name, title, conversations }) => /** @type {Choice} */ ([name, `${title} · ${count(conversations)}`]))], (project) => choose({ project })) : ""}
    ${select("Time", filter.time, [["", "Any time"], ...SPANS, ...monthsSince(groups.oldest_ms).map((month) => /** @type {Choice} */ ([month, monthName(month)]))],
      (time) => choose({ time }))}
    ${withOrigins ? select("Origin", filter.origin, [["", "Anyone's words"], ...ORIGINS], (origin) => choose({ origin })) : ""}
  </div>`;
}

/**
 * Return the choices of what is searched: notes, conversations, and each source.
 * @param {import("../sources.js").Searched[]} sources
 * @returns {Choice[]}
 */
export function searchChoices(sources) {
  const isTalk = (/** @type {import("../sources.js").Searched} */ source) => source.kind === "transcripts";
  /** @type {Choice[]} */
  const kinds = sources.some(isTalk) ? [[NOTES, "Notes"], [CONVERSATIONS, "Conversations"]] : [];
  const named = sources.length > 1 || !sources.every(isTalk) ? sources : [];
  return [...kinds, ...named.map((source) => /** @type {Choice} */ ([source.name, plain(source.title) + (isTalk(source) ? "" : " (notes)")]))];
}

/**
 * @param {string} label
 * @param {string} value
 * @param {Choice[]} choices
 * @param {(value: string) => void} choose
 */
function select(label, value, choices, choose) {
  if (choices.length < 2) return "";
  return html`<select class="filter ${value ? "chosen" : ""}" aria-label=${label} data-filter=${label.toLowerCase()} .value=${live(value)}
    @change=${(/** @type {any} */ event) => choose(event.target.value)}>
    ${choices.map(([name, text]) => html`<option value=${name} ?selected=${name === value}>${text}</option>`)}
  </select>`;
}
