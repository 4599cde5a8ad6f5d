/** Conversations: those of all programs in a list, by day. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { guard } from "../../vendor/lit-html/directives/guard.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { chooseConversations, conversationsByDay, countOf, moreConversations, showAllConversations, typeTitle } from "../conversations.js";
import { isFiltered } from "../filters.js";
import { clockTime, count, counted, dayName } from "../format.js";
import { chooseAgent, searchInstead } from "../places.js";
import { openListed } from "../reader.js";
import { distinct, programOf } from "../sources.js";
import { state } from "../state.js";
import { plain, seen } from "../text.js";
import { placeOf, titleOf } from "./conversation.js";
import { filterBar } from "./filters.js";
import { inlineText } from "./markdown.js";
import { empty, failure } from "./shared.js";

const NO_GROUPS = { sources: [], projects: [], oldest_ms: null };

export function conversationsView() {
  const { conversations, agent } = state;
  const groups = state.groups.get(agent) ?? NO_GROUPS;
  const sources = distinct(groups.sources).map(({ name, title, conversations: number }) => /** @type {[string, string]} */ ([name, `${plain(title)} · ${count(number)}`]));
  return html`<div class="column">
    <div class="head"><h1>Conversations</h1>${conversations.loaded ? html`<span class="quiet number" role="status">${summary(countOf(agent))}</span>` : ""}</div>
    ${countOf(agent) > 0 ? html`<form class="ask" @submit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <input class="field" id="title" type="search" autocomplete="off" spellcheck="false" dir="auto" aria-label="Words in the title" placeholder="Words in the title"
        .value=${live(conversations.title)} @input=${(/** @type {any} */ event) => typeTitle(event.target.value)}>
      <div class="row">${filterBar(conversations.filter, sources, groups, chooseConversations)}${elsewhere()}</div>
    </form>` : ""}
    ${conversations.error ? failure(conversations.error) : ""}
    ${body()}
  </div>`;
}

/** @param {number} all */
function summary(all) {
  const { total } = state.conversations;
  return total === all ? counted(all, "conversation") : `${count(total)} of ${counted(all, "conversation")}`;
}

/** The way from the titles to all that was said. */
function elsewhere() {
  const { title, filter } = state.conversations;
  const words = title.trim();
  return words ? html`<button type="button" class="button" data-search-instead @click=${() => searchInstead(words, filter)}>Search what was said →</button>` : "";
}

function body() {
  const { rows, total, loaded, asking, error, title, filter } = state.conversations;
  if (!loaded) return html`<p class="quiet">Reading…</p>`;
  if (rows.length === 0) {
    if (error || asking) return "";
    return title.trim() || isFiltered(filter) ? html`<div class="empty"><h2>No such conversation</h2><p>No title has these words, with these filters.</p>
      <p class="command">${title.trim() ? html`<button class="button main-act" @click=${() => searchInstead(title.trim(), filter)}>Search what was said</button>` : ""}
        <button class="button" @click=${showAllConversations}>Show all</button></p></div>` : none();
  }
  return html`${repeat(conversationsByDay(), (one) => one.day, (one) => guard([one.rows, programTitles()], () => day(one)))}
    ${rows.length < total ? html`<p class="empty" data-more><button class="button" @click=${moreConversations}>Show older conversations (${count(total - rows.length)} more)</button></p>` : ""}`;
}

/** What a row shows besides its own: redraws rows once the programs' titles are known. */
function programTitles() {
  return (state.groups.get(state.agent)?.sources ?? []).map(({ name }) => programOf(name)).join();
}

function none() {
  const others = state.session.agent === null ? state.session.agents.filter((agent) => agent !== state.agent && countOf(agent) > 0) : [];
  if (others.length === 0) {
    return empty("No conversations yet", html`Run <code>memctl sources</code> to see whose conversations memd can read, and <code>memctl sources add claude-code</code> to add one.`);
  }
  return html`<div class="empty"><h2>Agent ${seen(state.agent)} has no conversations</h2>
    ${others.map((agent) => html`<p><button class="button" @click=${() => chooseAgent(agent)}>Show the ${counted(countOf(agent), "conversation")} of ${seen(agent)}</button></p>`)}</div>`;
}

/** @param {import("../conversations.js").Day} one */
function day({ day: date, rows }) {
  const { name, full } = dayName(date);
  return html`<section class="day" aria-label=${full || date}>
    <header><h2>${name}</h2><p>${full}</p></header>
    <ul>${repeat(rows, (row) => row.path, (row) => html`<li>${conversation(row)}</li>`)}</ul>
  </section>`;
}

/** @param {import("../kinds.js").ListedConversation} row */
function conversation(row) {
  const { session, messages, updated_ms } = row;
  const item = `conversation:${row.path}`;
  const place = placeOf(session);
  return html`<article class="card note listed">
    <h3><button class="open" data-item=${item} @click=${() => openListed(row, item)}><bdi>${inlineText(titleOf(session.program, session), null)}</bdi></button></h3>
    <p class="meta"><span class="chip good">${seen(programOf(session.program))}</span>
      ${place ? html`<span title=${plain(session.project)}><bdi>${seen(place)}</bdi></span>` : ""}
      <span class="number">${counted(messages, "message")}</span><span class="number">${clockTime(updated_ms)}</span>
      ${session.deleted ? html`<span class="chip warn">deleted there, kept here</span>` : ""}</p>
  </article>`;
}
