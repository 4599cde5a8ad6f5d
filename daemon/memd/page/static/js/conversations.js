/** The list of an agent's conversations, page by page, and what it can be filtered by. */

import { ask, shown } from "./api.js";
import { paramsOf } from "./filters.js";
import { dayOf } from "./format.js";
import { changed, noFilter, state } from "./state.js";

const PAGE = 100;
/** As many as the daemon lists at once: what is shown already is read again in fewer requests. */
const RELOADED = 1000;
/** A pause in typing after which the list is filtered. */
const PAUSE_MS = 250;
/** Agents whose projects and sources are asked for. */
const AGENTS = 16;

let turn = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

/** Load the shown part of the list again. */
export async function loadConversations() {
  clearTimeout(waiting);
  await load(0, Math.max(PAGE, state.conversations.rows.length));
}

/** Load the next page too. */
export function moreConversations() {
  const { rows, total, asking } = state.conversations;
  if (!asking && rows.length < total) void load(rows.length, rows.length + PAGE);
}

/**
 * Load the rows of the list from one to another.
 * @param {number} from
 * @param {number} aim
 */
async function load(from, aim) {
  turn += 1;
  const mine = turn;
  const { agent, conversations } = state;
  const filters = { ...paramsOf(conversations.filter, []), ...(conversations.title.trim() ? { title: conversations.title.trim() } : {}) };
  conversations.asking = true;
  changed();
  let rows = conversations.rows.slice(0, from);
  try {
    /** @type {import("./kinds.js").ConversationsReply} */
    let reply;
    do {
      reply = await ask("conversations", { agent, ...filters, offset: rows.length, limit: Math.min(RELOADED, aim - rows.length) });
      if (mine !== turn) return;
      rows = [...rows, ...reply.conversations];
    } while (reply.conversations.length > 0 && rows.length < Math.min(aim, reply.total));
    state.groups.set(agent, groupsOf(reply));
    Object.assign(state.conversations, { rows, total: reply.total, loaded: true, asking: false, error: null });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(state.conversations, { loaded: true, asking: false, error: shown(error) });
  }
  changed();
}

/** @param {import("./kinds.js").ConversationsReply} reply */
function groupsOf({ sources, projects, oldest_ms }) {
  return { sources, projects, oldest_ms };
}

/** Load what the conversations of the other agents can be filtered by. */
export async function loadGroups() {
  const others = state.session.agents.filter((agent) => agent !== state.agent).slice(0, AGENTS);
  await Promise.all(others.map(async (agent) => {
    try {
      state.groups.set(agent, groupsOf(await ask("conversations", { agent, limit: 1 })));
    } catch {
      state.groups.delete(agent); // its memory is off, or it fails: Health tells
    }
  }));
  changed();
}

/**
 * Take what was typed into the filter of titles, and filter once typing pauses.
 * @param {string} title
 */
export function typeTitle(title) {
  state.conversations.title = title;
  clearTimeout(waiting);
  waiting = setTimeout(begin, PAUSE_MS);
  changed();
}

/**
 * Filter the list.
 * @param {Partial<import("./kinds.js").Filter>} choice
 */
export function chooseConversations(choice) {
  Object.assign(state.conversations.filter, choice);
  begin();
}

/** List all conversations. */
export function showAllConversations() {
  Object.assign(state.conversations, { title: "", filter: noFilter() });
  begin();
}

/** List from the newest on. */
function begin() {
  clearTimeout(waiting);
  state.conversations.rows = [];
  void load(0, PAGE);
}

/** Return how many conversations an agent has, whatever is filtered. @param {string} agent */
export function countOf(agent) {
  return (state.groups.get(agent)?.sources ?? []).reduce((sum, source) => sum + source.conversations, 0);
}

/** @typedef {{day: string, rows: import("./kinds.js").ListedConversation[]}} Day */

/** @type {{of: import("./kinds.js").ListedConversation[] | null, days: Day[]}} */
let sorted = { of: null, days: [] };

/**
 * Return the listed conversations by day, the newest first; the same arrays as long as the rows are the same.
 * @returns {Day[]}
 */
export function conversationsByDay() {
  const { rows } = state.conversations;
  if (sorted.of === rows) return sorted.days;
  /** @type {Map<string, Day>} */
  const days = new Map();
  for (const row of rows) {
    const day = dayOf(row.updated_ms);
    const known = days.get(day);
    if (known) known.rows.push(row);
    else days.set(day, { day, rows: [row] });
  }
  sorted = { of: rows, days: [...days.values()] };
  return sorted.days;
}
