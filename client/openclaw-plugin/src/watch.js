/**
 * Whether the daemon answers at all. A daemon that hangs still accepts connections and bytes, so an unanswered probe is the only
 * sign. Probes run in the background from the first late reply until one is answered; meanwhile nothing waits for the daemon.
 */

import { setTimeout as wait } from "node:timers/promises";

import { codeOf } from "./daemon.js";

/** A call of a tool waits this long for a silent daemon, since it may only be busy. */
const HANG_MS = 3_000;

const PROBE_MS = 5_000; // a daemon that continues answers a probe that waits, so recovery shows at once
const PAUSE_MS = 250;

export class Watch {
  #probe;
  #doubtMs;
  #on;
  #silent = new AbortController();
  #hung = new AbortController();
  /** @type {symbol | undefined} the running series of probes */
  #running;
  #since = 0;

  /**
   * @param {(timeoutMs: number) => Promise<unknown>} probe sends the cheapest request, and never starts a daemon
   * @param {{ doubtMs: number, onHang: (error: Error) => void, onReturn: () => void }} options `doubtMs`: after this time a reply
   *     is late, and so is the answer to the first probe
   */
  constructor(probe, { doubtMs, ...on }) {
    this.#probe = probe;
    this.#doubtMs = doubtMs;
    this.#on = on;
  }

  /** Aborted once a probe was not answered in time: what delays a turn stops waiting. */
  get silent() {
    return this.#silent.signal;
  }

  /** Aborted once the silence has lasted: calls of tools stop waiting too. */
  get hung() {
    return this.#hung.signal;
  }

  /** Return a timer that starts probing if its request is late; the request clears it. */
  timer() {
    return setTimeout(() => void this.#run(), this.#doubtMs);
  }

  /** Return the error of a request that isn't waited for. */
  error() {
    const seconds = Math.max(1, Math.round((performance.now() - this.#since) / 1000));
    const message = `the memd daemon hangs: it has not answered for ${seconds} s`;
    const hint = "restart it with `memctl service restart`; `memctl doctor` names its process";
    return Object.assign(new Error(message), { code: "deadline_exceeded", hint, isHang: true });
  }

  /** Stop probing, and forget the state. */
  close() {
    this.#running = undefined;
    this.#forget();
  }

  async #run() {
    if (this.#running !== undefined) return;
    const run = (this.#running = Symbol("probes"));
    this.#since = performance.now() - this.#doubtMs;
    const verdict = setTimeout(() => setImmediate(() => this.#running === run && this.#hang()), HANG_MS).unref();
    for (let timeoutMs = this.#doubtMs; !(await this.#isAnswered(timeoutMs)); timeoutMs = PROBE_MS) {
      if (this.#running === run) this.#silent.abort();
      await wait(PAUSE_MS, undefined, { ref: false });
      if (this.#running !== run) break;
    }
    clearTimeout(verdict);
    if (this.#running !== run) return;
    this.#running = undefined;
    const wasSilent = this.#silent.signal.aborted;
    this.#forget();
    if (wasSilent) this.#on.onReturn();
  }

  /** @param {number} timeoutMs */
  async #isAnswered(timeoutMs) {
    try {
      await this.#probe(timeoutMs);
      return true;
    } catch (error) {
      return codeOf(error) !== "deadline_exceeded"; // a daemon that refuses, or that isn't there, doesn't hang
    }
  }

  #hang() {
    this.#silent.abort();
    this.#hung.abort();
    this.#on.onHang(this.error());
  }

  #forget() {
    if (this.#silent.signal.aborted) this.#silent = new AbortController();
    if (this.#hung.signal.aborted) this.#hung = new AbortController();
  }
}
