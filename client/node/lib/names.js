// Names of options and parameters: an unknown one is refused, with the one that was probably meant.

import { MemdError } from "./errors.js";
import { PARAMS } from "./shapes.js";

/** Options of `new Client`. */
const CLIENT_OPTIONS = [
  "socketPath",
  "agent",
  "timeoutMs",
  "connectTimeoutMs",
  "autostart",
  "daemonCommand",
  "clientName",
];

/** Options of every request, and of `subscribe`. */
const CALL_OPTIONS = ["signal", "timeoutMs", "onProgress", "repeatable"];
const SUBSCRIBE_OPTIONS = ["signal"];

/** @type {(options: unknown) => void} */
export function checkClientOptions(options) {
  checkNames("new Client", "option", options, CLIENT_OPTIONS);
}

/**
 * Refuse parameters and options that a request doesn't take. Parameters of a request that this release doesn't know are
 * left to the daemon.
 * @param {string} name The request.
 * @param {unknown} params
 * @param {unknown} options
 * @throws {MemdError} `bad_params`.
 */
export function checkCall(name, params, options) {
  const taken = name === "subscribe" ? SUBSCRIBE_OPTIONS : CALL_OPTIONS;
  checkNames(name, "parameter", params, Object.hasOwn(PARAMS, name) ? PARAMS[name] : undefined, taken);
  checkNames(name, "option", options, taken);
}

/**
 * @param {string} what Whose names they are.
 * @param {string} kind What each is.
 * @param {unknown} given
 * @param {readonly string[]} [known] None: any name will do.
 * @param {readonly string[]} [options] What belongs into the second argument.
 */
function checkNames(what, kind, given, known, options = []) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new MemdError("bad_params", `${what} takes ${kind}s by name`, {
      hint: `Give a map such as \`{ ${known?.[0] ?? "name"}: … }\`.`,
    });
  }
  if (known === undefined) return;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    throw new MemdError("bad_params", `${what} takes no ${kind} \`${name}\``, {
      hint: options.includes(name)
        ? `Give \`${name}\` in the second argument, the options of the call.`
        : wayOut(name, known),
    });
  }
}

/** @type {(name: string, known: readonly string[]) => string} */
function wayOut(name, known) {
  const ranked = known.map((each) => ({ each, edits: edits(plain(name), plain(each)) }));
  const best = ranked.reduce((a, b) => (b.edits < a.edits ? b : a), { each: "", edits: Infinity });
  if (best.edits <= Math.max(1, Math.floor(plain(name).length / 3))) return `Did you mean \`${best.each}\`?`;
  return known.length === 0 ? "It takes none." : `It takes ${known.map((each) => `\`${each}\``).join(", ")}.`;
}

/** @type {(name: string) => string} `maxResults` and `max_results` are the same name. */
function plain(name) {
  return name.toLowerCase().replaceAll("_", "");
}

/** @type {(a: string, b: string) => number} How many characters to insert, delete or replace (Levenshtein). */
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[b.length];
}
