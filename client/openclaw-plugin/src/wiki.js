/**
 * Wikis that other plugins register with OpenClaw as supplements of memory. A failure there only affects their results,
 * and is reported.
 */

/** @import { CorpusOutcome, ListSupplements, Supplement, ToolContext, WikiPage, WikiRow } from "./types.js" */

import { messageAndHint } from "./daemon.js";

const MAX_RESULTS = 10; // what OpenClaw's own memory returns if a model gives no number

/**
 * Return what OpenClaw's plugins registered; an older or newer OpenClaw may not tell.
 * @type {ListSupplements}
 */
export async function listSupplements() {
  const sdk = await import("openclaw/plugin-sdk/memory-core-host-runtime-core");
  return sdk.listMemoryCorpusSupplements();
}

/**
 * Search all wikis, best page first.
 * @param {{ query: string, maxResults: number | undefined }} asked
 * @param {{ list: ListSupplements, who: Record<string, unknown>, deadlineMs: number }} parts `who` asks, as OpenClaw names it
 * @returns {Promise<{ rows: WikiRow[], outcome: CorpusOutcome }>}
 */
export async function searchWiki({ query, maxResults }, { list, who, deadlineMs }) {
  const asked = { query, ...(maxResults === undefined ? {} : { maxResults }), ...who };
  const { values, outcome } = await askAll(list, deadlineMs, (supplement) => supplement.search(asked));
  const rows = values.flat().sort((one, other) => other.score - one.score || (one.path < other.path ? -1 : 1));
  return { rows: rows.slice(0, maxResults ?? MAX_RESULTS), outcome };
}

/**
 * Read a page of the first wiki that has it; null if none has.
 * @param {{ path: string, from: number | undefined, lines: number | undefined }} asked
 * @param {{ list: ListSupplements, who: Record<string, unknown>, deadlineMs: number }} parts
 * @returns {Promise<{ page: Record<string, unknown> | null, outcome: CorpusOutcome }>}
 */
export async function readWiki({ path, from, lines }, { list, who, deadlineMs }) {
  const range = { ...(from === undefined ? {} : { fromLine: from }), ...(lines === undefined ? {} : { lineCount: lines }) };
  const ask = (/** @type {Supplement} */ supplement) => supplement.get({ lookup: path, ...range, ...who });
  const { values, outcome } = await askAll(list, deadlineMs, ask);
  const found = values.find((page) => page !== null);
  if (!found) return { page: null, outcome };
  const { content, ...rest } = /** @type {WikiPage} */ (found);
  return { page: { ...rest, status: "ok", text: content }, outcome };
}

/**
 * Return who asks, as supplements want to know it.
 * @param {ToolContext} context
 * @param {string | undefined} agent
 */
export function askedBy({ sessionKey, sandboxed }, agent) {
  return {
    ...(agent === undefined ? {} : { agentId: agent }),
    ...(sessionKey === undefined ? {} : { agentSessionKey: sessionKey }),
    sandboxed: sandboxed === true,
  };
}

/**
 * Return notes and pages as one list in which neither crowds out the other: each gets half, and what the other leaves.
 * @template {{ score: number, snippet: string }} Row
 * @param {Row[]} notes in their order
 * @param {Row[]} pages in theirs
 * @param {{ maxResults: number | undefined, maxChars: number }} limits
 * @returns {Row[]}
 */
export function merged(notes, pages, { maxResults = Infinity, maxChars }) {
  const counted = halved(notes, pages, maxResults, () => 1);
  const [first, second] = halved(...counted, maxChars, ({ snippet }) => snippet.length);
  if (first.length + second.length === 0) return [...notes, ...pages].slice(0, 1);
  /** @type {Row[]} */
  const rows = [];
  for (const note of first) {
    const after = second.findIndex(({ score }) => score <= note.score);
    rows.push(...second.splice(0, after === -1 ? second.length : after), note);
  }
  return [...rows, ...second];
}

/**
 * Return the first rows whose snippets together have at most so many characters, and at least one row.
 * @template {{ snippet: string }} Row
 * @param {Row[]} rows
 * @param {number} maxChars
 * @returns {Row[]}
 */
export function fitting(rows, maxChars) {
  return rows.slice(0, Math.max(1, within(rows, maxChars, ({ snippet }) => snippet.length).length));
}

/**
 * @template Row
 * @param {Row[]} notes
 * @param {Row[]} pages
 * @param {number} limit
 * @param {(row: Row) => number} sizeOf
 * @returns {[Row[], Row[]]}
 */
function halved(notes, pages, limit, sizeOf) {
  const first = within(notes, Math.max(Math.ceil(limit / 2), limit - sumOf(pages, sizeOf)), sizeOf);
  return [first, within(pages, limit - sumOf(first, sizeOf), sizeOf)];
}

/**
 * Return the rows before the first that doesn't fit a limit.
 * @template Row
 * @param {Row[]} rows
 * @param {number} limit
 * @param {(row: Row) => number} sizeOf
 */
function within(rows, limit, sizeOf) {
  let left = limit;
  const end = rows.findIndex((row) => (left -= sizeOf(row)) < 0);
  return end === -1 ? rows : rows.slice(0, end);
}

/**
 * @template Row
 * @param {Row[]} rows
 * @param {(row: Row) => number} sizeOf
 */
function sumOf(rows, sizeOf) {
  return rows.reduce((sum, row) => sum + sizeOf(row), 0);
}

/**
 * Ask every wiki, within the deadline, and keep what those that answer say.
 * @template T
 * @param {ListSupplements} list
 * @param {number} deadlineMs
 * @param {(supplement: Supplement) => Promise<T>} ask
 * @returns {Promise<{ values: T[], outcome: CorpusOutcome }>}
 */
async function askAll(list, deadlineMs, ask) {
  const signal = AbortSignal.timeout(deadlineMs);
  const late = new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error(`no answer within ${deadlineMs} ms`)), { once: true });
  });
  late.catch(() => {});
  let registered;
  try {
    registered = await Promise.race([list(), /** @type {Promise<never>} */ (late)]);
  } catch (error) {
    return { values: [], outcome: { corpus: "wiki", outcome: "unavailable", error: messageAndHint(error).message } };
  }
  if (registered.length === 0) return { values: [], outcome: { corpus: "wiki", outcome: "not-registered" } };
  const settled = await Promise.allSettled(
    registered.map(async ({ supplement }) => Promise.race([ask(supplement), /** @type {Promise<never>} */ (late)])),
  );
  const values = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const errors = settled.flatMap((each, at) =>
    each.status === "rejected" ? [`${registered[at]?.pluginId}: ${messageAndHint(each.reason).message}`] : [],
  );
  return {
    values,
    outcome: errors.length === 0
      ? { corpus: "wiki", outcome: "ok" }
      : { corpus: "wiki", outcome: "unavailable", error: errors.join("; ") },
  };
}
