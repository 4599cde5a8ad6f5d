/** Facts: listed, looked for, kept, edited, forgotten. What is being written is never lost to an update. */

import { RequestError, ask, shown } from "./api.js";
import { changed, focusDrawn, say, state } from "./state.js";
import { plain } from "./text.js";

const PAGE = 200;
const NEAREST = 30;
const PAUSE_MS = 250;
/** Characters of a fact that a message repeats. */
const QUOTED = 60;
const TWIN = "Nothing was changed. Forget one of the two, or say what differs.";

let turn = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

/**
 * Load the facts: the newest, or those nearest to what is looked for.
 * @param {number} [upTo]
 */
export async function loadFacts(upTo = PAGE) {
  turn += 1;
  const mine = turn;
  try {
    const reply = await askFacts(Math.max(upTo, state.facts.query ? 0 : state.facts.rows.length));
    if (mine !== turn) return;
    Object.assign(state.facts, { rows: reply.facts, total: reply.total, loaded: true, error: null });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(state.facts, { loaded: true, error: shown(error) });
  }
  changed();
}

/** @param {number} aim */
async function askFacts(aim) {
  const { agent } = state;
  const query = state.facts.query.trim();
  if (query) return ask("memory_recall", { agent, query, limit: NEAREST, min_score: 0.1 });
  /** @type {import("./kinds.js").Fact[]} */
  let facts = [];
  let reply;
  do {
    reply = await ask("facts", { agent, offset: facts.length, limit: PAGE });
    facts = [...facts, ...reply.facts];
  } while (reply.facts.length > 0 && facts.length < Math.min(aim, reply.total));
  return { facts, total: reply.total };
}

/** Load the next page too. */
export function moreFacts() {
  return loadFacts(state.facts.rows.length + PAGE);
}

/**
 * Look for facts once typing pauses.
 * @param {string} query
 */
export function lookFor(query) {
  state.facts.query = query;
  clearTimeout(waiting);
  waiting = setTimeout(() => void loadFacts(), PAUSE_MS);
  changed();
}

/** @param {string} text */
function quoted(text) {
  const said = plain(text);
  return said.length > QUOTED ? `“${said.slice(0, QUOTED)}…”` : `“${said}”`;
}

/**
 * Keep a new fact.
 * @param {string} text
 * @returns {Promise<boolean>} whether it is there now
 */
export async function remember(text) {
  return during(async () => {
    const reply = await ask("memory_store", { agent: state.agent, text });
    say(reply.stored ? `Remembered in ${plain(reply.path)}, line ${reply.line}.` : `Known already: ${quoted(reply.duplicate_text)}`);
  }, (problem) => say(`${problem.message} ${problem.hint}`, "bad"));
}

/**
 * Begin to edit a fact.
 * @param {string} id
 */
export function edit(id) {
  const fact = state.facts.rows.find((row) => row.id === id);
  if (!fact || state.facts.editing) return;
  Object.assign(state.facts, { editing: { id, was: fact.text, text: fact.text, problem: null }, forgetting: "" });
  focusDrawn("#editing");
}

/** Cancel the edit of a fact. */
export function stopEditing() {
  const id = state.facts.editing?.id ?? "";
  state.facts.editing = null;
  changed();
  focusFact(id);
}

/** Write down what was edited. */
export async function save() {
  const { editing } = state.facts;
  if (!editing) return;
  const text = editing.text.trim();
  if (text === editing.was) {
    stopEditing();
    return;
  }
  let id = editing.id;
  const done = await during(async () => {
    const reply = await ask("memory_edit", { agent: state.agent, id: editing.id, text, expected_text: editing.was });
    if (!reply.stored) throw new RequestError("duplicate", `Another fact says this already: ${quoted(reply.duplicate_text)}`, TWIN);
    id = reply.id;
    state.facts.editing = null;
    say(`Saved in ${plain(reply.path)}, line ${reply.line}.`);
  }, (problem) => {
    editing.problem = problem;
  });
  if (done) focusFact(id);
}

/**
 * Ask whether a fact is to be forgotten.
 * @param {string} id
 */
export function askToForget(id) {
  state.facts.forgetting = id;
  focusDrawn(".sure .danger");
}

/** Keep the fact that was about to be forgotten. */
export function keep() {
  const id = state.facts.forgetting;
  state.facts.forgetting = "";
  changed();
  focusFact(id);
}

/** Forget the fact. */
export async function forget() {
  const id = state.facts.forgetting;
  const place = state.facts.rows.findIndex((row) => row.id === id);
  await during(async () => {
    const reply = await ask("memory_forget", { agent: state.agent, id });
    say(reply.forgotten ? `Forgotten: ${quoted(reply.forgotten.text)}` : "It was gone already.");
  }, (problem) => say(`${problem.message} ${problem.hint}`, "bad"));
  state.facts.forgetting = "";
  changed();
  focusFact(state.facts.rows[Math.min(place, state.facts.rows.length - 1)]?.id ?? "");
}

/**
 * Change the facts, then reload the list.
 * @param {() => Promise<void>} work
 * @param {(problem: import("./kinds.js").RequestFailure) => void} failed
 * @returns {Promise<boolean>} whether it was done
 */
async function during(work, failed) {
  state.facts.busy = true;
  changed();
  let done = true;
  try {
    await work();
  } catch (error) {
    done = false;
    failed(shown(error));
  }
  await loadFacts();
  state.facts.busy = false;
  changed();
  return done;
}

/** @param {string} id */
function focusFact(id) {
  if (id) focusDrawn(`[data-fact="${CSS.escape(id)}"]`);
}
