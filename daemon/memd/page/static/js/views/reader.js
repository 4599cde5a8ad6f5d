/** The reader next to the view: a file's lines, or a conversation's messages, with the hit marked. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { isConversation } from "../conversation.js";
import { counted } from "../format.js";
import { linesToMark } from "../fold.js";
import { chooseReading, closeReader, earlier, goToMatch, isRendered, later, shownCount } from "../reader.js";
import { state } from "../state.js";
import { seen } from "../text.js";
import { about, bubbles, resume, titleOf } from "./conversation.js";
import { inlineText, rendered } from "./markdown.js";
import { failure, numbered, pathOf } from "./shared.js";

/** @param {import("../kinds.js").Reader} reader */
export function readerView(reader) {
  const last = reader.from + shownCount(reader) - 1;
  const isTalk = isConversation(reader.path);
  return html`<aside class="reader appears" aria-label=${isTalk ? "Conversation" : "File"} id="reader">
    <header>
      <div>${isTalk ? talkHead(reader, last) : fileHead(reader, last)}${matches(reader)}</div>
      ${isTalk ? "" : modes(reader)}
      <button class="button icon" aria-label=${isTalk ? "Close the conversation (Esc)" : "Close the file (Esc)"} title="Close (Esc)" @click=${closeReader}>✕</button>
    </header>
    <div class="body" id="reader-lines" tabindex="0" aria-label=${isTalk ? "The messages" : "The file's text"}>
      ${reader.error ? html`<div class="lines">${failure(reader.error)}</div>` : ""}
      ${reader.from > 1 && reader.total > 0 ? html`<button class="button more" @click=${earlier}>Show what is above</button>` : ""}
      ${text(reader)}
      ${last < reader.total ? html`<button class="button more" @click=${later}>Show what is below</button>` : ""}
    </div>
  </aside>`;
}

/**
 * @param {import("../kinds.js").Reader} reader
 * @param {number} last
 */
function fileHead(reader, last) {
  return html`<h2>${reader.title ? html`<bdi>${seen(reader.title)}</bdi>` : pathOf(reader.path)}</h2>
    <p class="quiet small">${whose(reader)}${reader.title ? html`${pathOf(reader.path)} · ` : ""}${caption(reader, last)}</p>`;
}

/**
 * @param {import("../kinds.js").Reader} reader
 * @param {number} last
 */
function talkHead(reader, last) {
  const session = reader.talk?.session;
  return html`<h2 title=${reader.path}><bdi>${inlineText(titleOf(reader.source, session), null)}</bdi></h2>
    <p class="quiet small meta">${whose(reader)}${about(reader.source, session)}<span>${caption(reader, last, "message")}</span></p>
    ${session ? resume(session) : ""}`;
}

/** @param {import("../kinds.js").Reader} reader */
function whose(reader) {
  return reader.agent === state.agent ? "" : html`<span class="chip">${seen(reader.agent)}</span> `;
}

/**
 * Draw the way through all matches of the query in this file.
 * @param {import("../kinds.js").Reader} reader
 */
function matches({ matches }) {
  if (!matches) return "";
  return html`<p class="matches small" role="group" aria-label="Matches of the search">
    <button class="button icon" aria-label="Previous match (p)" title="Previous match (p)" @click=${() => goToMatch(-1)}>↑</button>
    <button class="button icon" aria-label="Next match (n)" title="Next match (n)" @click=${() => goToMatch(1)}>↓</button>
    <span class="number" role="status">match ${matches.at + 1} of ${matches.hits.length} for “${seen(matches.query)}”</span></p>`;
}

/** @param {import("../kinds.js").Reader} reader */
function text(reader) {
  const { lines, from, evidence, found, talk } = reader;
  if (isConversation(reader.path)) return talk ? bubbles(reader, talk.messages) : "";
  const numbers = lines.map((line, place) => ({ number: from + place, text: line }));
  const marked = linesToMark(found ? numbers.filter(({ number }) => number >= found.start && number <= found.end) : [], evidence);
  return isRendered(reader) ? rendered(lines, from, evidence, marked) : numbered(lines, from, evidence, marked);
}

/** @param {import("../kinds.js").Reader} reader */
function modes(reader) {
  const isMarkdown = isRendered(reader);
  return html`<div class="choices" role="group" aria-label="How the file is shown" title="r">
    <button type="button" aria-pressed=${isMarkdown} @click=${() => chooseReading("rendered")}>Rendered</button>
    <button type="button" aria-pressed=${!isMarkdown} @click=${() => chooseReading("source")}>Source</button>
  </div>`;
}

/**
 * @param {import("../kinds.js").Reader} reader
 * @param {number} last
 * @param {string} [unit]
 */
function caption(reader, last, unit = "line") {
  if (reader.loading) return "reading…";
  if (shownCount(reader) === 0) return "";
  if (reader.from === 1 && last >= reader.total) return counted(reader.total, unit);
  return `${unit}s ${reader.from} to ${last} of ${reader.total}`;
}
