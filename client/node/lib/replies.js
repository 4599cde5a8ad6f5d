// Validation of replies: required fields are checked, and fields that an older daemon leaves out get their defaults.

import { MemdError } from "./errors.js";
import { REPLIES, SHAPES } from "./shapes.js";

/** @type {Record<string, string>} */
const RECORDS = { ...REPLIES, progress: "Progress", event: "Event" };

/**
 * Return a reply with its defaults filled in; the reply to a request that this release doesn't know stays unchanged.
 * @param {string} name The request, or `progress` or `event`.
 * @param {Record<string, unknown>} value The received map; changed in place.
 * @returns {Record<string, unknown>}
 * @throws {MemdError} `frame_invalid`: a required field is missing, or a number is not finite.
 */
export function parseReply(name, value) {
  const record = Object.hasOwn(RECORDS, name) ? RECORDS[name] : undefined;
  requireFinite(value, name, "it");
  return record === undefined ? value : complete(record, value, `the daemon's reply to ${name}`);
}

/**
 * Throw if a number in a received value is infinite or NaN: neither can be compared or is JSON.
 * @param {unknown} value
 * @param {string} name The request.
 * @param {string} field The field that has the value.
 */
function requireFinite(value, name, field) {
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new MemdError("frame_invalid", `the daemon's reply to ${name} is invalid: \`${field}\` is ${value}, not a finite number`);
  } else if (Array.isArray(value)) {
    for (const each of value) requireFinite(each, name, field);
  } else if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) {
    for (const [key, each] of Object.entries(value)) requireFinite(each, name, key);
  }
}

/**
 * @param {string} record
 * @param {unknown} value
 * @param {string} source What the record is part of, for error messages.
 * @returns {Record<string, unknown>}
 */
function complete(record, value, source) {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw incomplete(source, record, "it");
  const { needs = [], defaults = {}, holds = {} } = SHAPES[record];
  const fields = /** @type {Record<string, unknown>} */ (value);
  const missing = needs.find((field) => fields[field] === undefined);
  if (missing !== undefined) throw incomplete(source, record, missing);
  for (const [field, fallback] of Object.entries(defaults)) {
    if (fields[field] === undefined) fields[field] = structuredClone(fallback);
  }
  for (const [field, [inner, many]] of Object.entries(holds)) {
    const nested = fields[field];
    if (nested === null) continue;
    if (!many) complete(inner, nested, source);
    else if (Array.isArray(nested)) nested.forEach((each) => complete(inner, each, source));
    else throw incomplete(source, record, field);
  }
  return fields;
}

/** @type {(source: string, record: string, field: string) => MemdError} */
function incomplete(source, record, field) {
  return new MemdError("frame_invalid", `${source} is incomplete: \`${field}\` of ${record}`);
}
