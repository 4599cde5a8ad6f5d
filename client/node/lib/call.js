// One call of a client: its deadline, its signal and its progress, over one or two connections.

import { MemdError } from "./errors.js";
import { canRepeat } from "./requests.js";

/** The longest time of a Node timer; a longer deadline counts as none. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A running request. Used once. */
export class Call {
  #name;
  #params;
  #options;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {MemdError | undefined} Why the client stopped waiting. */
  #stopReason;
  /** @type {(error: MemdError) => void} Ends the present wait. */
  #stop = () => {};

  /**
   * @param {string} name
   * @param {Record<string, unknown>} params
   * @param {object} options
   * @param {number} options.deadlineMs The longest time until the reply, connecting included.
   * @param {boolean} options.renewsDeadline Each progress restarts that time.
   * @param {AbortSignal} [options.signal] Cancels the request, at the daemon too.
   * @param {(progress: import("./messages.js").Progress) => void} [options.onProgress]
   */
  constructor(name, params, options) {
    this.#name = name;
    this.#params = params;
    this.#options = options;
  }

  /**
   * Send it, and send it again if its connection broke and the request may be repeated.
   * @param {() => Promise<import("./connection.js").Connection>} connected Returns a connection that isn't known to be
   *     broken.
   * @param {boolean} repeatable Whether the daemon may execute it twice.
   * @returns {Promise<Record<string, unknown>>} The reply.
   */
  async run(connected, repeatable) {
    const { signal } = this.#options;
    const abort = () => this.#cancel(cancelled(this.#name, signal));
    if (signal?.aborted) throw cancelled(this.#name, signal);
    signal?.addEventListener("abort", abort, { once: true });
    this.#startTimer();
    try {
      try {
        return await this.#send(connected);
      } catch (error) {
        if (this.#stopReason !== undefined || !canRepeat(error, repeatable)) throw error;
      }
      return await this.#send(connected);
    } finally {
      clearTimeout(this.#timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * @param {() => Promise<import("./connection.js").Connection>} connected
   * @returns {Promise<Record<string, unknown>>}
   */
  async #send(connected) {
    const connection = await this.#untilStopped(connected());
    return new Promise((resolve, reject) => {
      if (this.#stopReason !== undefined) throw this.#stopReason;
      const exchange = connection.begin(this.#name, this.#params, {
        onReply: resolve,
        onFailure: reject,
        onStep: (progress) => this.#report(progress),
      });
      this.#stop = (error) => {
        connection.end(exchange);
        reject(error);
      };
    });
  }

  /**
   * Wait for a connection within this call's deadline; other calls may wait for it longer.
   * @param {Promise<import("./connection.js").Connection>} connecting
   * @returns {Promise<import("./connection.js").Connection>}
   */
  #untilStopped(connecting) {
    return new Promise((resolve, reject) => {
      this.#stop = reject;
      connecting.then(resolve, reject);
    });
  }

  /**
   * Call `onProgress`; an exception of the callback fails this call alone.
   * @param {import("./messages.js").Progress} progress
   */
  #report(progress) {
    if (this.#options.renewsDeadline) this.#startTimer();
    try {
      this.#options.onProgress?.(progress);
    } catch (error) {
      this.#cancel(/** @type {MemdError} */ (error));
    }
  }

  #startTimer() {
    clearTimeout(this.#timer);
    const { deadlineMs } = this.#options;
    if (deadlineMs > MAX_TIMER_MS) return;
    // `setImmediate` reads arrived data first: this process may have been too busy to read a reply in time.
    const expire = () => setImmediate(() => this.#cancel(deadlineExceeded(this.#name, deadlineMs)));
    this.#timer = setTimeout(expire, Math.max(0, deadlineMs));
  }

  /** @param {MemdError} error */
  #cancel(error) {
    if (this.#stopReason !== undefined) return;
    this.#stopReason = error;
    this.#stop(error);
  }
}

/** @type {(name: string, signal: AbortSignal | undefined) => MemdError} */
function cancelled(name, signal) {
  return new MemdError("cancelled", `${name} was cancelled before its reply`, { cause: signal?.reason });
}

/** @type {(name: string, deadlineMs: number) => MemdError} */
function deadlineExceeded(name, deadlineMs) {
  return new MemdError("deadline_exceeded", `no reply to ${name} in ${deadlineMs / 1000} s`);
}
