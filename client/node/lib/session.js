// The protocol of one connection without I/O: bytes in, arrivals out; requests in, bytes out.

import { MemdError } from "./errors.js";
import { FrameDecoder, encodeFrame } from "./framing.js";
import { parseReply } from "./replies.js";

/** The protocol version of this release; `hello` rejects any other. */
export const PROTOCOL_VERSION = 1;

/** The release of this client, sent in `hello`. A test compares it with package.json. */
export const CLIENT_VERSION = "0.1.0";

const REQUEST = 0;
const RESPONSE = 1;
const NOTIFICATION = 2;

/** Ids are unsigned 32-bit and restart at 1. Id 0 means "no request": errors of the whole connection carry it. */
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
   * @param {string} [client] The client's name, sent in `hello`.
   * @param {number} [firstId] The first id, so that tests can reach the wrap-around.
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
   * Return the id and the bytes of the greeting; send nothing else before its reply.
   * @param {string} [stateDir] The state folder that the daemon must serve; empty: any.
   * @returns {{ id: number, data: Buffer }}
   */
  hello(stateDir = "") {
    if (this.state !== "new") {
      throw new MemdError("connection_lost", `the session has greeted before; it is ${this.state}`);
    }
    const about = { protocol: PROTOCOL_VERSION, client: this.#client, version: CLIENT_VERSION };
    const greeting = this.#send("hello", { ...about, state_dir: stateDir });
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
      throw new MemdError("hello_required", `\`${method}\` was sent before the reply to \`hello\``);
    }
    return this.#send(method, params);
  }

  /**
   * Abandon a request and return the bytes that cancel it at the daemon; null if it is not waiting any more. The replies
   * to the request and to the cancellation are ignored when they arrive.
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
   * Forget an unsent request.
   * @param {number} id
   */
  retract(id) {
    this.#waiting.delete(id);
  }

  /**
   * Parse bytes from the daemon and return the arrivals in them, oldest first.
   * @param {Uint8Array} data
   * @returns {Arrival[]}
   * @throws {MemdError} `frame_too_big`, `frame_invalid`: the bytes don't follow the protocol, and the session is closed;
   *     `connection_lost`: it was closed before.
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

  /** Close the session: it encodes and parses nothing any more. */
  close() {
    this.state = "closed";
    this.#waiting.clear();
    this.#abandoned.clear();
  }

  /**
   * Encode a request, then register its id: a request that can't be encoded must not wait.
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
   * Return the arrival of one message; null if no request waits for it.
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
      throw new MemdError("frame_invalid", `the daemon replied to request ${id}, which was not sent`);
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
      this.daemon = /** @type {any} */ (parseReply("hello", arrival.result));
      this.state = "ready";
      return arrival;
    } catch (error) {
      this.close();
      return { kind: "failure", id: arrival.id, error: /** @type {MemdError} */ (error) };
    }
  }

  /**
   * Return the progress or event of a waiting request; null for any other, for an incomplete one, and for a notification
   * of a newer daemon.
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
      const fields = /** @type {any} */ (parseReply(name, params));
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
