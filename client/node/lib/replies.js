// A reply as its type: checked for what it has to hold, and completed where an older daemon leaves something out.

import { MemdError } from "./errors.js";
import { REPLIES, SHAPES } from "./shapes.js";

/** @type {Record<string, string>} */
const RECORDS = { ...REPLIES, progress: "Progress", event: "Event" };

/**
 * Return a reply as its type; one to a request that this release doesn't know is returned as it came.
 * @param {string} name The request, or `progress` or `event`.
 * @param {Record<string, unknown>} value What arrived; completed in place.
 * @returns {Record<string, unknown>}
 * @throws {MemdError} `frame_invalid`: something is missing.
 */
export function typed(name, value) {
  const record = Object.hasOwn(RECORDS, name) ? RECORDS[name] : undefined;
  return record === undefined ? value : complete(record, value, `the daemon's reply to ${name}`);
}

/**
 * @param {string} record
 * @param {unknown} value
 * @param {string} where
 * @returns {Record<string, unknown>}
 */
function complete(record, value, where) {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw incomplete(where, record, "it");
  const { needs = [], defaults = {}, holds = {} } = SHAPES[record];
  const fields = /** @type {Record<string, unknown>} */ (value);
  const missing = needs.find((field) => fields[field] === undefined);
  if (missing !== undefined) throw incomplete(where, record, missing);
  for (const [field, fallback] of Object.entries(defaults)) {
    if (fields[field] === undefined) fields[field] = structuredClone(fallback);
  }
  for (const [field, [inner, many]] of Object.entries(holds)) {
    const held = fields[field];
    if (held === null) continue;
    if (!many) complete(inner, held, where);
    else if (Array.isArray(held)) held.forEach((each) => complete(inner, each, where));
    else throw incomplete(where, record, field);
  }
  return fields;
}

/** @type {(where: string, record: string, field: string) => MemdError} */
function incomplete(where, record, field) {
  return new MemdError("frame_invalid", `${where} is incomplete: \`${field}\` of ${record}`);
}
