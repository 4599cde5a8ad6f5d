/** How memory is doing: status, figures, and the sync a person asks for. */

import { ask, shown } from "./api.js";
import { counted } from "./format.js";
import { changed, say, state } from "./state.js";

let turn = 0;

/** Load what the daemon says of itself and of its agents. */
export async function loadStatus() {
  turn += 1;
  const mine = turn;
  try {
    const status = await ask("status", { agent: state.session.agent });
    if (mine !== turn) return;
    keepChecks(status);
    Object.assign(state, { status, statusError: null });
  } catch (error) {
    if (mine !== turn) return;
    state.statusError = shown(error);
  }
  changed();
}

/**
 * Keep the results of a deep check until the next one.
 * @param {import("./kinds.js").Status} status
 */
function keepChecks(status) {
  for (const agent of status.agents) {
    if (agent.checks.length > 0) continue;
    agent.checks = state.status?.agents.find((one) => one.agent === agent.agent)?.checks ?? [];
  }
}

/** Load the figures the charts need. */
export async function loadMetrics() {
  try {
    state.metrics = await ask("metrics", {});
    changed();
  } catch {
    // The charts go without; what is wrong with the daemon the status tells.
  }
}

/** Return the status of the agent that is shown, or undefined before the first one came. */
export function agentStatus() {
  return state.status?.agents.find((one) => one.agent === state.agent);
}

/** Probe embeddings, vectors, keyword index and files. */
export async function checkDeeply() {
  state.deep = "checking";
  changed();
  try {
    const status = await ask("status", { agent: state.agent, deep: true });
    const checked = status.agents[0];
    if (state.status) state.status.agents = state.status.agents.map((one) => (one.agent === checked.agent ? checked : one));
  } catch (error) {
    say(`The check failed: ${shown(error).message}`, "bad");
  }
  state.deep = "";
  changed();
}

/** Bring the index up to date now. */
export async function sync() {
  state.deep = "syncing";
  changed();
  try {
    const row = (await ask("index", { agent: state.agent })).agents[0];
    if (row.error) say(`${row.error.message} ${row.error.hint}`, "bad");
    else say(`Up to date: ${counted(row.files_changed, "file")} changed, ${counted(row.files_removed, "file")} removed, ${counted(row.embedded, "text")} embedded.`);
  } catch (error) {
    const problem = shown(error);
    say(`${problem.message} ${problem.hint}`, "bad");
  }
  state.deep = "";
  changed();
  await loadStatus();
}
