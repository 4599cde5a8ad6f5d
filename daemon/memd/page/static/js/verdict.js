/** The state of an agent's memory in one sentence, and its problems with hints. */

import { ago, counted, span } from "./format.js";

/** Problems that only a person can end, and that cost no result. */
const MINOR = new Set(["memory_conflicts"]);

/**
 * @typedef {{tone: "" | "warn" | "bad" | "off", title: string, detail: string}} Verdict
 */

/**
 * Judge an agent's memory.
 * @param {import("./kinds.js").AgentStatus | undefined} agent
 * @param {import("./kinds.js").RequestFailure | null} error why the daemon couldn't be asked
 * @returns {Verdict}
 */
export function verdictOn(agent, error) {
  if (error) return { tone: "bad", title: "Not reachable", detail: error.message };
  if (!agent) return { tone: "off", title: "Asking…", detail: "" };
  if (!agent.enabled) return { tone: "off", title: "Turned off", detail: "This agent's memory is off in the settings." };
  const problem = agent.problems.find((one) => !MINOR.has(one.code));
  if (problem) return { tone: "bad", title: "Something is wrong", detail: problem.message };
  if (agent.degraded) return { tone: "warn", title: "Degraded", detail: `keyword search only: ${agent.degraded.reason}` };
  if (agent.files_pending > 0) return { tone: "warn", title: "Catching up", detail: `${counted(agent.files_pending, "file")} to read, for ${span(agent.oldest_pending_ms)}` };
  if (agent.chunks_pending > 0) return { tone: "", title: "Embedding", detail: `${counted(agent.chunks_pending, "chunk")} to embed${agent.waits_for ? `, waiting for ${agent.waits_for}` : ""}` };
  if (agent.fallback) return { tone: "warn", title: "Fallback provider in use", detail: agent.fallback.reason };
  if (agent.problems.length > 0) return { tone: "warn", title: "Conflicts to resolve", detail: agent.problems[0].message };
  return { tone: "", title: "Up to date", detail: `synced ${ago(agent.last_sync_ms)}` };
}

/**
 * Return all problems, each with its hint.
 * @param {import("./kinds.js").AgentStatus} agent
 * @param {import("./kinds.js").Status} status
 * @returns {{title: string, text: string, hint: string, bad: boolean}[]}
 */
export function troubles(agent, status) {
  const found = [...agent.problems, ...status.problems].map((one) => ({ title: one.code, text: one.message, hint: one.hint, bad: !MINOR.has(one.code) }));
  if (agent.degraded) {
    const { code, reason, since_ms, hint } = agent.degraded;
    found.push({ title: code, text: `${reason}, for ${span(Date.now() - since_ms)}. Keyword search continues.`, hint, bad: false });
  }
  if (agent.fallback) {
    const { code, provider, reason, since_ms } = agent.fallback;
    found.push({ title: code, text: `${provider} can't be used (${reason}), for ${span(Date.now() - since_ms)}; the fallback provider is used.`, hint: "", bad: false });
  }
  for (const model of status.models.filter((one) => one.problem)) {
    found.push({ title: model.state, text: `${model.model}: ${model.problem}`, hint: "run `memctl doctor` for details", bad: false });
  }
  for (const load of status.downloads.filter((one) => one.problem)) {
    found.push({ title: "download", text: `${load.ref}: ${load.problem}`, hint: "run `memctl model pull` to try again", bad: false });
  }
  for (const account of status.accounts.filter((one) => one.state === "paused")) {
    found.push({ title: account.provider, text: `paused: ${account.reason}`, hint: `memd retries at ${new Date(account.until_ms).toLocaleTimeString("en-GB")}`, bad: false });
  }
  if (agent.watch === "polling") {
    found.push({ title: "watching", text: `Changes are found by polling instead of file events: ${agent.watch_reason}`, hint: "Searches check the disk, so results stay fresh.", bad: false });
  }
  return found;
}
