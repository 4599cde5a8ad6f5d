/** Conversations drawn: what was found in one, and its messages as bubbles. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { clockTime, count, dayName, dayOf } from "../format.js";
import { linesToMark, shownRows } from "../fold.js";
import { showWhole } from "../reader.js";
import { programOf } from "../sources.js";
import { copy } from "../state.js";
import { plain, seen } from "../text.js";
import { inlineText } from "./markdown.js";

const SPEAKERS = new Map([["user", "User"], ["assistant", "Assistant"]]);

/** @typedef {import("./shared.js").Evidence} Evidence */

/** Characters of a message from which it is shown in part, and how many are shown then. */
const LONG = 1600;
const BEGINNING = 1200;
/** Code between fences, whose line ends a message on one line has no more. */
const FENCED = /```([\w+#.-]{0,20} )?(.+?)```/gs;

/**
 * Return the lines of a snippet by their speakers.
 * @param {string[]} lines
 * @returns {{speaker: string, text: string}[]}
 */
export function saidLines(lines) {
  return lines.filter(Boolean).map((line) => {
    const [, speaker = "", text = line] = /^(User|Assistant): (.*)$/s.exec(line) ?? [];
    return { speaker, text };
  });
}

/**
 * Draw what was found in a conversation, one paragraph for each message: those with evidence, and a few around them.
 * @param {{speaker: string, text: string}[]} lines
 * @param {Evidence} evidence
 * @param {boolean} isWhole whether all lines are drawn
 */
export function excerpt(lines, evidence, isWhole) {
  const has = lines.map(({ text }) => evidence !== null && evidence(text).length > 0);
  const isDimmed = has.some(Boolean);
  const places = isWhole ? [...lines.keys()] : shownRows(has);
  return html`<div class="lines talk">${places.map((place) => {
    const { speaker, text } = lines[place];
    return html`<p class="line ${speaker.toLowerCase()}${isDimmed && !has[place] ? " dim" : ""}"><span class="speaker">${speaker}</span> <span class="said" dir="auto">${inlineText(text, evidence)}</span></p>`;
  })}</div>`;
}

/**
 * Return the name of a conversation's project, with its branch.
 * @param {import("../kinds.js").Session | null | undefined} session
 */
export function placeOf(session) {
  const project = session?.project.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return project && session?.branch ? `${project} (${session.branch})` : project;
}

/**
 * Draw what is known of a conversation: program, project, day.
 * @param {string} source
 * @param {import("../kinds.js").Session | null | undefined} session
 */
export function about(source, session) {
  const place = placeOf(session);
  return html`<span class="chip good">${seen(programOf(source))}</span>
    ${place ? html`<span title=${plain(session?.project ?? "")}><bdi>${seen(place)}</bdi></span>` : ""}
    ${session?.date ? html`<span>${dayName(session.date).full || session.date}</span>` : ""}
    ${session?.deleted ? html`<span class="chip warn">deleted in ${seen(programOf(source))}, kept by memd</span>` : ""}`;
}

/**
 * Return the title of a conversation.
 * @param {string} source
 * @param {import("../kinds.js").Session | null | undefined} session
 */
export function titleOf(source, session) {
  return session?.title || `Conversation with ${programOf(source)}`;
}

/**
 * Draw the command that opens a conversation in its program.
 * @param {import("../kinds.js").Session} session
 */
export function resume({ open, deleted }) {
  if (!open || deleted) return "";
  return html`<p class="command small"><code><bdi>${seen(open)}</bdi></code><button class="button plain" @click=${() => copy(open)}>Copy</button></p>`;
}

/**
 * Draw messages as bubbles, with the day wherever it changes.
 * @param {import("../kinds.js").Reader} reader
 * @param {import("../kinds.js").Message[]} messages
 */
export function bubbles({ found, evidence, whole }, messages) {
  const within = found ? messages.filter(({ line }) => line >= found.start && line <= found.end) : [];
  const marked = linesToMark(within.map(({ line, text }) => ({ number: line, text })), evidence);
  let day = "";
  return html`<ol class="bubbles">${messages.map((message) => {
    const own = message.time_ms === null ? day : dayOf(message.time_ms);
    const isNewDay = own !== day;
    day = own;
    return html`${isNewDay ? html`<li class="day-of"><span>${dayName(day).full}</span></li>` : ""}${bubble(message, marked.has(message.line), evidence, whole)}`;
  })}</ol>`;
}

/**
 * @param {import("../kinds.js").Message} message
 * @param {boolean} isFound
 * @param {Evidence} evidence
 * @param {Set<number>} whole
 */
function bubble({ number, speaker, text, time_ms, line }, isFound, evidence, whole) {
  const isCut = text.length > LONG && !isFound && !whole.has(number);
  return html`<li class="message ${speaker}${isFound ? " found" : ""}" data-line=${line}>
    <p class="speaker">${SPEAKERS.get(speaker) ?? ""}${time_ms === null ? "" : html` <time class="number">${clockTime(time_ms)}</time>`}</p>
    <div class="bubble said" dir="auto">${message(isCut ? `${text.slice(0, BEGINNING)}…` : text, isFound ? evidence : null)}${isCut ? html`<button class="cut" @click=${() => showWhole(number)}>Show all ${count(text.length)} characters</button>` : ""}</div>
  </li>`;
}

/**
 * Draw a message: its code as blocks.
 * @param {string} text
 * @param {Evidence} evidence
 */
function message(text, evidence) {
  const drawn = [];
  let from = 0;
  for (const match of text.matchAll(FENCED)) {
    drawn.push(inlineText(text.slice(from, match.index).trim(), evidence), html`<pre class="code"><code>${seen(match[2], evidence)}</code></pre>`);
    from = match.index + match[0].length;
  }
  return [...drawn, inlineText(text.slice(from).trim(), evidence)];
}
