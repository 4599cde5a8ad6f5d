// One open connection: requests of many callers over one socket.

import { statSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { MemdError, again } from "./errors.js";
import { ClientSession } from "./session.js";

/** What waits to be sent at most: a daemon that takes nothing for so long hangs, and the connection is given up. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Wait between tries while the daemon's queue of new connections is full (EAGAIN on Linux). */
const BUSY_WAIT_MS = 5;

/**
 * A daemon that refuses a connection says why and closes at once. Where our greeting crossed that, its words are lost: the
 * second try listens for so long before it greets.
 */
const LISTEN_MS = 50;

/**
 * @typedef {object} Handlers What is told of a request: steps, then one of reply and failure.
 * @property {(result: Record<string, unknown>) => void} onReply
 * @property {(error: MemdError) => void} onFailure
 * @property {(step: any) => void} onStep
 */

/** @typedef {{ id: number, sent: boolean, handlers: Handlers }} Exchange One request under way. */

/** A connection. It keeps the process alive only while somebody waits for a reply. */
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
   * @param {string} clientName What the client calls itself.
   */
  constructor(socket, clientName) {
    this.session = new ClientSession(clientName);
    this.#socket = socket;
    socket.on("data", (data) => this.#takeIn(/** @type {Buffer} */ (data)));
    socket.on("drain", () => this.#unblock());
    socket.on("error", (error) => this.#break(new MemdError("connection_lost", lost(error))));
    for (const over of ["end", "close"]) {
      socket.on(over, () =>
        this.#break(new MemdError("connection_lost", "the daemon closed the connection")),
      );
    }
  }

  /**
   * Connect and greet.
   * @param {string} path The socket's path.
   * @param {{ timeoutMs: number, clientName: string, signal?: AbortSignal }} options The signal gives it up.
   * @returns {Promise<Connection>}
   * @throws {MemdError} `daemon_unreachable`: nobody listens there; `deadline_exceeded`: the daemon hangs;
   *     `peer_refused`: it belongs to another user; and whatever it refuses the greeting with.
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
    // A daemon that just dies takes a last connection before its socket is gone.
    throw unreachable(path, reason?.message);
  }

  /**
   * @param {string} path
   * @param {{ timeoutMs: number, clientName: string, signal?: AbortSignal }} options
   * @param {number} listenMs How long the daemon may speak first.
   */
  static async #openOnce(path, { timeoutMs, clientName, signal }, listenMs) {
    const connection = new Connection(await openSocket(path, timeoutMs), clientName);
    const giveUp = () => connection.close();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      if (signal?.aborted) giveUp();
      if (listenMs > 0) await wait(listenMs);
      if (connection.broken !== null) throw connection.broken;
      await connection.#greet(timeoutMs);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
    return connection;
  }

  /** How many requests are under way. */
  get size() {
    return this.#exchanges.size;
  }

  /**
   * Send a request.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {Handlers} handlers
   * @returns {Exchange} To be given to `end` where it is given up.
   * @throws {MemdError} It can't be sent; `data.sent` is false where the connection is broken.
   */
  begin(method, params, handlers) {
    if (this.broken !== null) throw again(this.broken, false);
    return this.#register(this.session.request(method, params), handlers);
  }

  /**
   * Give up a request that wasn't answered: the daemon is told, nothing more is told of it here. Idempotent.
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

  /** Close the connection; requests under way end with `connection_lost`. */
  close() {
    this.#break(new MemdError("connection_lost", "the connection was closed on this side"));
  }

  /** @param {number} timeoutMs */
  async #greet(timeoutMs) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    try {
      await new Promise((resolve, reject) => {
        const hello = this.session.hello();
        this.#register(hello, { onReply: resolve, onFailure: reject, onStep() {} });
        timer = setTimeout(() => setImmediate(() => reject(noGreeting(timeoutMs))), timeoutMs);
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
   * Have bytes sent; never waits.
   * @param {Exchange | null} exchange Whose they are.
   * @param {Buffer} data
   */
  #post(exchange, data) {
    this.#unsent.push({ exchange, data });
    this.#unsentBytes += data.length;
    if (this.#unsentBytes > MAX_UNSENT_BYTES && this.#unsent.length > 1) {
      this.#break(new MemdError("connection_lost", "the daemon takes no data: it hangs or is overloaded"));
    } else if (!this.#flushing) {
      // After what has arrived was read: the daemon may have closed, and said why.
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
      // The daemon had closed before it got all of the frame: it can't have begun the request.
      if (exchange !== null && error !== null && error !== undefined) exchange.sent = !isPipeBroken(error);
    });
  }

  #unblock() {
    this.#blocked = false;
    this.#flush();
  }

  /**
   * Hand out what arrived.
   * @param {Buffer} data
   */
  #takeIn(data) {
    try {
      for (const arrival of this.session.receive(data)) {
        if (arrival.kind === "failure" && arrival.id === 0) throw arrival.error;
        this.#deliver(arrival);
        if (this.broken !== null) return; // whoever was told closed the client
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

  /** Let the process end while nobody waits. */
  #keepAlive() {
    if (this.#exchanges.size > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  /**
   * End the connection once; the first reason is kept.
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
    for (const { handlers, sent } of exchanges) handlers.onFailure(again(error, sent));
  }
}

/**
 * Refuse a socket that another user made. Node can't ask who is at the other end, so the file has to tell; the daemon
 * in turn asks the system about us.
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
    await wait(BUSY_WAIT_MS);
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
      socket.on("error", () => {}); // never without a listener: it would end the host's process
      resolve({ socket, code: "" });
    });
  });
}

/** @type {(path: string, reason: string | undefined) => MemdError} */
function unreachable(path, reason) {
  return new MemdError("daemon_unreachable", `nobody answers at ${path}: ${reason}`, { data: { path } });
}

/** @type {(timeoutMs: number) => MemdError} */
function noGreeting(timeoutMs) {
  return new MemdError(
    "deadline_exceeded",
    `the daemon took the connection and did not answer in ${timeoutMs / 1000} s`,
    { hint: "The daemon is hung or overloaded: see its log, or end it and let it start anew." },
  );
}

/** @type {(error: NodeJS.ErrnoException) => boolean} */
function isPipeBroken(error) {
  return error.code === "EPIPE";
}

/** @type {(error: NodeJS.ErrnoException) => string} */
function lost(error) {
  return `the connection to the daemon broke: ${error.code ?? error.message}`;
}
