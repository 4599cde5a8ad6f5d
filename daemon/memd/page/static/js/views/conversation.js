/** Conversations drawn: what was found in one, and its messages as bubbles. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { programOf } from "../conversation.js";
import { clockTime, dayName, dayOf } from "../format.js";
import { copy } from "../state.js";
import { seen } from "../text.js";
import { inlineText } from "./markdown.js";

const SPEAKERS = new Map([["user", "User"], ["assistant", "Assistant"]]);

/** @typedef {import("./shared.js").Evidence} Evidence */

/**
 * Draw what was found in a conversation, one paragraph for each message.
 * @param {string[]} lines of a snippet
 * @param {Evidence} evidence
 */
export function excerpt(lines, evidence) {
  return html`<div class="lines talk">${lines.filter(Boolean).map((line) => {
    const [, speaker = "", text = line] = /^(User|Assistant): (.*)$/s.exec(line) ?? [];
    return html`<p class="line ${speaker.toLowerCase()}"><span class="speaker">${speaker}</span> <span class="said" dir="auto">${inlineText(text, evidence)}</span></p>`;
  })}</div>`;
}

/**
 * Draw what is known of a conversation: program, project, day.
 * @param {string} source
 * @param {import("../kinds.js").Session | null | undefined} session
 */
export function about(source, session) {
  const project = session?.project.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const branch = project && session?.branch ? ` (${session.branch})` : "";
  return html`<span class="chip good">${seen(programOf(source))}</span>
    ${project ? html`<span title=${session?.project ?? ""}><bdi>${seen(project + branch)}</bdi></span>` : ""}
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
 * @param {import("../kinds.js").Message[]} messages
 * @param {Evidence} evidence
 * @param {{start: number, end: number} | null} found
 */
export function bubbles(messages, evidence, found) {
  let day = "";
  return html`<ol class="bubbles">${messages.map((message) => {
    const own = message.time_ms === null ? day : dayOf(message.time_ms);
    const isNewDay = own !== day;
    day = own;
    return html`${isNewDay ? html`<li class="day-of"><span>${dayName(day).full}</span></li>` : ""}${bubble(message, evidence, found)}`;
  })}</ol>`;
}

/**
 * @param {import("../kinds.js").Message} message
 * @param {Evidence} evidence
 * @param {{start: number, end: number} | null} found
 */
function bubble({ speaker, text, time_ms, line }, evidence, found) {
  const isFound = found !== null && line >= found.start && line <= found.end;
  return html`<li class="message ${speaker}${isFound ? " found" : ""}" data-line=${line}>
    <p class="speaker">${SPEAKERS.get(speaker) ?? ""}${time_ms === null ? "" : html` <time class="number">${clockTime(time_ms)}</time>`}</p>
    <div class="bubble said" dir="auto">${inlineText(text, isFound ? evidence : null)}</div>
  </li>`;
}
