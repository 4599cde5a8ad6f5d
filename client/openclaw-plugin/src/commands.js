/**
 * `openclaw memory`, also called `openclaw memd`: status, indexing, reset and search from OpenClaw's own command line, with the
 * options of its own memory. `memctl` does the rest.
 */

/** @import { Command, Settings } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { createInterface } from "node:readline/promises";

import { labelledHit } from "memd-client";

import { codeOf, sentence, messageAndHint } from "./daemon.js";
import { NO_STRONG_MATCH, textOf } from "./hit-parts.js";

const DESCRIPTION = "The memory of OpenClaw's agents in memd: status, index, reset and search";

const INDEX_MS = 60 * 60_000; // a whole index of a large memory, embedded by a slow provider
const PROBE_MS = 60_000;

/** What OpenClaw shows of the command before it loads the plugin. */
export const DESCRIPTORS = ["memory", "memd"].map((name) => ({ name, description: DESCRIPTION, hasSubcommands: true }));

/**
 * Output and confirmation of commands.
 * @typedef {{ daemon: Daemon, settings: Settings, write: (text: string) => void, complain: (text: string) => void,
 *             confirm: (question: string) => Promise<boolean | undefined> }} Parts `confirm` gives undefined without a terminal
 */

/** @typedef {{ agent?: string, json?: boolean, verbose?: boolean }} Common */

/**
 * Add the commands to OpenClaw's.
 * @param {Command} program
 * @param {Partial<Parts> & Pick<Parts, "daemon" | "settings">} parts
 */
export function addCommands(program, parts) {
  const whole = {
    write: (/** @type {string} */ text) => void process.stdout.write(text),
    complain: (/** @type {string} */ text) => void process.stderr.write(text),
    confirm: confirmOnTerminal,
    ...parts,
  };
  for (const { name } of DESCRIPTORS) addGroup(program.command(name).description(DESCRIPTION), whole);
}

/**
 * @param {Command} group
 * @param {Parts} parts
 */
function addGroup(group, parts) {
  common(group.command("status"), "Show the state of memory: files, chunks and pending changes")
    .option("--deep", "Probe embeddings, vectors, the keyword index and files")
    .option("--index", "Index what changed first (implies --deep)")
    .option("--verbose", "Also show the index file, its sources and skipped files")
    .action((/** @type {Common & { deep?: boolean, index?: boolean }} */ given) => run(given, parts, () => status(given, parts)));
  common(group.command("index"), "Index what changed")
    .option("--force", "Read, chunk and embed everything again")
    .option("--verbose", "Also show providers, models and sources")
    .action((/** @type {Common & { force?: boolean }} */ given) => run(given, parts, () => index(given, parts)));
  common(group.command("reset"), "Drop the index and rebuild it from the files; notes and sessions stay")
    .option("--vectors", "Drop the vectors too, so that every text is embedded again")
    .option("--yes", "Skip the confirmation")
    .action((/** @type {Common & { vectors?: boolean, yes?: boolean }} */ given) => run(given, parts, () => reset(given, parts)));
  common(group.command("search [query]"), "Search an agent's memory")
    .option("--query <text>", "The query, in place of the argument")
    .option("--max-results <n>", "Most results", Number)
    .option("--min-score <n>", "Lowest score", Number)
    .action((/** @type {string | undefined} */ query, /** @type {Common & { query?: string, maxResults?: number,
      minScore?: number }} */ given) => run(given, parts, () => search(given.query ?? query, given, parts)));
}

/**
 * @param {Command} command
 * @param {string} description
 */
function common(command, description) {
  return command
    .description(description)
    .option("--agent <id>", "One agent; by default all agents, or the default agent for a search")
    .option("--json", "Print the daemon's reply as JSON");
}

/**
 * Run a command; an error is printed (with --json as JSON) and sets the exit status 1.
 * @param {Common} given
 * @param {Parts} parts
 * @param {() => Promise<void>} action
 */
async function run({ json }, { daemon, write, complain }, action) {
  try {
    await action();
  } catch (error) {
    const { message, hint } = messageAndHint(error);
    if (json) write(asText({ ok: false, error: { type: "cli_error", code: codeOf(error), message, ...(hint ? { hint } : {}) } }));
    else complain(`memd: ${sentence(error)}\n`);
    process.exitCode = 1;
  } finally {
    await daemon.close();
  }
}

/**
 * @param {Common & { deep?: boolean, index?: boolean }} given
 * @param {Parts} parts
 */
async function status({ agent, json, verbose, deep, index: sync }, { daemon, settings, write, complain }) {
  const which = agent === undefined ? {} : { agent };
  if (sync) failedAgents(await daemon.ask("index", which, { deadlineMs: INDEX_MS }), complain);
  const probe = deep === true || sync === true;
  const deadlineMs = probe ? Math.max(PROBE_MS, settings.toolDeadlineMs) : settings.toolDeadlineMs;
  const reply = await daemon.ask("status", probe ? { ...which, deep: true } : which, { deadlineMs });
  write(json ? asText(reply) : statusLines(reply, verbose === true));
}

/**
 * @param {Common & { force?: boolean }} given
 * @param {Parts} parts
 */
async function index({ agent, json, verbose, force }, { daemon, settings, write, complain }) {
  const which = agent === undefined ? {} : { agent };
  if (verbose && !json) {
    const { agents } = await daemon.ask("status", which, { deadlineMs: settings.toolDeadlineMs });
    write(agents.map((/** @type {any} */ each) => `${each.agent}: ${details(each)}\n`).join(""));
  }
  const reply = await daemon.ask("index", { ...which, force: force === true }, { deadlineMs: INDEX_MS });
  indexed(reply, json, { write, complain });
}

/**
 * @param {Common & { vectors?: boolean, yes?: boolean }} given
 * @param {Parts} parts
 */
async function reset({ agent, json, vectors, yes }, { daemon, write, complain, confirm }) {
  const whose = agent === undefined ? "all agents" : agent;
  if (!yes) {
    const said = await confirm(`Drop the index of ${whose} and rebuild it? Notes and sessions stay. [y/N] `);
    if (said === undefined) throw new Error("memory reset needs a confirmation: without a terminal, run it with --yes");
    if (!said) return write("Nothing was reset.\n");
  }
  const params = { ...(agent === undefined ? {} : { agent }), delete_vectors: vectors === true };
  indexed(await daemon.ask("reset", params, { deadlineMs: INDEX_MS }), json, { write, complain });
}

/**
 * @param {string | undefined} query
 * @param {Common & { maxResults?: number, minScore?: number }} given
 * @param {Parts} parts
 */
async function search(query, { agent, json, maxResults, minScore }, { daemon, settings, write }) {
  if (!query) throw new Error("memory search needs a query: give it as an argument or with --query");
  if (maxResults !== undefined && !(Number.isInteger(maxResults) && maxResults > 0)) {
    throw new Error("--max-results must be a positive integer");
  }
  if (minScore !== undefined && !Number.isFinite(minScore)) throw new Error("--min-score must be a number");
  const asked = {
    ...(agent === undefined ? {} : { agent }),
    ...(maxResults === undefined ? {} : { max_results: maxResults }),
    ...(minScore === undefined ? {} : { min_score: minScore }),
    ...(json ? {} : { limit_weak: true }),
  };
  const reply = await daemon.ask("search", { query, ...asked }, { deadlineMs: settings.toolDeadlineMs });
  write(json ? asText(reply) : hitLines(reply));
}

/** @param {unknown} reply */
function asText(reply) {
  return `${JSON.stringify(reply, null, 2)}\n`;
}

/**
 * Print the result of each agent's index; an error of one sets the exit status 1.
 * @param {Record<string, any>} reply
 * @param {boolean | undefined} json
 * @param {Pick<Parts, "write" | "complain">} parts
 */
function indexed(reply, json, { write, complain }) {
  if (json) write(asText(reply));
  else if (reply.agents.length === 0) write("No agents to index.\n");
  else {
    for (const each of reply.agents) {
      const { agent, files, chunks, files_changed: changed, files_removed: removed, embedded } = each;
      if (each.error) continue;
      write(`${agent}: ${files} files, ${chunks} chunks; ${changed} changed, ${removed} removed, ${embedded} embedded\n`);
      if (each.degraded) write(`  ${each.degraded.reason}\n`);
    }
  }
  failedAgents(reply, json ? () => {} : complain);
}

/**
 * @param {Record<string, any>} reply
 * @param {(text: string) => void} complain
 */
function failedAgents(reply, complain) {
  for (const { agent, error } of reply.agents) {
    if (!error) continue;
    complain(`memd: ${agent}: ${sentence(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * @param {Record<string, any>} reply
 * @param {boolean} verbose
 */
function statusLines(reply, verbose) {
  const lines = [`memd ${reply.version} answers at ${reply.socket}`];
  for (const agent of reply.agents) {
    const pending = agent.files_pending + agent.chunks_pending;
    const state = !agent.enabled ? "off" : pending === 0 ? "up to date" : `${pending} pending`;
    const vectors = agent.provider === "none" ? "keyword search only" : `vectors of ${agent.provider} ${agent.model}`;
    lines.push(`${agent.agent}: ${state}, ${agent.files} files, ${agent.chunks} chunks, ${vectors}`);
    if (agent.degraded) lines.push(`  ${agent.degraded.reason}`);
    if (verbose) lines.push(`  ${details(agent)}`, `  index: ${agent.index_path}`);
    for (const { name, ok, detail } of agent.checks ?? []) lines.push(`  ${name}: ${ok ? "ok" : "FAILED"}, ${detail}`);
    if (verbose) for (const { path, reason } of agent.skipped ?? []) lines.push(`  left out: ${path}: ${reason}`);
    for (const { message, hint } of agent.problems ?? []) lines.push(`  problem: ${message} (${hint})`);
  }
  for (const { message, hint } of reply.problems) lines.push(`problem: ${message} (${hint})`);
  return `${lines.join("\n")}\n`;
}

/** @param {Record<string, any>} agent of a status */
function details(agent) {
  const model = agent.model ? ` ${agent.model}` : "";
  return `provider ${agent.provider}${model}, sources ${agent.sources.join(", ") || "none"}, workspace ${agent.workspace}`;
}

/** @param {Record<string, any>} reply */
function hitLines(reply) {
  const less = reply.degraded ? `${reply.degraded.reason}\n` : "";
  if (reply.hits.length === 0) return `${less}No relevant results.\n`;
  const hasStrong = reply.hits.some((/** @type {Record<string, any>} */ hit) => hit.relevance === "strong");
  return `${less}${hasStrong ? "" : `${NO_STRONG_MATCH}\n\n`}${reply.hits.map(labelledHit).map(textOf).join("\n\n")}\n\n`;
}

/**
 * Ask for confirmation on the terminal; undefined without one.
 * @param {string} question
 */
async function confirmOnTerminal(question) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(?:es)?$/iu.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}
