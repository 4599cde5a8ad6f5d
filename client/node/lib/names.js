// Checks of option and parameter names: an unknown one is rejected, with a hint of the most similar known one.

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
  "stateDir",
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
 * Reject parameters and options that a request doesn't take. Parameters of a request that this release doesn't know are
 * checked by the daemon.
 * @param {string} name The request.
 * @param {unknown} params
 * @param {unknown} options
 * @throws {MemdError} `bad_params`.
 */
export function checkCall(name, params, options) {
  const callOptions = name === "subscribe" ? SUBSCRIBE_OPTIONS : CALL_OPTIONS;
  checkNames(name, "parameter", params, Object.hasOwn(PARAMS, name) ? PARAMS[name] : undefined, callOptions);
  checkNames(name, "option", options, callOptions);
}

/**
 * @param {string} what The request, or `new Client`.
 * @param {string} kind `parameter` or `option`.
 * @param {unknown} given
 * @param {readonly string[]} [known] The allowed names; undefined: any.
 * @param {readonly string[]} [options] Names that belong in the second argument.
 */
function checkNames(what, kind, given, known, options = []) {
  if (given === null || typeof given !== "object" || Array.isArray(given)) {
    throw new MemdError("bad_params", `${what} takes ${kind}s by name`, {
      hint: `pass an object such as \`{ ${known?.[0] ?? "name"}: … }\``,
    });
  }
  if (known === undefined) return;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || known.includes(name)) continue;
    throw new MemdError("bad_params", `${what} takes no ${kind} \`${name}\``, {
      hint: options.includes(name)
        ? `pass \`${name}\` in the second argument, the options of the call`
        : hintFor(name, known),
    });
  }
}

/** @type {(name: string, known: readonly string[]) => string} */
function hintFor(name, known) {
  const ranked = known.map((each) => ({ each, edits: edits(plain(name), plain(each)) }));
  const best = ranked.reduce((a, b) => (b.edits < a.edits ? b : a), { each: "", edits: Infinity });
  if (best.edits <= Math.max(1, Math.floor(plain(name).length / 3))) return `did you mean \`${best.each}\`?`;
  if (known.length === 0) return "leave it out: the request takes no parameters";
  return `use one of ${known.map((each) => `\`${each}\``).join(", ")}`;
}

/** @type {(name: string) => string} Normalizes a name, so that `maxResults` equals `max_results`. */
function plain(name) {
  return name.toLowerCase().replaceAll("_", "");
}

/** @type {(a: string, b: string) => number} Returns the Levenshtein distance. */
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
