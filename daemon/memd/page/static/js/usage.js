/** What was recalled: the report of the daemon's log of recalls. */

import { ask, shown } from "./api.js";
import { changed, state } from "./state.js";

/** How far back the report goes. */
export const DAYS = 30;

let turn = 0;

/** Load the report on the agent that is shown. */
export async function loadUsage() {
  turn += 1;
  const mine = turn;
  const { agent } = state;
  if (state.usage.agent !== agent) state.usage = { agent, report: null, error: null };
  try {
    const report = await ask("usage", { agent, since: `${DAYS}d` });
    if (mine === turn) state.usage = { agent, report, error: null };
  } catch (error) {
    if (mine === turn) state.usage.error = shown(error);
  }
  changed();
}
