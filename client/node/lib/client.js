// The client: one object, one connection, any number of concurrent requests.

import { Call } from "./call.js";
import { Connection } from "./connection.js";
import { checkSocketPath, socketPath } from "./discovery.js";
import { MemdError } from "./errors.js";
import { checkCall, checkClientOptions } from "./names.js";
import { parseReply } from "./replies.js";
import { REQUESTS, isRepeatable, methodName, replyTimeout, withAgent } from "./requests.js";
import { startAndWait } from "./starting.js";
import { namedPath, namesStateFolder, stateFolder } from "./state-folder.js";
import { Subscription } from "./subscription.js";

/** Default of `connectTimeoutMs`. */
const CONNECT_MS = 5_000;

/**
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] Cancels the request, at the daemon too; the call fails with `cancelled`.
 * @property {number | null} [timeoutMs] The longest time this call may take, connecting and starting the daemon
 *     included; null: no limit.
 * @property {(progress: import("./messages.js").Progress) => void} [onProgress] Called with each progress.
 * @property {boolean} [repeatable] Whether to send it again if the connection breaks before the reply; by default, this
 *     depends on the request.
 */

/**
 * A client of the daemon. It connects with the first request and reconnects after the connection broke. Every request
 * of docs/protocol.md is a method: `client.memoryStore(params, options)` sends `memory_store`.
 */
export class Client {
  socketPath;
  #agent;
  #timeoutMs;
  #connectTimeoutMs;
  #autostart;
  #daemonCommand;
  #clientName;
  /** @type {string | undefined} The given state folder; undefined: found by the environment. */
  #stateDir;
  #isAnyFolder;
  #hasPath;
  /** @type {Connection | null} */
  #connection = null;
  /** @type {Promise<Connection> | null} */
  #connecting = null;
  #closing = new AbortController();

  /**
   * @param {import("./index.js").ClientOptions} [options] Documented in index.d.ts.
   * @throws {MemdError} `bad_params`: an unknown or invalid option; `socket_path_invalid`.
   */
  constructor(options = {}) {
    checkClientOptions(options);
    const { agent, timeoutMs = 30_000, connectTimeoutMs = CONNECT_MS, autostart = false } = options;
    const { clientName = "memd-client-node", daemonCommand, stateDir } = options;
    if (timeoutMs !== null) checkTime("timeoutMs", timeoutMs);
    checkTime("connectTimeoutMs", connectTimeoutMs);
    // With its links: a started daemon also looks at the name of the folder.
    this.#stateDir = stateDir ? namedPath(stateDir, process.env) : undefined;
    this.#isAnyFolder = stateDir === "";
    this.#hasPath = options.socketPath !== undefined;
    this.socketPath =
      options.socketPath === undefined
        ? socketPath(process.env, process.platform, this.#stateDir)
        : checkSocketPath(options.socketPath);
    this.#agent = agent;
    this.#timeoutMs = timeoutMs;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#autostart = autostart;
    this.#daemonCommand = daemonCommand;
    this.#clientName = clientName;
  }

  /** The daemon's reply to the greeting; null while there is no connection. */
  get daemon() {
    return this.#connection?.broken === null ? this.#connection.session.daemon : null;
  }

  /**
   * Send a request by its name and return its reply.
   * @param {string} name The name in docs/protocol.md; one that this release doesn't know is allowed.
   * @param {Record<string, unknown>} [params] Its parameters, with the names of docs/protocol.md.
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   * @throws {MemdError} `daemon_unreachable`, `daemon_start_failed`, `deadline_exceeded`, `connection_lost`,
   *     `cancelled`, `bad_params`, and the errors of the daemon.
   */
  async request(name, params = {}, options = {}) {
    if (typeof name !== "string") throw new MemdError("bad_params", "the name of a request is a string");
    if (name === "subscribe" || name === "cancel") {
      const hint = name === "subscribe" ? "use client.subscribe()" : "abort the signal of the request to cancel";
      throw new MemdError("bad_params", `\`${name}\` can't be sent by request()`, { hint });
    }
    checkCall(name, params, options);
    const { signal, timeoutMs, onProgress, repeatable = isRepeatable(name, params) } = options;
    if (timeoutMs !== undefined && timeoutMs !== null) checkTime("timeoutMs", timeoutMs);
    const timeout = replyTimeout(name, params, timeoutMs, this.#timeoutMs);
    const call = new Call(name, withAgent(name, params, this.#agent), { ...timeout, signal, onProgress });
    return parseReply(name, await call.run(() => this.#connected(), repeatable));
  }

  /**
   * Return an async iterator over the daemon's events from now on. It has no deadline.
   * @param {import("./messages.js").SubscribeParams} [params] Only events of this agent and of these kinds.
   * @param {{ signal?: AbortSignal }} [options] The signal ends the subscription.
   * @throws {MemdError} `bad_params`: an unknown parameter or option.
   */
  subscribe(params = {}, options = {}) {
    checkCall("subscribe", params, options);
    return new Subscription(() => this.#connected(), { ...params }, options.signal);
  }

  /** Close the connection. Running requests fail with `connection_lost`. Idempotent. */
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

  /** Return the connection, a new one if there is none or it broke. */
  async #connected() {
    this.#checkOpen();
    if (this.#connection?.broken === null) return this.#connection;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  /** Connect and greet; start the daemon if that is allowed and necessary. */
  async #connect() {
    const connection = await this.#open().catch((error) => {
      this.#checkOpen();
      if (!this.#autostart || error.code !== "daemon_unreachable") throw error;
      return startAndWait(this.socketPath, () => this.#open(), {
        command: this.#daemonCommand,
        stateDir: this.#stateDir,
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
      stateDir: this.#requiredFolder(),
      signal: this.#closing.signal,
    });
  }

  /**
   * Return the state folder that the daemon must serve; empty: any. Found again for each connection, because the default
   * folder changes when OpenClaw is installed. A program that names a socket has chosen the daemon itself, unless the
   * environment names a state folder as well.
   */
  #requiredFolder() {
    const isNamed = this.#stateDir !== undefined || namesStateFolder(process.env);
    if (this.#isAnyFolder || (this.#hasPath && !isNamed)) return "";
    return stateFolder(process.env, this.#stateDir);
  }

  #checkOpen() {
    if (this.#closing.signal.aborted) {
      throw new MemdError("connection_lost", "this client is closed", { hint: "create a new client" });
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
      hint: `leave ${name} out, or give a number like 5000`,
    });
  }
}
