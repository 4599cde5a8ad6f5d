/**
 * The daemon as the plugin asks it: one client for all agents, made when it is first needed, and a deadline for every request.
 */

/** @import { Logger, MakeClient, MemdClient, Settings } from "./types.js" */

const LATER_MS = 30_000; // for background requests: a chat model may name the note

/** Codes that say the daemon isn't there, rather than that it couldn't do something. */
const ABSENT = new Set(["daemon_unreachable", "daemon_start_failed", "socket_path_invalid", "connection_lost", "shutting_down",
  "peer_refused", "protocol_mismatch"]);

export class Daemon {
  /** @type {MemdClient | undefined} */
  #client;
  #absent = false;
  /** @type {Set<Promise<unknown>>} */
  #going = new Set();
  #settings;
  #log;
  #make;

  /**
   * @param {Settings} settings
   * @param {Logger} log
   * @param {MakeClient} make
   */
  constructor(settings, log, make) {
    this.#settings = settings;
    this.#log = log;
    this.#make = make;
  }

  /**
   * Send a request with a deadline. Throws the errors of the client.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {{ deadlineMs: number, signal?: AbortSignal | undefined }} options
   * @returns {Promise<any>} the reply, with the keys of docs/protocol.md
   */
  async ask(method, params, { deadlineMs, signal }) {
    try {
      const reply = await this.#connected().request(method, params, { timeoutMs: deadlineMs, ...(signal ? { signal } : {}) });
      this.#heard();
      return reply;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  /**
   * Send a request that must not delay a reply: wait until the hooks' deadline at most, and continue in the background.
   * A failure is logged.
   * @param {string} method
   * @param {Record<string, unknown>} params
   */
  async tell(method, params) {
    const going = this.ask(method, params, { deadlineMs: LATER_MS }).catch((error) => {
      if (!isAbsent(error)) this.#log.warn(`memd: ${method} failed: ${sentence(error)}`);
    });
    this.#going.add(going);
    void going.finally(() => this.#going.delete(going));
    await within(going, this.#settings.hookDeadlineMs);
  }

  /** Wait for running requests, within the hooks' deadline, and disconnect; the next request reconnects. */
  async close() {
    await within(Promise.allSettled([...this.#going]), this.#settings.hookDeadlineMs);
    const client = this.#client;
    this.#client = undefined;
    await client?.close();
  }

  #connected() {
    const { socketPath, startDaemon, daemonCommand, toolDeadlineMs } = this.#settings;
    this.#client ??= this.#make({
      ...(socketPath === undefined ? {} : { socketPath }),
      autostart: startDaemon,
      ...(daemonCommand === undefined ? {} : { daemonCommand }),
      timeoutMs: toolDeadlineMs,
      clientName: "openclaw-plugin",
    });
    return this.#client;
  }

  #heard() {
    if (this.#absent) this.#log.info("memd: the daemon replies again");
    this.#absent = false;
  }

  /** @param {unknown} error */
  #failed(error) {
    if (!isAbsent(error) || this.#absent) return;
    this.#absent = true;
    this.#log.warn(`memd: agents have no memory now: ${sentence(error)}`);
  }
}

/**
 * Whether an error means that no daemon is running.
 * @param {unknown} error
 */
export function isAbsent(error) {
  return ABSENT.has(codeOf(error));
}

/**
 * Return an error's code; `internal` for errors of other origin.
 * @param {unknown} error
 * @returns {string}
 */
export function codeOf(error) {
  const code = /** @type {{ code?: unknown } | undefined} */ (error)?.code;
  return typeof code === "string" ? code : "internal";
}

/**
 * Return the message and the hint of an error, on one line.
 * @param {unknown} error
 */
export function sentence(error) {
  const { message, hint } = messageAndHint(error);
  return hint === "" ? message : `${message} (${hint})`;
}

/**
 * Return an error's message and hint.
 * @param {unknown} error
 * @returns {{ message: string, hint: string }}
 */
export function messageAndHint(error) {
  const { message, hint } = /** @type {{ message?: unknown, hint?: unknown }} */ (error ?? {});
  return { message: typeof message === "string" ? message : String(error), hint: typeof hint === "string" ? hint : "" };
}

/**
 * Return the value of a promise, or undefined after the deadline; the promise continues.
 * @template T
 * @param {Promise<T>} promise
 * @param {number} deadlineMs
 * @returns {Promise<T | undefined>}
 */
async function within(promise, deadlineMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(undefined), deadlineMs);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<undefined>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}
