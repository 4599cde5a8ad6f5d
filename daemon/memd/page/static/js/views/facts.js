/** Facts of an agent; each can be edited and forgotten. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { live } from "../../vendor/lit-html/directives/live.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { count, counted, moment } from "../format.js";
import { askToForget, edit, forget, keep, lookFor, moreFacts, remember, save, stopEditing } from "../facts.js";
import { openPlace } from "../reader.js";
import { state } from "../state.js";
import { plain } from "../text.js";
import { empty, failure, isolated, pathOf } from "./shared.js";

/** As long as the protocol lets a fact be. */
const LONGEST = 4000;

export function factsView() {
  const { facts } = state;
  return html`<div class="column">
    <div class="head"><h1>Facts</h1>${facts.loaded ? html`<span class="quiet">${counted(facts.total, "fact")}</span>` : ""}</div>
    <form class="remember" @submit=${submit}>
      <input class="field" id="remember" name="text" maxlength=${LONGEST} autocomplete="off" dir="auto" aria-label="A new fact" placeholder="Remember something new">
      <button class="button main-act" ?disabled=${facts.busy}>Remember</button>
    </form>
    ${facts.total > 5 || facts.query ? html`<p class="find"><input class="field" id="find-fact" type="search" dir="auto" aria-label="Find a fact" placeholder="Find a fact"
      .value=${live(facts.query)} @input=${(/** @type {any} */ event) => lookFor(event.target.value)}></p>` : ""}
    ${facts.error ? failure(facts.error) : ""}
    ${orphan(facts)}
    ${facts.loaded && !facts.error && facts.rows.length === 0 ? none(facts.query) : ""}
    <ul class="facts">${repeat(facts.rows, (fact) => fact.id, (fact) => html`<li>${row(fact)}</li>`)}</ul>
    ${!facts.query && facts.rows.length < facts.total
      ? html`<p class="empty"><button class="button" @click=${moreFacts}>Show more (${count(facts.total - facts.rows.length)})</button></p>` : ""}
  </div>`;
}

/** @param {Event} event */
async function submit(event) {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.currentTarget);
  const field = /** @type {HTMLInputElement} */ (form.elements.namedItem("text"));
  if (field.value.trim() && (await remember(field.value.trim()))) field.value = "";
}

/** @param {string} query */
function none(query) {
  if (query) return empty("No such fact", "None of the facts is near to that. Notes may know more: press / to search.");
  return empty("No facts yet", html`Facts are single lines worth keeping, as “I prefer dark mode”. Agents keep them with
    <code>memory_store</code>; you can write one above. They stand in <code>memory/facts.md</code>, which is yours to edit.`);
}

/**
 * Keep in sight what was being written of a fact that is gone.
 * @param {import("../kinds.js").State["facts"]} facts
 */
function orphan(facts) {
  const { editing } = facts;
  if (!editing || !facts.loaded || facts.rows.some((fact) => fact.id === editing.id)) return "";
  return html`<article class="card fact"><p class="notice">This fact was forgotten or changed elsewhere while you edited it. Your words are kept here.</p>${editor(editing)}
    <div class="acts"><button class="button" @click=${async () => { if (await remember(editing.text)) stopEditing(); }}>Remember as a new fact</button></div></article>`;
}

/** @param {import("../kinds.js").Fact} fact */
function row(fact) {
  const { editing, forgetting } = state.facts;
  if (editing?.id === fact.id) return html`<article class="card fact">${editor(editing)}</article>`;
  return html`<article class="card fact" tabindex="0" data-fact=${fact.id} data-item="fact:${fact.id}" aria-label="Fact: ${plain(fact.text).slice(0, 200)}">
    <p class="words">${isolated(fact.text)}</p>
    <div class="base">
      <p class="meta"><span class="chip">${fact.category}</span>
        ${fact.created_ms === null ? "" : html`<span>${moment(fact.created_ms)}</span>`}
        <span>${pathOf(fact.path)}, line ${fact.line}</span></p>
      ${forgetting === fact.id ? "" : html`<div class="acts">
        <button class="button plain" @click=${() => openPlace({ ...fact, start_line: fact.line, end_line: fact.line, source: "memory" }, null, `fact:${fact.id}`)}>Open</button>
        <button class="button plain" data-edit @click=${() => edit(fact.id)}>Edit</button>
        <button class="button plain" data-forget @click=${() => askToForget(fact.id)}>Forget</button></div>`}
    </div>
    ${forgetting === fact.id ? sure() : ""}
  </article>`;
}

function sure() {
  return html`<div class="sure" role="alertdialog" aria-label="Forget this fact?">
    <p>Forget this? Its line leaves the file for good.</p>
    <button class="button danger" ?disabled=${state.facts.busy} @click=${forget}>Forget it</button>
    <button class="button" @click=${keep}>Keep it</button></div>`;
}

/** @param {NonNullable<import("../kinds.js").State["facts"]["editing"]>} editing */
function editor(editing) {
  return html`<form @submit=${(/** @type {Event} */ event) => { event.preventDefault(); void save(); }}>
    <textarea class="field" id="editing" maxlength=${LONGEST} dir="auto" aria-label="What the fact says" .value=${live(editing.text)}
      @input=${(/** @type {any} */ event) => { editing.text = event.target.value; }} @keydown=${editorKeys}></textarea>
    ${editing.problem ? failure(editing.problem) : ""}
    <div class="acts"><button class="button main-act" ?disabled=${state.facts.busy}>Save</button>
      <button class="button" type="button" @click=${stopEditing}>Leave as it was</button>
      <span class="quiet small"><kbd>Enter</kbd> saves, <kbd>Esc</kbd> leaves</span></div>
  </form>`;
}

/** @param {KeyboardEvent} event */
function editorKeys(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void save();
}
