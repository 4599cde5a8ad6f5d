/**
 * The tools of an agent. The daemon executes calls and describes mistakes in them; results are converted to OpenClaw's shape,
 * with the provenance of their text and without conversations that the session must not see.
 */

/** @import { ConversationRecall, CorpusOutcome, DescribeNotes, HostConfig, ListSupplements, NoteFacts, SearchRow, SessionEntries, Settings, Tool, ToolContext, ToolDefinition, WorkspaceOf } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { activeProjects, lowered, provenance } from "./curated.js";
import { DEFAULT_SEARCH_CHARS, DEFINITIONS, MAX_SEARCH_CHARS, USUAL } from "./definitions.js";
import { pathsOfNotes, sessionsOf } from "./note-facts.js";
import { recalledHits } from "./recall.js";
import { corporaOf, factsFailed, readFailed, searchResult, searchUnavailable, toolResult, withNotice } from "./results.js";
import { agentOf } from "./sessions.js";
import { hasMemory } from "./settings.js";
import { visibleHits } from "./visibility.js";
import { askedBy, fitting, merged, readWiki, searchWiki } from "./wiki.js";

/**
 * One run's call of a tool.
 * @typedef {{ context: ToolContext, cfg: HostConfig | undefined, agent: string | undefined, entries: SessionEntries,
 *             describe: (paths: string[]) => Promise<Map<string, NoteFacts>>, given: Record<string, any>, wiki: { list: ListSupplements, who: Record<string, unknown>, deadlineMs: number },
 *             ask: (changes?: Record<string, unknown>) => Promise<any> }} Call
 */

/** @typedef {Record<string, any>} Answer */

const MAX_RECALLED = 50; // hits before those that must not be shown are removed
const MAIN = "main"; // OpenClaw's agent if none is named
const CITED = /^(.+)#L\d/u; // what `supersededBy` names
const NOT_VISIBLE = "the note keeps a conversation that this session may not see";

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
 * @param {{ daemon: Daemon, settings: Settings, entries: SessionEntries, supplements: ListSupplements, workspaceOf: WorkspaceOf,
 *           describe: DescribeNotes }} parts
 * @returns {Tool | null}
 */
export function makeTool(name, context, { daemon, settings, entries, supplements, workspaceOf, describe }) {
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
          ...(name === "memory_search" && context.conversationRecall !== undefined ? { recall: true } : {}),
        };
        return daemon.ask("call_tool", params, { deadlineMs: settings.toolDeadlineMs, signal });
      };
      const wiki = { list: supplements, who: askedBy(context, agent), deadlineMs: settings.toolDeadlineMs };
      const cfg = config();
      const call = {
        context, cfg, agent, entries, given: argumentsOf(given), wiki, ask,
        describe: (/** @type {string[]} */ paths) => describe(workspaceOf(cfg ?? {}, agent ?? MAIN), paths),
      };
      try {
        const answer = withNotice(await (CARRIED_OUT.get(name) ?? plain)(call));
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
async function searchMemory(call, recall) {
  const wide = { maxResults: MAX_RECALLED, maxChars: MAX_SEARCH_CHARS, ...(recall?.corpus === "sessions" ? { corpus: "sessions" } : {}) };
  const reply = await call.ask(recall === undefined ? undefined : wide);
  if (reply.ok !== true) return { status: "error", ...reply.result };
  /** @type {{ results: SearchRow[], [key: string]: any }} */
  const { results, degraded, ...rest } = reply.result;
  const { maxResults = recall === undefined ? results.length : undefined, maxChars } = limitsOf(call.given);
  let shown = await shownRows(call, results, recall);
  const withheld = results.length - shown.length;
  if (withheld > 0 && recall === undefined) {
    const more = await call.ask(wide).catch(() => reply); // what is withheld takes no place
    shown = await shownRows(call, more.result?.results ?? results, recall);
  }
  return {
    results: recall === undefined && withheld === 0 ? shown : fitting(shown.slice(0, maxResults), maxChars),
    ...rest,
    ...(withheld > 0 ? { withheld } : {}),
    ...(degraded ? { degraded, partial: true, warning: degraded.reason, action: degraded.hint } : {}),
  };
}

/**
 * Return the rows that the session may see, with their corpus and provenance.
 * @param {Call} call
 * @param {SearchRow[]} rows
 * @param {ConversationRecall | undefined} recall
 * @returns {Promise<SearchRow[]>}
 */
async function shownRows(call, rows, recall) {
  const cited = rows.flatMap(({ supersededBy }) => CITED.exec(supersededBy ?? "")?.[1] ?? []);
  const notes = await call.describe([...pathsOfNotes(rows), ...cited]);
  const asHits = cited.map((path) => ({ path, source: path.startsWith("sessions/") ? "sessions" : "memory" }));
  const citable = new Set(visible(call, asHits, notes, recall).map(({ path }) => path));
  return visible(call, rows, notes, recall).map(({ supersededBy, ...row }) => ({
    ...row,
    ...(supersededBy !== undefined && citable.has(CITED.exec(supersededBy)?.[1] ?? "") ? { supersededBy } : {}),
    corpus: row.source,
    provenance: lowered(notes.get(row.path)?.provenance ?? provenance(undefined, undefined), row.origin),
  }));
}

/**
 * Return the hits that the session may see.
 * @template {{ path: string, source: string }} Hit
 * @param {Call} call
 * @param {Hit[]} hits
 * @param {Map<string, NoteFacts>} notes
 * @param {ConversationRecall | undefined} recall
 * @returns {Hit[]}
 */
function visible({ context, cfg, agent, entries }, hits, notes, recall) {
  const sandboxed = context.sandboxed === true;
  const asked = { cfg, agent, requester: context.sessionKey, sandboxed, entries, noteSessions: sessionsOf(notes) };
  return recall === undefined ? visibleHits(hits, asked) : recalledHits(hits, { ...asked, recall });
}

/**
 * Read lines of a note, of a page of a wiki, or of whichever is there.
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function read(call) {
  const { given: { path, from, lines: count, corpus }, wiki } = call;
  if ((corpus !== "wiki" && corpus !== "all") || typeof path !== "string" || path.trim() === "") return await readNote(call);
  const pages = () => readWiki({ path, from: positive(from), lines: positive(count) }, wiki);
  if (corpus === "wiki") {
    const { page, outcome } = await pages();
    const missed = outcome.outcome === "unavailable" ? "error" : "not_found";
    return { ...(page ?? { status: missed, path, text: "" }), ...corporaOf([outcome]) };
  }
  const note = await readNote(call).catch((/** @type {unknown} */ error) => readFailed(path, error));
  if (note.status === "ok") return note;
  const { page, outcome } = await pages();
  return { ...(page ?? note), ...corporaOf([outcome]) };
}

/**
 * Read lines of a note that the session may see.
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function readNote(call) {
  const note = lines(await call.ask());
  if (note.status !== "ok" || typeof note.path !== "string") return note;
  const notes = await call.describe([note.path]);
  const facts = notes.get(note.path);
  const hit = { path: note.path, source: "memory" };
  if (facts?.session !== undefined && visible(call, [hit], notes, call.context.conversationRecall).length === 0) {
    return { status: "not_found", path: note.path, text: "", reason: NOT_VISIBLE };
  }
  return { ...note, provenance: facts?.provenance };
}

/**
 * Find or forget facts; each has the provenance of its note.
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function factRows(call) {
  const answer = await plain(call);
  const lists = { facts: answer.facts, candidates: answer.candidates };
  const given = Object.entries(lists).filter(([, rows]) => Array.isArray(rows));
  const notes = await call.describe(given.flatMap(([, rows]) => rows.map((/** @type {Answer} */ row) => row.path)));
  const described = given.map(([name, rows]) => [
    name, rows.map((/** @type {Answer} */ row) => ({ ...row, provenance: lowered(notes.get(row.path)?.provenance, row.origin) })),
  ]);
  return { ...answer, ...Object.fromEntries(described) };
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
  ["memory_recall", factRows],
  ["memory_forget", factRows],
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
