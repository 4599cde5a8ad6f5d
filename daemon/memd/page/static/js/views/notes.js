/** The timeline: what an agent wrote down, by day. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { columns } from "../charts.js";
import { ago, count, counted, dayName, dayOf, shortDay, size, weekOf } from "../format.js";
import { moreNotes, notesByDay } from "../notes.js";
import { openNote } from "../reader.js";
import { state } from "../state.js";
import { seen } from "../text.js";
import { empty, failure, isolated, notice, pathOf, whyLeftOut } from "./shared.js";

/** Weeks that the chart above the timeline shows. */
const WEEKS = 26;
/** Characters of a line that an excerpt shows. */
const EXCERPT_WIDTH = 400;
/** Bytes of a note whose first lines fill an excerpt. */
const LARGE = 200;

export function notesView() {
  const { notes } = state;
  return html`<div class="column">
    <div class="head"><h1>Notes</h1>${notes.loaded ? html`<span class="quiet">${counted(notes.total, "file")}</span>` : ""}</div>
    ${notes.error ? failure(notes.error) : ""}
    ${notes.skipped.length > 0 ? leftOut(notes.skipped) : ""}
    ${body(notes)}
  </div>`;
}

/** @param {import("../kinds.js").State["notes"]} notes */
function body(notes) {
  if (!notes.loaded) return html`<p class="quiet">Reading…</p>`;
  if (notes.files.length === 0) {
    return notes.error ? "" : empty("Nothing remembered yet", html`Agents write their notes to <code>memory/</code> in their workspace. Put a Markdown file there,
      or add a folder with <code>memctl sources add</code>, and they appear here.`);
  }
  return html`
    ${notes.files.length > 3 ? weeks(notes.files) : ""}
    ${repeat(notesByDay(), (one) => one.day, (one) => guard(reasons(one.files), () => day(one)))}
    ${notes.files.length < notes.total
      ? html`<button class="button" @click=${moreNotes}>Show older notes (${count(notes.total - notes.files.length)} more)</button>`
      : ""}`;
}

/**
 * Return the key that redraws a day: other files, loaded first lines, another minute.
 * @param {import("../kinds.js").NoteFile[]} files
 */
function reasons(files) {
  return [files, Math.floor(Date.now() / 60_000), ...files.map((file) => state.notes.excerpts.get(file.path))];
}

/** @param {{path: string, reason: string}[]} skipped */
function leftOut(skipped) {
  const names = skipped.slice(0, 3).map(whyLeftOut).join(" ");
  const rest = skipped.length > 3 ? ` And ${skipped.length - 3} more: see Health.` : "";
  return notice({ title: `${counted(skipped.length, "file")} left out, wholly or in part`, text: names + rest, hint: "", bad: false });
}

/** @param {import("../kinds.js").NoteFile[]} files */
function weeks(files) {
  /** @type {Map<string, number>} */
  const byWeek = new Map();
  for (const file of files) {
    const week = weekOf(file.date ?? dayOf(file.mtime_ms));
    byWeek.set(week, (byWeek.get(week) ?? 0) + 1);
  }
  const shown = [...Array(WEEKS).keys()].map((place) => {
    const day = new Date();
    day.setDate(day.getDate() - 7 * (WEEKS - 1 - place));
    const week = weekOf(dayOf(day.getTime()));
    const value = byWeek.get(week) ?? 0;
    return { value, name: `week of ${week}: ${counted(value, "note")}`, label: shortDay(week) };
  });
  const sum = shown.reduce((all, one) => all + one.value, 0);
  if (sum === 0) return "";
  return html`<figure class="weeks">
    ${columns(shown, { caption: `Notes by week: ${sum} in the last ${WEEKS} weeks`, y: "notes", x: "week from" })}
  </figure>`;
}

/** @param {{day: string, files: import("../kinds.js").NoteFile[]}} one */
function day({ day, files }) {
  const { name, full } = dayName(day);
  const undated = files.every((file) => file.date === null);
  return html`<section class="day ${undated ? "undated" : ""}" aria-label=${full || day}>
    <header><h2>${name}</h2><p>${full}</p></header>
    <ul>${repeat(files, (file) => file.path, (file) => html`<li>${note(file)}</li>`)}</ul>
  </section>`;
}

/** @param {import("../kinds.js").NoteFile} file */
function note(file) {
  const excerpt = state.notes.excerpts.get(file.path);
  const item = `note:${file.path}`;
  return html`<article class="card note" data-excerpt=${file.path}>
    <h3><button class="open" data-item=${item} @click=${() => openNote(file, item)}><bdi>${seen(file.title || nameOf(file.path))}</bdi></button></h3>
    <p class="meta">
      ${file.title ? pathOf(file.path) : ""}
      <span>changed ${ago(file.mtime_ms)}</span><span>${size(file.size_bytes)}</span>
      ${file.chunks === 0 ? html`<span class="chip">not indexed yet</span>` : ""}
    </p>
    ${firstLines(file, excerpt)}
  </article>`;
}

/**
 * Draw a note's first lines, or a placeholder of about their size, so that the layout stays when they load.
 * @param {import("../kinds.js").NoteFile} file
 * @param {import("../kinds.js").Excerpt | undefined} excerpt
 */
function firstLines(file, excerpt) {
  if (!excerpt) return html`<div class="placeholder ${file.size_bytes > LARGE ? "large" : ""}"></div>`;
  if (excerpt.lines.length === 0) return "";
  return html`<div class="excerpt ${excerpt.whole ? "whole" : ""}">${excerpt.lines.map(preview)}</div>`;
}

/**
 * Draw a line of an excerpt: headings and lists as such, everything else as text.
 * @param {string} line
 */
function preview(line) {
  const [, heading] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
  if (heading) return html`<h4>${isolated(heading.slice(0, EXCERPT_WIDTH))}</h4>`;
  const [, item] = /^\s*[-*+]\s+(.*)$/.exec(line) ?? [];
  if (item) return html`<p class="item">•&ensp;${isolated(item.slice(0, EXCERPT_WIDTH))}</p>`;
  return html`<p>${isolated(line.slice(0, EXCERPT_WIDTH))}</p>`;
}

/** @param {string} path */
function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
