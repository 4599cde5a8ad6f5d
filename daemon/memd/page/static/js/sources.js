/** Sources: their names for people, those that can be searched, and what other programs have and are given. */

import { ask, shown } from "./api.js";
import { changed, state } from "./state.js";

/** The source of an agent's own conversations with OpenClaw, and its title. */
const OPENCLAW = "sessions";
const OPENCLAW_TITLE = "OpenClaw";

/** @typedef {{name: string, title: string, kind: string}} Searched */

/**
 * Return the sources that some agents have besides their notes, each once.
 * @param {import("./kinds.js").AgentStatus[]} agents
 * @returns {Searched[]}
 */
export function sourcesOf(agents) {
  /** @type {Map<string, Searched>} */
  const found = new Map();
  for (const agent of agents) {
    if (agent.sources.includes(OPENCLAW)) found.set(OPENCLAW, { name: OPENCLAW, title: OPENCLAW_TITLE, kind: "transcripts" });
    for (const { name, title, kind } of agent.added) found.set(name, { name, title, kind });
  }
  return distinct([...found.values()]);
}

/**
 * Return sources with titles of their own: two of one program are told apart by their names.
 * @template {{name: string, title: string}} Named
 * @param {Named[]} sources
 * @returns {Named[]}
 */
export function distinct(sources) {
  return sources.map((source) => {
    const isShared = sources.some((other) => other.name !== source.name && other.title === source.title);
    return isShared && source.title !== source.name ? { ...source, title: `${source.title} (${source.name})` } : source;
  });
}

/**
 * Return the title of the program that a source belongs to; the name of a source that is unknown.
 * @param {string} source
 */
export function programOf(source) {
  if (source === OPENCLAW) return OPENCLAW_TITLE;
  for (const { added } of state.status?.agents ?? []) {
    const title = added.find((one) => one.name === source)?.title;
    if (title) return title;
  }
  return source;
}

let turn = 0;

/** Load what other programs have and are given. It scans their folders, so only Health does. */
export async function loadSources() {
  turn += 1;
  const mine = turn;
  try {
    const reply = await ask("sources", { agent: state.session.agent });
    if (mine !== turn) return;
    Object.assign(state, { sources: reply, sourcesError: null });
  } catch (error) {
    if (mine !== turn) return;
    state.sourcesError = shown(error);
  }
  changed();
}

/**
 * Return the names of the sources that a program may see, by the agents whose memory it is given.
 * @param {string[]} agents
 * @param {import("./kinds.js").Source[]} sources
 */
export function visibleTo(agents, sources) {
  return distinct(sources).filter((source) => agents.includes(source.agent)).map((source) => source.title);
}
