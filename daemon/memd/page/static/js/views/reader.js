/** The reader next to the view: a file's lines, with the hit marked. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { counted } from "../format.js";
import { chooseReading, closeReader, earlier, isRendered, later } from "../reader.js";
import { state } from "../state.js";
import { seen } from "../text.js";
import { rendered } from "./markdown.js";
import { failure, numbered, pathOf } from "./shared.js";

/** @param {import("../kinds.js").Reader} reader */
export function readerView(reader) {
  const last = reader.from + reader.lines.length - 1;
  return html`<aside class="reader appears" aria-label="File" id="reader">
    <header>
      <div><h2>${reader.title ? html`<bdi>${seen(reader.title)}</bdi>` : pathOf(reader.path)}</h2>
        <p class="quiet small">${reader.agent === state.agent ? "" : html`<span class="chip">${seen(reader.agent)}</span> `}${reader.title ? html`${pathOf(reader.path)} · ` : ""}${caption(reader, last)}</p></div>
      ${reader.source === "sessions" ? "" : modes(reader)}
      <button class="button icon" aria-label="Close the file (Esc)" title="Close (Esc)" @click=${closeReader}>✕</button>
    </header>
    <div class="body" id="reader-lines" tabindex="0" aria-label="The file's text">
      ${reader.error ? html`<div class="lines">${failure(reader.error)}</div>` : ""}
      ${reader.from > 1 && reader.total > 0 ? html`<button class="button more" @click=${earlier}>Show what is above</button>` : ""}
      ${text(reader)}
      ${last < reader.total ? html`<button class="button more" @click=${later}>Show what is below</button>` : ""}
    </div>
  </aside>`;
}

/** @param {import("../kinds.js").Reader} reader */
function text(reader) {
  const { lines, from, evidence, found } = reader;
  if (reader.source === "sessions") return numbered(lines, null, evidence);
  return isRendered(reader) ? rendered(lines, from, evidence, found) : numbered(lines, from, evidence, found);
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
 */
function caption(reader, last) {
  if (reader.loading) return "reading…";
  if (reader.source === "sessions") return "part of a transcript: only what was found is shown";
  if (reader.lines.length === 0) return "";
  if (reader.from === 1 && last >= reader.total) return counted(reader.total, "line");
  return `lines ${reader.from} to ${last} of ${reader.total}`;
}
