// The daemon's events, as an async iterator.

import { MemdError } from "./errors.js";

/** Events kept for a slow loop; beyond it the oldest are dropped and counted. */
export const MAX_EVENTS = 4096;

/** @typedef {import("./messages.js").Event} Event */

/**
 * An open subscription, without a deadline. Leaving the loop, `close` and an aborted signal end it without an error; the
 * loop throws an error of the daemon or of the connection. Events between two subscriptions are not repeated.
 */
export class Subscription {
  /** How many events the client dropped, oldest first, because they were iterated too slowly. */
  dropped = 0;
  /** @type {import("./messages.js").SubscribeReply | null} The reply if the daemon ended it. */
  reply = null;
  /** @type {Promise<void>} Settles when the request was sent, or could not be. */
  opened;
  /** @type {Event[]} */
  #events = [];
  /** @type {{ resolve: (result: IteratorResult<Event, undefined>) => void, reject: (error: unknown) => void }[]} */
  #takers = [];
  /** @type {unknown} */
  #failure;
  #over = false;
  #end = () => {};

  /**
   * @param {() => Promise<import("./connection.js").Connection>} connected
   * @param {Record<string, unknown>} params
   * @param {AbortSignal} [signal]
   */
  constructor(connected, params, signal) {
    const close = () => this.close();
    if (signal?.aborted) this.#over = true;
    else signal?.addEventListener("abort", close, { once: true });
    this.#forget = () => signal?.removeEventListener("abort", close);
    this.opened = this.#begin(connected, params);
    this.opened.catch(() => {}); // the loop throws it
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /** @returns {Promise<IteratorResult<Event, undefined>>} */
  next() {
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      this.#failure = undefined;
      return Promise.reject(failure);
    }
    if (this.#over) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#takers.push({ resolve, reject }));
  }

  /** @returns {Promise<IteratorResult<Event, undefined>>} */
  return() {
    this.close();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** End it, at the daemon too; the loop ends. Idempotent. */
  close() {
    this.#events = [];
    this.#failure = undefined;
    this.#finish();
  }

  [Symbol.asyncDispose]() {
    this.close();
    return Promise.resolve();
  }

  #forget = () => {};

  /**
   * @param {() => Promise<import("./connection.js").Connection>} connected
   * @param {Record<string, unknown>} params
   */
  async #begin(connected, params) {
    if (this.#over) return;
    try {
      const connection = await connected();
      if (this.#over) return;
      const exchange = connection.begin("subscribe", params, {
        onReply: (result) => {
          this.reply = /** @type {any} */ (result);
          this.#finish();
        },
        onFailure: (error) => this.#fail(error),
        onStep: (event) => this.#keep(event),
      });
      this.#end = () => connection.end(exchange);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** @param {Event} event */
  #keep(event) {
    const taker = this.#takers.shift();
    if (taker !== undefined) {
      taker.resolve({ value: event, done: false });
      return;
    }
    if (this.#events.length >= MAX_EVENTS) {
      this.#events.shift();
      this.dropped += 1;
    }
    this.#events.push(event);
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.#over) return;
    const taker = this.#takers.shift();
    if (taker !== undefined) taker.reject(error);
    else this.#failure = error instanceof Error ? error : new MemdError("internal", String(error));
    this.#finish();
  }

  #finish() {
    if (this.#over) return;
    this.#over = true;
    this.#forget();
    this.#end();
    for (const taker of this.#takers.splice(0)) taker.resolve({ value: undefined, done: true });
  }
}
