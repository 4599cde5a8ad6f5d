// The client: one object, one connection, any number of requests at the same time.

import { Call } from "./call.js";
import { Connection } from "./connection.js";
import { checkSocketPath, socketPath } from "./discovery.js";
import { MemdError } from "./errors.js";
import { checkCall, checkClientOptions } from "./names.js";
import { typed } from "./replies.js";
import { REQUESTS, isRepeatable, methodName, patience, withAgent } from "./requests.js";
import { startAndWait } from "./starting.js";
import { Subscription } from "./subscription.js";

/** How long connecting and greeting may take. */
const CONNECT_MS = 5_000;

/**
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] Gives the request up; the daemon is told to stop it.
 * @property {number | null} [timeoutMs] How long it may take, connecting and starting the daemon included; null: no
 *     end.
 * @property {(progress: import("./messages.js").Progress) => void} [onProgress]
 * @property {boolean} [repeatable] Whether to send it again where the connection broke before the reply.
 */

/** A client of the daemon. What its options mean is in docs/node.md. */
export class Client {
  socketPath;
  #agent;
  #timeoutMs;
  #connectTimeoutMs;
  #autostart;
  #daemonCommand;
  #clientName;
  /** @type {Connection | null} */
  #connection = null;
  /** @type {Promise<Connection> | null} */
  #connecting = null;
  #closing = new AbortController();

  /** @param {import("./index.js").ClientOptions} [options] */
  constructor(options = {}) {
    checkClientOptions(options);
    const { agent, timeoutMs = 30_000, connectTimeoutMs = CONNECT_MS, autostart = false } = options;
    const { clientName = "memd-client-node", daemonCommand } = options;
    if (timeoutMs !== null) checkTime("timeoutMs", timeoutMs);
    checkTime("connectTimeoutMs", connectTimeoutMs);
    this.socketPath = options.socketPath === undefined ? socketPath() : checkSocketPath(options.socketPath);
    this.#agent = agent;
    this.#timeoutMs = timeoutMs;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#autostart = autostart;
    this.#daemonCommand = daemonCommand;
    this.#clientName = clientName;
  }

  /** What the daemon said of itself in its greeting; null while there is no connection. */
  get daemon() {
    return this.#connection?.broken === null ? this.#connection.session.daemon : null;
  }

  /**
   * Send a request and return its reply.
   * @param {string} name As in docs/protocol.md.
   * @param {Record<string, unknown>} [params]
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  async request(name, params = {}, options = {}) {
    if (typeof name !== "string") throw new MemdError("bad_params", "the name of a request is a string");
    if (name === "subscribe" || name === "cancel") {
      const way = name === "subscribe" ? "Use client.subscribe()." : "Abort the request's signal.";
      throw new MemdError("bad_params", `\`${name}\` is no request with one reply`, { hint: way });
    }
    checkCall(name, params, options);
    const { signal, timeoutMs, onProgress, repeatable = isRepeatable(name, params) } = options;
    if (timeoutMs !== undefined && timeoutMs !== null) checkTime("timeoutMs", timeoutMs);
    const patient = patience(name, params, timeoutMs, this.#timeoutMs);
    const call = new Call(name, withAgent(name, params, this.#agent), { ...patient, signal, onProgress });
    return typed(name, await call.run(() => this.#connected(), repeatable));
  }

  /**
   * Return what happens in the daemon from now on, as an async iterator.
   * @param {import("./messages.js").SubscribeParams} [params]
   * @param {{ signal?: AbortSignal }} [options] The signal ends it.
   */
  subscribe(params = {}, options = {}) {
    checkCall("subscribe", params, options);
    return new Subscription(() => this.#connected(), { ...params }, options.signal);
  }

  /** Close the connection. Requests under way end with `connection_lost`. Idempotent. */
  async close() {
    this.#closing.abort();
    const connecting = this.#connecting;
    this.#connection?.close();
    this.#connection = null;
    await connecting?.catch(() => {});
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }

  toString() {
    return `<Client ${this.socketPath}, ${this.#state()}>`;
  }

  [Symbol.for("nodejs.util.inspect.custom")]() {
    return this.toString();
  }

  #state() {
    if (this.#closing.signal.aborted) return "closed";
    if (this.#connection?.broken !== null) return this.#connecting === null ? "not connected" : "connecting";
    return `${this.#connection.size} waiting`;
  }

  /** Return the connection, a new one where there is none or it broke. */
  async #connected() {
    this.#checkOpen();
    if (this.#connection?.broken === null) return this.#connection;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  /** Connect and greet; start the daemon where allowed and needed. */
  async #connect() {
    const connection = await this.#open().catch((error) => {
      this.#checkOpen();
      if (!this.#autostart || error.code !== "daemon_unreachable") throw error;
      return startAndWait(this.socketPath, () => this.#open(), {
        command: this.#daemonCommand,
        signal: this.#closing.signal,
      });
    });
    if (this.#closing.signal.aborted) connection.close();
    this.#checkOpen();
    this.#connection = connection;
    return connection;
  }

  #open() {
    return Connection.open(this.socketPath, {
      timeoutMs: this.#connectTimeoutMs,
      clientName: this.#clientName,
      signal: this.#closing.signal,
    });
  }

  #checkOpen() {
    if (this.#closing.signal.aborted) {
      throw new MemdError("connection_lost", "this Client is closed", { hint: "Make a new Client." });
    }
  }
}

for (const name of REQUESTS) {
  if (name === "subscribe" || name === "cancel") continue;
  Object.defineProperty(Client.prototype, methodName(name), {
    configurable: true,
    writable: true,
    /**
     * @this {Client}
     * @param {Record<string, unknown>} [params]
     * @param {CallOptions} [options]
     */
    value(params, options) {
      return this.request(name, params, options);
    },
  });
}

/** @type {(name: string, value: unknown) => void} */
function checkTime(name, value) {
  if (typeof value !== "number" || !(value > 0)) {
    throw new MemdError("bad_params", `${name} must be a number of milliseconds above 0`, {
      hint: `Leave ${name} out, or give a number like 5000.`,
    });
  }
}
