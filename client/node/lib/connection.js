// One open connection: concurrent requests over one socket.

import { statSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { MemdError, copyError } from "./errors.js";
import { ClientSession } from "./session.js";

/** Limit of unsent bytes: a daemon that accepts none of them hangs, and the connection is closed. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Pause between attempts while the daemon's accept backlog is full (EAGAIN on Linux). */
const BUSY_RETRY_INTERVAL_MS = 5;

/**
 * A daemon that rejects a connection sends the reason and closes at once. If the client sends its greeting meanwhile, the
 * reason is lost. The second attempt therefore listens this long before it greets.
 */
const LISTEN_MS = 50;

/**
 * @typedef {object} Handlers Callbacks of a request: steps, then either the reply or the failure.
 * @property {(result: Record<string, unknown>) => void} onReply
 * @property {(error: MemdError) => void} onFailure
 * @property {(step: any) => void} onStep
 */

/** @typedef {{ id: number, sent: boolean, handlers: Handlers }} Exchange One running request. */

/** A connection. It keeps the process alive only while a request waits for its reply. */
export class Connection {
  /** @type {MemdError | null} Why it broke. */
  broken = null;
  session;
  #socket;
  /** @type {Map<number, Exchange>} */
  #exchanges = new Map();
  /** @type {{ exchange: Exchange | null, data: Buffer }[]} */
  #unsent = [];
  #unsentBytes = 0;
  #blocked = false;
  #flushing = false;

  /**
   * @param {import("node:net").Socket} socket Connected; the connection owns it from now on.
   * @param {string} clientName The name sent in the greeting.
   */
  constructor(socket, clientName) {
    this.session = new ClientSession(clientName);
    this.#socket = socket;
    socket.on("data", (data) => this.#receive(/** @type {Buffer} */ (data)));
    socket.on("drain", () => this.#unblock());
    socket.on("error", (error) => this.#break(new MemdError("connection_lost", describeBreak(error))));
    for (const event of ["end", "close"]) {
      socket.on(event, () =>
        this.#break(new MemdError("connection_lost", "the daemon closed the connection")),
      );
    }
  }

  /**
   * Connect and greet.
   * @param {string} path The socket's path.
   * @param {{ timeoutMs: number, clientName: string, stateDir?: string, signal?: AbortSignal }} options The signal cancels
   *     it. The daemon must serve `stateDir`; empty: any.
   * @returns {Promise<Connection>}
   * @throws {MemdError} `daemon_unreachable`: no daemon listens there; `deadline_exceeded`: the daemon hangs;
   *     `peer_refused`: it belongs to another user; and the daemon's error if it rejects the greeting.
   */
  static async open(path, options) {
    checkOwner(path);
    /** @type {MemdError | null} */
    let reason = null;
    for (const listenMs of [0, LISTEN_MS]) {
      try {
        return await Connection.#openOnce(path, options, listenMs);
      } catch (error) {
        if (!(error instanceof MemdError) || error.code !== "connection_lost") throw error;
        reason = error;
      }
    }
    // A daemon that is ending may accept a last connection before its socket is gone.
    throw unreachable(path, reason?.message);
  }

  /**
   * @param {string} path
   * @param {{ timeoutMs: number, clientName: string, stateDir?: string, signal?: AbortSignal }} options
   * @param {number} listenMs How long to wait for an error of the daemon before greeting.
   */
  static async #openOnce(path, { timeoutMs, clientName, stateDir, signal }, listenMs) {
    const connection = new Connection(await openSocket(path, timeoutMs), clientName);
    const close = () => connection.close();
    signal?.addEventListener("abort", close, { once: true });
    try {
      if (signal?.aborted) close();
      if (listenMs > 0) await wait(listenMs);
      if (connection.broken !== null) throw connection.broken;
      await connection.#greet(timeoutMs, stateDir);
    } finally {
      signal?.removeEventListener("abort", close);
    }
    return connection;
  }

  /** How many requests wait for a reply. */
  get size() {
    return this.#exchanges.size;
  }

  /**
   * Send a request.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {Handlers} handlers
   * @returns {Exchange} The argument of `end`, which cancels the request.
   * @throws {MemdError} It can't be sent; `data.sent` is false if the connection is broken.
   */
  begin(method, params, handlers) {
    if (this.broken !== null) throw copyError(this.broken, false);
    return this.#register(this.session.request(method, params), handlers);
  }

  /**
   * Cancel a request without a reply, at the daemon too; its handlers are not called any more. Idempotent.
   * @param {Exchange} exchange
   */
  end(exchange) {
    if (!this.#exchanges.delete(exchange.id) || this.broken !== null) return;
    const at = this.#unsent.findIndex((entry) => entry.exchange === exchange);
    if (at >= 0) {
      const [{ data }] = this.#unsent.splice(at, 1);
      this.#unsentBytes -= data.length;
      this.session.retract(exchange.id);
    } else {
      const data = this.session.cancel(exchange.id);
      if (data !== null) this.#post(null, data);
    }
    this.#keepAlive();
  }

  /** Close the connection; running requests fail with `connection_lost`. */
  close() {
    this.#break(new MemdError("connection_lost", "the client closed the connection"));
  }

  /** @type {(timeoutMs: number, stateDir?: string) => Promise<void>} */
  async #greet(timeoutMs, stateDir) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    try {
      await new Promise((resolve, reject) => {
        const hello = this.session.hello(stateDir);
        this.#register(hello, { onReply: resolve, onFailure: reject, onStep() {} });
        timer = setTimeout(() => setImmediate(() => reject(greetingTimeoutError(timeoutMs))), timeoutMs);
      });
    } catch (error) {
      this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * @param {{ id: number, data: Buffer }} request
   * @param {Handlers} handlers
   * @returns {Exchange}
   */
  #register({ id, data }, handlers) {
    const exchange = { id, sent: false, handlers };
    this.#exchanges.set(id, exchange);
    this.#post(exchange, data);
    this.#keepAlive();
    return exchange;
  }

  /**
   * Queue bytes for sending, without waiting.
   * @param {Exchange | null} exchange Their request; null for a cancellation.
   * @param {Buffer} data
   */
  #post(exchange, data) {
    this.#unsent.push({ exchange, data });
    this.#unsentBytes += data.length;
    if (this.#unsentBytes > MAX_UNSENT_BYTES && this.#unsent.length > 1) {
      this.#break(new MemdError("connection_lost", "the daemon accepts no data: it hangs or is overloaded"));
    } else if (!this.#flushing) {
      // Arrived data is read first: the daemon may have closed and sent the reason.
      this.#flushing = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush() {
    this.#flushing = false;
    while (this.broken === null && !this.#blocked) {
      const entry = this.#unsent.shift();
      if (entry === undefined) return;
      this.#unsentBytes -= entry.data.length;
      this.#write(entry);
    }
  }

  /** @param {{ exchange: Exchange | null, data: Buffer }} entry */
  #write({ exchange, data }) {
    if (exchange !== null) exchange.sent = true;
    this.#blocked = !this.#socket.write(data, (error) => {
      // The daemon closed before it received the whole frame, so it can't have started the request.
      if (exchange !== null && error !== null && error !== undefined) exchange.sent = !isPipeBroken(error);
    });
  }

  #unblock() {
    this.#blocked = false;
    this.#flush();
  }

  /**
   * Deliver the messages in received bytes.
   * @param {Buffer} data
   */
  #receive(data) {
    try {
      for (const arrival of this.session.receive(data)) {
        if (arrival.kind === "failure" && arrival.id === 0) throw arrival.error;
        this.#deliver(arrival);
        if (this.broken !== null) return; // a handler closed the client
      }
    } catch (error) {
      this.#break(error instanceof MemdError ? error : new MemdError("frame_invalid", String(error)));
    }
  }

  /** @param {import("./session.js").Arrival} arrival */
  #deliver(arrival) {
    const exchange = this.#exchanges.get(arrival.id);
    if (exchange === undefined) return;
    if (arrival.kind === "progress") exchange.handlers.onStep(arrival.progress);
    else if (arrival.kind === "event") exchange.handlers.onStep(arrival.event);
    else {
      this.#exchanges.delete(arrival.id);
      this.#keepAlive();
      if (arrival.kind === "reply") exchange.handlers.onReply(arrival.result);
      else exchange.handlers.onFailure(arrival.error);
    }
  }

  /** Keep the process alive only while requests wait. */
  #keepAlive() {
    if (this.#exchanges.size > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  /**
   * Close the connection; the first reason is kept.
   * @param {MemdError} error
   */
  #break(error) {
    if (this.broken !== null) return;
    this.broken = error;
    this.session.close();
    this.#socket.destroy();
    this.#unsent = [];
    const exchanges = [...this.#exchanges.values()];
    this.#exchanges.clear();
    for (const { handlers, sent } of exchanges) handlers.onFailure(copyError(error, sent));
  }
}

/**
 * Reject a socket of another user. Node can't query the peer's user id, so the owner of the file is checked; the daemon
 * checks the client's user id.
 * @param {string} path
 */
function checkOwner(path) {
  const own = process.geteuid?.();
  let facts;
  try {
    facts = statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw unreachable(path, /** @type {NodeJS.ErrnoException} */ (error).code);
  }
  if (facts !== undefined && own !== undefined && facts.uid !== own && facts.uid !== 0) {
    throw new MemdError("peer_refused", `the socket ${path} belongs to another user (uid ${facts.uid})`);
  }
}

/**
 * @param {string} path
 * @param {number} timeoutMs
 * @returns {Promise<import("node:net").Socket>} Connected.
 */
async function openSocket(path, timeoutMs) {
  const until = performance.now() + timeoutMs;
  for (;;) {
    const { socket, code } = await tryConnect(path);
    if (code === "") return socket;
    if (code !== "EAGAIN") {
      throw unreachable(path, code);
    }
    if (performance.now() > until) {
      const seconds = timeoutMs / 1000;
      throw new MemdError(
        "deadline_exceeded",
        `the daemon at ${path} accepted no connection in ${seconds} s`,
      );
    }
    await wait(BUSY_RETRY_INTERVAL_MS);
  }
}

/**
 * @param {string} path
 * @returns {Promise<{ socket: import("node:net").Socket, code: string }>} The socket, and why it isn't connected; or
 *     an empty code.
 */
function tryConnect(path) {
  return new Promise((resolve) => {
    const socket = connect({ path });
    /** @type {(error: NodeJS.ErrnoException) => void} */
    const fail = (error) => {
      socket.destroy();
      resolve({ socket, code: error.code ?? error.message });
    };
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail);
      socket.on("error", () => {}); // without a listener, an error would end the process
      resolve({ socket, code: "" });
    });
  });
}

/** @type {(path: string, reason: string | undefined) => MemdError} */
function unreachable(path, reason) {
  return new MemdError("daemon_unreachable", `no daemon listens at ${path}: ${reason}`, { data: { path } });
}

/** @type {(timeoutMs: number) => MemdError} */
function greetingTimeoutError(timeoutMs) {
  return new MemdError(
    "deadline_exceeded",
    `the daemon accepted the connection but did not reply in ${timeoutMs / 1000} s`,
    { hint: "see the daemon's log, or restart it: it hangs or is overloaded" },
  );
}

/** @type {(error: NodeJS.ErrnoException) => boolean} */
function isPipeBroken(error) {
  return error.code === "EPIPE";
}

/** @type {(error: NodeJS.ErrnoException) => string} */
function describeBreak(error) {
  return `the connection to the daemon broke: ${error.code ?? error.message}`;
}
