// One call of a client: its deadline, its signal and its progress, over as many connections as it takes.

import { MemdError } from "./errors.js";
import { mayRepeat } from "./requests.js";

/** Longest time a timer of Node takes; longer deadlines are none. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A request under way. Used once. */
export class Call {
  #name;
  #params;
  #options;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {MemdError | undefined} Why it was given up. */
  #givenUp;
  /** @type {(error: MemdError) => void} Ends whatever it waits for. */
  #stop = () => {};

  /**
   * @param {string} name
   * @param {Record<string, unknown>} params
   * @param {object} options
   * @param {number} options.deadlineMs How long all of it may take, connecting included.
   * @param {boolean} options.renews Progress starts that time anew.
   * @param {AbortSignal} [options.signal] Gives it up; the daemon is told to stop.
   * @param {(progress: import("./messages.js").Progress) => void} [options.onProgress]
   */
  constructor(name, params, options) {
    this.#name = name;
    this.#params = params;
    this.#options = options;
  }

  /**
   * Send it, and once more where its connection broke and that may be.
   * @param {() => Promise<import("./connection.js").Connection>} connected Returns a connection that isn't known to be
   *     broken.
   * @param {boolean} repeatable Whether it may be carried out twice.
   * @returns {Promise<Record<string, unknown>>} The reply.
   */
  async run(connected, repeatable) {
    const { signal } = this.#options;
    const abort = () => this.#giveUp(cancelled(this.#name, signal));
    if (signal?.aborted) throw cancelled(this.#name, signal);
    signal?.addEventListener("abort", abort, { once: true });
    this.#startTimer();
    try {
      try {
        return await this.#once(connected);
      } catch (error) {
        if (this.#givenUp !== undefined || !mayRepeat(error, repeatable)) throw error;
      }
      return await this.#once(connected);
    } finally {
      clearTimeout(this.#timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * @param {() => Promise<import("./connection.js").Connection>} connected
   * @returns {Promise<Record<string, unknown>>}
   */
  async #once(connected) {
    const connection = await this.#unlessGivenUp(connected());
    return new Promise((resolve, reject) => {
      if (this.#givenUp !== undefined) throw this.#givenUp;
      const exchange = connection.begin(this.#name, this.#params, {
        onReply: resolve,
        onFailure: reject,
        onStep: (progress) => this.#tell(progress),
      });
      this.#stop = (error) => {
        connection.end(exchange);
        reject(error);
      };
    });
  }

  /**
   * Wait for a connection, but not longer than this call may take; others may go on waiting for it.
   * @param {Promise<import("./connection.js").Connection>} connecting
   * @returns {Promise<import("./connection.js").Connection>}
   */
  #unlessGivenUp(connecting) {
    return new Promise((resolve, reject) => {
      this.#stop = reject;
      connecting.then(resolve, reject);
    });
  }

  /**
   * Pass on a progress; a callback that throws ends the call with what it threw, and nothing else.
   * @param {import("./messages.js").Progress} progress
   */
  #tell(progress) {
    if (this.#options.renews) this.#startTimer();
    try {
      this.#options.onProgress?.(progress);
    } catch (error) {
      this.#giveUp(/** @type {MemdError} */ (error));
    }
  }

  #startTimer() {
    clearTimeout(this.#timer);
    const { deadlineMs } = this.#options;
    if (deadlineMs > LONGEST_TIMER_MS) return;
    // After what has arrived was read: this process may have been busy itself.
    const late = () => setImmediate(() => this.#giveUp(tooLate(this.#name, deadlineMs)));
    this.#timer = setTimeout(late, Math.max(0, deadlineMs));
  }

  /** @param {MemdError} error */
  #giveUp(error) {
    if (this.#givenUp !== undefined) return;
    this.#givenUp = error;
    this.#stop(error);
  }
}

/** @type {(name: string, signal: AbortSignal | undefined) => MemdError} */
function cancelled(name, signal) {
  return new MemdError("cancelled", `${name} was given up before its reply`, { cause: signal?.reason });
}

/** @type {(name: string, deadlineMs: number) => MemdError} */
function tooLate(name, deadlineMs) {
  return new MemdError("deadline_exceeded", `no reply to ${name} in ${deadlineMs / 1000} s`);
}
