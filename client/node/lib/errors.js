// The error class of this client, for errors of the daemon and of the connection.

import { HINTS, RETRYABLE_CODES } from "./codes.js";

/** An error with a code of docs/errors.md; a code that this release doesn't know is kept unchanged. */
export class MemdError extends Error {
  /**
   * @param {string} code A code of docs/errors.md.
   * @param {string} [message] What failed, on which object, and the cause.
   * @param {{ hint?: string, data?: Record<string, unknown>, cause?: unknown }} [more] A hint more exact than the code's
   *     own, and small structured details (never memory text, keys or tokens).
   */
  constructor(code, message = "", { hint, data, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "MemdError";
    this.code = code;
    this.hint = hint ?? HINTS[code] ?? HINTS.internal;
    /** @type {Record<string, unknown>} */
    this.data = { ...data };
  }

  /** Whether the same request may succeed if it is sent again in a moment. */
  get retryable() {
    return RETRYABLE_CODES.has(this.code);
  }

  /** Return the error as a map for the wire: `{code, message, data}`, with the hint in data. */
  toWire() {
    return { code: this.code, message: this.message, data: { ...this.data, hint: this.hint } };
  }

  /**
   * Return the error of a response.
   * @param {unknown} value The error field of the response.
   */
  static fromWire(value) {
    const shape = mapOf(value);
    const { hint, ...data } = mapOf(shape.data);
    const said = { hint: typeof hint === "string" ? hint : undefined, data };
    return new MemdError(String(shape.code ?? "internal"), String(shape.message ?? ""), said);
  }
}

/**
 * Return a copy of an error, for another request that fails for the same reason.
 * @param {MemdError} error The reason.
 * @param {boolean} sent Whether any byte of the request may have been sent; if not, the copy has `data.sent: false`.
 */
export function copyError(error, sent) {
  const { hint, data, message, code } = error;
  return new MemdError(code, message, { hint, data: sent ? data : { ...data, sent: false } });
}

/**
 * @param {unknown} value
 * @returns {Record<string, unknown>} The value if it is a map, else an empty one.
 */
function mapOf(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
    ? /** @type {Record<string, unknown>} */ (value)
    : {};
}
