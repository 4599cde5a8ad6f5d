/**
 * The tools of an agent. The daemon executes calls and describes mistakes in them; results are converted to OpenClaw's shape,
 * without hits in transcripts that the session must not see.
 */

/** @import { ConversationRecall, CorpusOutcome, HostConfig, ListSupplements, SearchRow, SessionEntries, Settings, Tool, ToolContext, ToolDefinition } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { activeProjects } from "./curated.js";
import { DEFAULT_SEARCH_CHARS, DEFINITIONS, MAX_SEARCH_CHARS, USUAL } from "./definitions.js";
import { recalledHits } from "./recall.js";
import { corporaOf, factsFailed, readFailed, searchResult, searchUnavailable, toolResult } from "./results.js";
import { agentOf } from "./sessions.js";
import { hasMemory } from "./settings.js";
import { visibleHits } from "./visibility.js";
import { askedBy, fitting, merged, readWiki, searchWiki } from "./wiki.js";

/**
 * One run's call of a tool.
 * @typedef {{ context: ToolContext, cfg: HostConfig | undefined, agent: string | undefined, entries: SessionEntries,
 *             given: Record<string, any>, wiki: { list: ListSupplements, who: Record<string, unknown>, deadlineMs: number },
 *             ask: (changes?: Record<string, unknown>) => Promise<any> }} Call
 */

/** @typedef {Record<string, any>} Answer */

const MAX_RECALLED = 50; // hits of a recall before those it must not show are removed

/**
 * Return the names of the tools these settings give.
 * @param {Settings} settings
 */
export function toolNames(settings) {
  return DEFINITIONS.map(({ name }) => name).filter((name) => settings.factTools || USUAL.has(name));
}

/**
 * Return one tool for one agent's run; null if the agent has no memory.
 * @param {string} name
 * @param {ToolContext} context
 * @param {{ daemon: Daemon, settings: Settings, entries: SessionEntries, supplements: ListSupplements }} parts
 * @returns {Tool | null}
 */
export function makeTool(name, context, { daemon, settings, entries, supplements }) {
  const config = () => context.getRuntimeConfig?.() ?? context.runtimeConfig ?? context.config;
  const agent = context.agentId ?? agentOf(context.sessionKey);
  const definition = /** @type {ToolDefinition} */ (DEFINITIONS.find((one) => one.name === name));
  if (!hasMemory(config(), agent)) return null;
  return {
    ...definition,
    async execute(_callId, given, signal) {
      const ask = (/** @type {Record<string, unknown> | undefined} */ changes) => {
        const params = {
          name,
          arguments: changes === undefined ? given ?? {} : { .../** @type {object} */ (given), ...changes },
          ...(agent === undefined ? {} : { agent }),
          session_key: context.sessionKey ?? "",
          ...(name === "memory_search" ? activeProjects(context.activeProjectKeys) : {}),
        };
        return daemon.ask("call_tool", params, { deadlineMs: settings.toolDeadlineMs, signal });
      };
      const wiki = { list: supplements, who: askedBy(context, agent), deadlineMs: settings.toolDeadlineMs };
      const call = { context, cfg: config(), agent, entries, given: argumentsOf(given), wiki, ask };
          ...(name === "memory_search" && context.conversationRecall !== undefined ? { recall: true } : {}),
      try {
        const answer = await (CARRIED_OUT.get(name) ?? plain)(call);
        return name === "memory_search" && Array.isArray(answer.results) ? searchResult(answer) : toolResult(answer);
      } catch (error) {
        signal?.throwIfAborted();
        return toolResult(failed(name, given, error));
      }
    },
  };
}

/**
 * Return a model's arguments as a map; what isn't one is for the daemon to answer.
 * @param {unknown} given
 * @returns {Record<string, any>}
 */
function argumentsOf(given) {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? given : {};
}

/**
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function plain({ ask }) {
  const reply = await ask();
  return reply.ok === true ? reply.result : { status: "error", ...reply.result };
}

/**
 * Search notes and conversations, wikis, or all of them.
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function search(call) {
  const { given, wiki } = call;
  const recall = call.context.conversationRecall;
  const corpus = recall?.corpus === "sessions" ? "sessions" : given.corpus;
  if ((corpus !== "wiki" && corpus !== "all") || typeof given.query !== "string" || given.query.trim() === "") {
    return await searchMemory(call, recall);
  }
  const limits = limitsOf(given);
  const pages = searchWiki({ query: given.query, maxResults: limits.maxResults }, wiki);
  if (corpus === "wiki") {
    const { rows, outcome } = await pages;
    return { results: fitting(rows, limits.maxChars), ...corporaOf([outcome]) };
  }
  const searched = searchMemory(call, recall).catch((error) => /** @type {Answer} */ (searchUnavailable(error)));
  const [notes, { rows, outcome }] = await Promise.all([searched, pages]);
  if (notes.status === "error") return notes;
  const { results, disabled, unavailable, timedOut, warning, reason, ...rest } = notes;
  /** @type {CorpusOutcome} */
  const memory = unavailable
    ? { corpus: "memory", outcome: "unavailable", error: String(rest.error) }
    : { corpus: "memory", outcome: "ok" };
  const { warning: missing, ...corpora } = corporaOf([memory, outcome]);
  const said = [...(unavailable ? [] : [warning]), missing].filter(Boolean).join(" ");
  const partial = said === "" ? {} : { partial: true, warning: said };
  const found = merged(results, rows, limits);
  const empty = found.length === 0 && reason !== undefined ? { reason } : {};
  return { results: found, ...rest, ...empty, ...(timedOut ? { timedOut } : {}), ...corpora, ...partial };
}

/**
 * Search what the daemon keeps, and leave out what the session may not see.
 * @param {Call} call
 * @param {ConversationRecall | undefined} recall
 * @returns {Promise<Answer>}
 */
async function searchMemory({ context, cfg, agent, entries, given, ask }, recall) {
  const changes = { maxResults: MAX_RECALLED, maxChars: MAX_SEARCH_CHARS, ...(recall?.corpus === "sessions" ? { corpus: "sessions" } : {}) };
  const reply = await ask(recall === undefined ? undefined : changes);
  if (reply.ok !== true) return { status: "error", ...reply.result };
  /** @type {{ results: SearchRow[], [key: string]: any }} */
  const { results, degraded, ...rest } = reply.result;
  const who = { agent, requester: context.sessionKey, sandboxed: context.sandboxed === true, entries };
  const shown = recall === undefined ? visibleHits(results, { cfg, ...who }) : recalledHits(results, { recall, ...who });
  const { maxResults, maxChars } = limitsOf(given);
  const best = recall === undefined ? shown : fitting(shown.slice(0, maxResults), maxChars);
  const withheld = results.length - shown.length;
  return {
    results: best.map((row) => ({ ...row, corpus: row.source })),
    ...rest,
    ...(withheld > 0 ? { withheld } : {}),
    ...(degraded ? { degraded, partial: true, warning: degraded.reason, action: degraded.hint } : {}),
  };
}

/**
 * Read lines of a note, of a page of a wiki, or of whichever is there.
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function read({ given, wiki, ask }) {
  const { path, corpus } = given;
  if ((corpus !== "wiki" && corpus !== "all") || typeof path !== "string" || path.trim() === "") return lines(await ask());
  const pages = () => readWiki({ path, from: positive(given.from), lines: positive(given.lines) }, wiki);
  if (corpus === "wiki") {
    const { page, outcome } = await pages();
    const missed = outcome.outcome === "unavailable" ? "error" : "not_found";
    return { ...(page ?? { status: missed, path, text: "" }), ...corporaOf([outcome]) };
  }
  const note = await ask().then(lines).catch((/** @type {unknown} */ error) => readFailed(path, error));
  if (note.status === "ok") return note;
  const { page, outcome } = await pages();
  return { ...(page ?? note), ...corporaOf([outcome]) };
}

/**
 * Return what the daemon says of a file, in OpenClaw's shape.
 * @param {Answer} reply
 * @returns {Answer}
 */
function lines({ ok, result }) {
  if (ok !== true) return { status: "error", ...result };
  const { next_from: nextFrom, total_lines: totalLines, ...rest } = result;
  return {
    status: "ok",
    ...rest,
    ...(nextFrom === undefined ? {} : { nextFrom }),
    ...(totalLines === undefined ? {} : { totalLines }),
  };
}

/** @param {Record<string, any>} given */
function limitsOf({ maxResults, maxChars }) {
  return { maxResults: positive(maxResults), maxChars: positive(maxChars) ?? DEFAULT_SEARCH_CHARS };
}

/** @param {unknown} value as a model wrote it */
function positive(value) {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number > 0 ? number : undefined;
}

/** @type {Map<string, (call: Call) => Promise<Answer>>} */
const CARRIED_OUT = new Map([
  ["memory_search", search],
  ["memory_get", read],
]);

/**
 * @param {string} name
 * @param {unknown} given
 * @param {unknown} error
 */
function failed(name, given, error) {
  if (name === "memory_search") return searchUnavailable(error);
  if (name !== "memory_get") return factsFailed(error);
  const path = /** @type {{ path?: unknown } | undefined} */ (given)?.path;
  return readFailed(typeof path === "string" ? path : "", error);
}
