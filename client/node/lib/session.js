// One conversation with the daemon, without I/O: bytes in, arrivals out; calls in, bytes out.

import { MemdError } from "./errors.js";
import { FrameDecoder, encodeFrame } from "./framing.js";
import { typed } from "./replies.js";

/** The version of the protocol; `hello` refuses any other. */
export const PROTOCOL_VERSION = 1;

/** The release of this client, told in `hello`. A test holds it against package.json. */
export const CLIENT_VERSION = "0.1.0";

const REQUEST = 0;
const RESPONSE = 1;
const NOTIFICATION = 2;

/** Ids are unsigned 32-bit and start again at 1. Id 0 means "no request": an error of the connection carries it. */
const LAST_ID = 2 ** 32 - 1;

/**
 * @typedef {{ kind: "reply", id: number, result: Record<string, unknown> }} Reply
 * @typedef {{ kind: "failure", id: number, error: MemdError }} Failure With id 0, the connection failed.
 * @typedef {{ kind: "progress", id: number, progress: import("./messages.js").Progress }} ProgressArrival
 * @typedef {{ kind: "event", id: number, event: import("./messages.js").Event }} EventArrival
 * @typedef {Reply | Failure | ProgressArrival | EventArrival} Arrival
 */

/** The client's side of one connection: ids, replies, progress, events, cancel, hello. */
export class ClientSession {
  /** @type {"new" | "greeting" | "ready" | "closed"} */
  state = "new";
  /** @type {import("./messages.js").HelloReply | null} */
  daemon = null;
  #client;
  #decoder = new FrameDecoder();
  #nextId;
  #helloId = 0;
  /** @type {Set<number>} */
  #waiting = new Set();
  /** @type {Set<number>} */
  #abandoned = new Set();

  /**
   * @param {string} [client] What the client calls itself in `hello`.
   * @param {number} [firstId] The id to start with (a test's way to the wrap-around).
   */
  constructor(client = "memd-client-node", firstId = 1) {
    this.#client = client;
    this.#nextId = firstId;
  }

  /** How many requests wait for a reply. */
  get waiting() {
    return this.#waiting.size;
  }

  /**
   * Return the id and the bytes of the greeting; nothing else may be sent before its reply.
   * @returns {{ id: number, data: Buffer }}
   */
  hello() {
    if (this.state !== "new") {
      throw new MemdError("connection_lost", `a session greets once; this one is ${this.state}`);
    }
    const params = { protocol: PROTOCOL_VERSION, client: this.#client, version: CLIENT_VERSION };
    const greeting = this.#send("hello", params);
    this.#helloId = greeting.id;
    this.state = "greeting";
    return greeting;
  }

  /**
   * Return a new request's id and bytes.
   * @param {string} method The name of the request.
   * @param {Record<string, unknown>} params Its parameters.
   * @returns {{ id: number, data: Buffer }}
   * @throws {MemdError} `hello_required`, `connection_lost`, `frame_too_big`, `bad_params`.
   */
  request(method, params) {
    if (this.state === "closed") throw new MemdError("connection_lost", "the connection is closed");
    if (this.state !== "ready") {
      throw new MemdError("hello_required", `\`${method}\` before the reply to hello`);
    }
    return this.#send(method, params);
  }

  /**
   * Give up a request and return the bytes that tell the daemon to stop it; null where nobody waits for it any more.
   * The replies to the request and to the cancellation are swallowed when they come.
   * @param {number} id
   */
  cancel(id) {
    if (this.state === "closed" || !this.#waiting.delete(id)) return null;
    this.#abandoned.add(id);
    const cancelling = this.#send("cancel", { id });
    this.#waiting.delete(cancelling.id);
    this.#abandoned.add(cancelling.id);
    return cancelling.data;
  }

  /**
   * Forget a request none of whose bytes were sent.
   * @param {number} id
   */
  retract(id) {
    this.#waiting.delete(id);
  }

  /**
   * Take bytes from the daemon and return what they mean, oldest first.
   * @param {Uint8Array} data
   * @returns {Arrival[]}
   * @throws {MemdError} `frame_too_big`, `frame_invalid`: the daemon (or something else on its socket) doesn't speak
   *     the protocol, and the session is closed; `connection_lost`: it was closed before.
   */
  receive(data) {
    if (this.state === "closed") throw new MemdError("connection_lost", "the connection is closed");
    try {
      return this.#decoder
        .feed(data)
        .map((value) => this.#read(value))
        .filter((each) => each !== null);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** End the session: nothing is sent or received any more. */
  close() {
    this.state = "closed";
    this.#waiting.clear();
    this.#abandoned.clear();
  }

  /**
   * Encode first, then note the id: what can't be sent is not waited for.
   * @param {string} method
   * @param {Record<string, unknown>} params
   */
  #send(method, params) {
    let id = this.#nextId;
    while (this.#waiting.has(id) || this.#abandoned.has(id)) id = (id % LAST_ID) + 1;
    const data = encodeFrame([REQUEST, id, method, params]);
    this.#nextId = (id % LAST_ID) + 1;
    this.#waiting.add(id);
    return { id, data };
  }

  /**
   * Return what one message means, or null where it concerns nobody.
   * @param {unknown} value
   * @returns {Arrival | null}
   */
  #read(value) {
    if (Array.isArray(value)) {
      const [kind, second, third, fourth] = value;
      if (kind === RESPONSE && value.length === 4 && Number.isInteger(second)) {
        return this.#readResponse(second, third, fourth);
      }
      if (kind === NOTIFICATION && value.length === 3 && typeof second === "string") {
        return this.#readNotification(second, third);
      }
    }
    throw new MemdError(
      "frame_invalid",
      "the daemon sent something that is neither a response nor a notification",
    );
  }

  /**
   * Match a response with its request.
   * @param {number} id
   * @param {unknown} error
   * @param {unknown} result
   * @returns {Arrival | null}
   */
  #readResponse(id, error, result) {
    if (id === 0) return { kind: "failure", id, error: MemdError.fromWire(error) };
    if (this.#abandoned.delete(id)) return null;
    if (!this.#waiting.delete(id)) {
      throw new MemdError("frame_invalid", `the daemon answered request ${id}, which was not asked`);
    }
    /** @type {Reply | Failure} */
    let arrival;
    if (error !== null) arrival = { kind: "failure", id, error: MemdError.fromWire(error) };
    else if (isMap(result)) arrival = { kind: "reply", id, result };
    else {
      const problem = new MemdError("frame_invalid", `the reply to request ${id} is not a map`);
      arrival = { kind: "failure", id, error: problem };
    }
    return id === this.#helloId && this.state === "greeting" ? this.#readGreeting(arrival) : arrival;
  }

  /**
   * Accept the daemon, or close the session.
   * @param {Reply | Failure} arrival
   * @returns {Reply | Failure}
   */
  #readGreeting(arrival) {
    try {
      if (arrival.kind === "failure") throw arrival.error;
      const { protocol } = arrival.result;
      if (protocol !== PROTOCOL_VERSION) {
        const theirs = String(protocol).slice(0, 20);
        throw new MemdError(
          "protocol_mismatch",
          `the daemon speaks protocol ${theirs}, this client ${PROTOCOL_VERSION}`,
        );
      }
      this.daemon = /** @type {any} */ (typed("hello", arrival.result));
      this.state = "ready";
      return arrival;
    } catch (error) {
      this.close();
      return { kind: "failure", id: arrival.id, error: /** @type {MemdError} */ (error) };
    }
  }

  /**
   * Return the progress or event of a request somebody waits for; an incomplete one, or a notification of a newer
   * daemon, is not worth an error.
   * @param {string} name
   * @param {unknown} params
   * @returns {Arrival | null}
   */
  #readNotification(name, params) {
    if (name !== "progress" && name !== "event") return null;
    if (!isMap(params)) throw new MemdError("frame_invalid", `the daemon sent ${name} without its fields`);
    const { id } = params;
    if (typeof id !== "number" || !this.#waiting.has(id)) return null;
    try {
      const fields = /** @type {any} */ (typed(name, params));
      return name === "progress"
        ? { kind: "progress", id, progress: fields }
        : { kind: "event", id, event: fields };
    } catch {
      return null;
    }
  }
}

/** @type {(value: unknown) => value is Record<string, unknown>} */
function isMap(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
