// The one error of this client: what the daemon answered, or why it could not be asked.

import { HINTS } from "./codes.js";

/** Codes after which the same request may succeed in a moment, without anybody changing anything. */
const RETRYABLE = new Set([
  "agent_reloading",
  "connection_lost",
  "daemon_busy",
  "deadline_exceeded",
  "idle_timeout",
  "index_closed",
  "index_lost",
  "model_child",
  "provider_rate_limited",
  "provider_unreachable",
  "shutting_down",
  "too_many_connections",
  "too_many_requests",
]);

/** An error with a code of docs/errors.md; a code this release doesn't know is kept as it came. */
export class MemdError extends Error {
  /**
   * @param {string} code One of the closed set.
   * @param {string} [message] One sentence that names the thing that went wrong.
   * @param {{ hint?: string, data?: Record<string, unknown>, cause?: unknown }} [more] The way out where it is more
   *     exact than the code's own, and small structured facts (never memory text, keys or tokens).
   */
  constructor(code, message = "", { hint, data, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MemdError";
    this.code = code;
    this.hint = hint ?? HINTS[code] ?? HINTS.internal;
    /** @type {Record<string, unknown>} */
    this.data = { ...data };
  }

  /** Whether to ask again in a moment may help. */
  get retryable() {
    return RETRYABLE.has(this.code);
  }

  /** Return the error's one shape on the wire: `{code, message, data}`, the hint inside data. */
  toWire() {
    return { code: this.code, message: this.message, data: { ...this.data, hint: this.hint } };
  }

  /**
   * Return the error a reply carried.
   * @param {unknown} value What stood in the reply's error slot.
   */
  static fromWire(value) {
    const shape = mapOf(value);
    const { hint, ...data } = mapOf(shape.data);
    const said = { hint: typeof hint === "string" ? hint : undefined, data };
    return new MemdError(String(shape.code ?? "internal"), String(shape.message ?? ""), said);
  }
}

/**
 * Return an error as a new one, for another request that fails for the same reason.
 * @param {MemdError} error The reason.
 * @param {boolean} sent Whether something of the request may have gone out; `data.sent` is false where nothing did.
 */
export function again(error, sent) {
  const { hint, data, message, code } = error;
  return new MemdError(code, message, { hint, data: sent ? data : { ...data, sent: false } });
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} The value where it is a map, else an empty one.
 */
function mapOf(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? /** @type {Record<string, unknown>} */ (value)
    : {};
}
