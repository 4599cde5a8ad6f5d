/** Markdown drawn: blocks as elements, and every text in text nodes. Links are text, pictures are named and not loaded. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { inline } from "../inline.js";
import { blocksOf } from "../markdown.js";
import { seen, seenLeft } from "../text.js";

/** @typedef {import("../markdown.js").Block} Block */
/** @typedef {import("../inline.js").Inline} Inline */
/** @typedef {{evidence: ((text: string) => [number, number][]) | null, found: Set<number>}} Marks */

/** @type {Set<number>} */
const NONE = new Set();

/**
 * Say whether a line of a block is pointed out.
 * @param {Block} one
 * @param {Set<number>} found
 */
function isMarked({ start, end }, found) {
  return [...found].some((line) => line >= start && line <= end);
}

/**
 * Draw a text as Markdown.
 * @param {string[]} lines
 * @param {number} from the first line's number
 * @param {Marks["evidence"]} evidence
 * @param {Marks["found"]} found lines to point out
 */
export function rendered(lines, from, evidence, found) {
  return html`<div class="rendered">${drawBlocks(blocksOf(lines, from), { evidence, found })}</div>`;
}

/**
 * Draw a text whose lines were joined: emphasis and code, no blocks.
 * @param {string} text
 * @param {Marks["evidence"]} evidence
 */
export function inlineText(text, evidence) {
  return drawParts(inline(text), { evidence, found: NONE });
}

/**
 * @param {Block[]} blocks
 * @param {Marks} marks
 * @returns {unknown}
 */
function drawBlocks(blocks, marks) {
  return blocks.map((one) => drawBlock(one, marks));
}

/**
 * @param {Block} one
 * @param {Marks} marks
 */
function drawBlock(one, marks) {
  if (one.kind === "list") {
    const items = one.blocks.map((each) => html`<li>${each.done === null ? "" : html`<span class="task">${each.done ? "☑" : "☐"} </span>`}${drawBlocks(each.blocks, marks)}</li>`);
    return one.level > 0 ? html`<ol start=${one.level}>${items}</ol>` : html`<ul>${items}</ul>`;
  }
  if (one.kind === "quote") return html`<blockquote>${drawBlocks(one.blocks, marks)}</blockquote>`;
  const { found } = marks;
  const kind = `${one.kind}${one.kind === "heading" ? one.level : ""}${isMarked(one, found) ? " found" : ""}`;
  if (one.kind === "rule") return html`<hr class=${kind} data-line=${one.start}>`;
  if (one.kind === "heading") {
    return html`<p class="said heading ${kind}" role="heading" aria-level=${Math.min(6, one.level + 2)} dir="auto" data-line=${one.start}>${drawParts(one.parts, marks)}${seenLeft(one.left)}</p>`;
  }
  if (one.kind === "code") {
    return html`<pre class=${kind} data-line=${one.start}>${one.lines.map((line) => html`<span class="said" dir="auto">${seen(line.text, marks.evidence)}${seenLeft(line.left)}
</span>`)}</pre>`;
  }
  if (one.kind === "table") return drawTable(one, kind, marks);
  return html`<p class="said ${kind}" dir="auto" data-line=${one.start}>${drawParts(one.parts, marks)}${seenLeft(one.left)}</p>`;
}

/**
 * @param {Block} one
 * @param {string} kind
 * @param {Marks} marks
 */
function drawTable(one, kind, marks) {
  const [head, ...rows] = one.rows;
  return html`<div class="wide"><table class=${kind} data-line=${one.start}>
    <thead><tr>${head.map((cell) => html`<th class="said" dir="auto">${drawParts(cell, marks)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td class="said" dir="auto">${drawParts(cell, marks)}</td>`)}</tr>`)}</tbody>
  </table>${seenLeft(one.left)}</div>`;
}

/**
 * @param {Inline[]} parts
 * @param {Marks} marks
 * @returns {unknown}
 */
function drawParts(parts, marks) {
  return parts.map((part) => drawPart(part, marks));
}

/**
 * @param {Inline} part
 * @param {Marks} marks
 */
function drawPart(part, marks) {
  const within = () => drawParts(part.parts, marks);
  switch (part.kind) {
    case "break": return html`<br>`;
    case "code": return html`<code>${seen(part.text, marks.evidence)}</code>`;
    case "comment": return html`<span class="comment">${seen(part.text)}</span>`;
    case "strong": return html`<strong>${within()}</strong>`;
    case "emphasis": return html`<em>${within()}</em>`;
    case "deleted": return html`<del>${within()}</del>`;
    case "image": return html`<span class="chip">picture</span> ${within()}${address(part)}`;
    case "link": return html`<span class="link">${within()}</span>${address(part)}`;
    default: return seen(part.text, marks.evidence);
  }
}

/**
 * Draw the target of a link as text, unless its label is the same, so that links in notes can't be clicked.
 * @param {Inline} part
 */
function address(part) {
  const isSaid = part.parts.length === 1 && part.parts[0].text === part.address;
  return isSaid || !part.address ? "" : html` <bdi class="address">${seen(part.address)}</bdi>`;
}
