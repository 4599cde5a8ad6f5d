/**
 * Results of tools in OpenClaw's shape: the same map as JSON for the model and as `details` for the host. Pure.
 */

/** @import { CorpusOutcome, ToolResult } from "./types.js" */

import { codeOf, isAbsent, told } from "./daemon.js";

/** Characters that show nothing or turn what is shown around; none of them stands outside of strings in JSON. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Return a result that holds a map.
 * @param {Record<string, unknown>} payload
 * @returns {ToolResult}
 */
export function toolResult(payload) {
  return { content: [{ type: "text", text: asJson(payload) }], details: payload };
}

/**
 * Return the result of a search: the model reads the place of a hit once, the host also has it as `citation`.
 * @param {Record<string, any>} payload
 * @returns {ToolResult}
 */
export function searchResult(payload) {
  const { content } = toolResult(payload);
  if (payload.citations !== "on") return { content, details: payload };
  return { content, details: { ...payload, results: payload.results.map(cited) } };
}

/** @param {Record<string, any>} row */
function cited(row) {
  if (row.citation !== undefined || row.startLine === undefined) return row;
  const last = row.endLine === row.startLine ? "" : `-L${row.endLine}`;
  return { ...row, citation: `${row.path}#L${row.startLine}${last}` };
}

/**
 * Return a map as JSON in which unseen characters are written out; decoded it is the same map.
 * @param {unknown} payload
 */
export function asJson(payload) {
  return JSON.stringify(payload).replace(UNSEEN, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/**
 * Return what `memory_search` answers where memory can't be searched.
 * @param {unknown} error
 */
export function searchUnavailable(error) {
  const { message } = told(error);
  const late = codeOf(error) === "deadline_exceeded";
  const warning = late ? "Memory did not answer in time." : `Memory search is unavailable: ${message}`;
  const action = wayOut(error);
  return {
    results: [],
    disabled: true,
    unavailable: true,
    ...(late ? { timedOut: true } : {}),
    code: codeOf(error),
    error: message,
    warning,
    action,
    debug: { warning, action, error: message },
  };
}

/**
 * Return what became of the corpora that were asked for, and what a model has to tell of it.
 * @param {CorpusOutcome[]} corpora
 * @returns {{ corpora: CorpusOutcome[], warning?: string }}
 */
export function corporaOf(corpora) {
  const warnings = corpora.flatMap(({ corpus, outcome, error }) => {
    if (outcome === "unavailable") return [`The corpus ${corpus} is unavailable: ${error}.`];
    return outcome === "not-registered" && corpora.length === 1 ? [`The corpus ${corpus} is not registered.`] : [];
  });
  return { corpora, ...(warnings.length === 0 ? {} : { warning: warnings.join(" ") }) };
}

/**
 * Return what `memory_get` answers where a file can't be read.
 * @param {string} path
 * @param {unknown} error
 */
export function readFailed(path, error) {
  if (codeOf(error) === "file_missing") return { status: "not_found", path, text: "" };
  return { status: "error", path, text: "", ...failure(error) };
}

/**
 * Return what a tool for facts answers where nothing could be done.
 * @param {unknown} error
 */
export function factsFailed(error) {
  return { status: "error", unavailable: isAbsent(error), ...failure(error) };
}

/** @param {unknown} error */
function failure(error) {
  return { code: codeOf(error), error: told(error).message, action: wayOut(error) };
}

/** @param {unknown} error */
function wayOut(error) {
  const { hint } = told(error);
  const tell = "Tell the user that memory could not be looked into";
  return hint === "" ? `${tell}.` : `${tell}. For whoever runs it: ${hint}`;
}
