/** Pieces that several views draw. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { shownRows } from "../fold.js";
import { seen, seenLine } from "../text.js";

/** @typedef {((text: string) => [number, number][]) | null} Evidence */

/** What makes a line a heading; a snippet shows it without. */
const HEADING_MARK = /^ {0,3}#{1,6}\s+/;

/** @type {Set<number>} */
const NONE = new Set();

/**
 * Draw lines of a note, each with its number.
 * @param {string[]} lines
 * @param {number} from the first line's number
 * @param {Evidence} evidence
 * @param {Set<number>} [found] numbers of lines to point out
 */
export function numbered(lines, from, evidence, found = NONE) {
  return html`<div class="lines">${lines.map((line, place) => row(line, from + place, evidence, found, { isHeading: HEADING_MARK.test(line), isDimmed: false }))}</div>`;
}

/**
 * Draw paragraphs of a note, each with the number of its first line: those with evidence, and a few around them.
 * @param {{place: number, text: string}[]} paragraphs
 * @param {number} from the first line's number
 * @param {Evidence} evidence
 * @param {boolean} isWhole whether all paragraphs are drawn
 */
export function flowing(paragraphs, from, evidence, isWhole) {
  const has = paragraphs.map(({ text }) => evidence !== null && evidence(text).length > 0);
  const isDimmed = has.some(Boolean);
  const places = isWhole ? [...paragraphs.keys()] : shownRows(has);
  return html`<div class="lines flowing">${places.map((at) => {
    const { place, text } = paragraphs[at];
    const shown = text.replace(HEADING_MARK, "");
    return row(shown, from + place, evidence, NONE, { isHeading: shown !== text, isDimmed: isDimmed && !has[at] });
  })}</div>`;
}

/**
 * @param {string} line
 * @param {number} no its number
 * @param {Evidence} evidence
 * @param {Set<number>} found
 * @param {{isHeading: boolean, isDimmed: boolean}} kind
 */
function row(line, no, evidence, found, { isHeading, isDimmed }) {
  const kinds = `line${isHeading ? " heading" : ""}${found.has(no) ? " found" : ""}${isDimmed ? " dim" : ""}`;
  return html`<div class=${kinds} data-line=${no}><span class="no">${no}</span><span class="said" dir="auto">${seenLine(line, evidence)}</span></div>`;
}

/**
 * Draw a text on its own, isolated from the surrounding text.
 * @param {string} text
 * @param {string} [kind] a class
 */
export function isolated(text, kind = "") {
  return html`<bdi class="plain-text ${kind}" dir="auto">${seen(text)}</bdi>`;
}

/**
 * Return why a file is left out, with its name, which most reasons hold already.
 * @param {{path: string, reason: string}} one
 */
export function whyLeftOut({ path, reason }) {
  return reason.includes(path) ? reason : `${path}: ${reason}`;
}

/**
 * Draw a path.
 * @param {string} path
 */
export function pathOf(path) {
  return html`<bdi class="path">${seen(path)}</bdi>`;
}

/**
 * Draw a problem and its hint.
 * @param {{title: string, text: string, hint: string, bad: boolean}} trouble
 */
export function notice({ title, text, hint, bad }) {
  return html`<div class="notice ${bad ? "bad" : ""}" role="status">
    <p><strong>${seen(title.replaceAll("_", " "))}</strong> ${seen(text)}</p>
    ${hint ? html`<p class="small">${seen(hint)}</p>` : ""}
  </div>`;
}

/**
 * Draw a failed request.
 * @param {import("../kinds.js").RequestFailure} error
 */
export function failure(error) {
  return notice({ title: error.code, text: error.message, hint: error.hint, bad: true });
}

/**
 * Draw the placeholder of an empty view, with a hint.
 * @param {string} title
 * @param {unknown} text
 */
export function empty(title, text) {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p></div>`;
}
