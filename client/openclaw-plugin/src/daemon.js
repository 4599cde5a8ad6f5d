/**
 * The daemon as the plugin asks it: clients for all agents, made when they are first needed, and a deadline for every request.
 */

/** @import { Logger, MakeClient, MemdClient, Settings } from "./types.js" */

import { Watch } from "./watch.js";

const LATER_MS = 30_000; // for background requests: a chat model may name the note
const START_MS = 20_000; // starting the daemon takes some seconds; no turn waits for it
const RESTART_MS = 60_000; // pause between attempts to start it in the background

/** Share of the hooks' deadline after which a reply is late. A probe may take as long, so a hang is known within the deadline. */
const DOUBT = 0.4;
const MIN_DOUBT_MS = 100;

/** Share of the time between waits that a turn gets back: a later turn has its whole time again. */
const REFILL = 0.5;

const MIN_WAIT_MS = 20;

/** Codes that say the daemon isn't there, rather than that it couldn't do something. */
const ABSENT = new Set(["daemon_unreachable", "daemon_start_failed", "socket_path_invalid", "connection_lost", "shutting_down",
  "peer_refused", "protocol_mismatch", "state_dir_mismatch"]);

export class Daemon {
  /** Called when the daemon answers again. */
  onReturn = () => {};
  /** @type {MemdClient | undefined} starts the daemon if the settings allow */
  #client;
  /** @type {MemdClient | undefined} never starts it: for probes, and for turns, which can't wait for a start */
  #quick;
  #absent = false;
  #startedAt = -Infinity;
  /** @type {Set<Promise<unknown>>} */
  #going = new Set();
  /** @type {Map<unknown, { spentMs: number, at: number }>} how long memory has delayed each agent's turns */
  #spent = new Map();
  #settings;
  #log;
  #make;
  #stateDir;
  #watch;

  /**
   * @param {Settings} settings
   * @param {Logger} log
   * @param {MakeClient} make
   * @param {() => string} stateDir returns OpenClaw's state folder
   */
  constructor(settings, log, make, stateDir) {
    this.#settings = settings;
    this.#log = log;
    this.#make = make;
    this.#stateDir = stateDir;
    this.#watch = new Watch((timeoutMs) => this.#unstarted().request("hello", {}, { timeoutMs }), {
      doubtMs: Math.max(MIN_DOUBT_MS, DOUBT * settings.hookDeadlineMs),
      onHang: (error) => this.#missed(error),
      onReturn: () => this.#heard(true),
    });
  }

  /**
   * Send a request with a deadline. Throws the errors of the client, and at once if the daemon is known to hang.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {{ deadlineMs: number, signal?: AbortSignal | undefined }} options
   * @returns {Promise<any>} the reply, with the keys of docs/protocol.md
   */
  async ask(method, params, { deadlineMs, signal }) {
    return await this.#request(() => this.#starting(), this.#watch.hung, { method, params, deadlineMs, signal });
  }

  /**
   * Send a request that a turn waits for. All of them together may delay an agent's turn by the hooks' deadline; a silent daemon,
   * and one that has to be started, don't delay it again.
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @param {{ signal?: AbortSignal | undefined }} [options]
   * @returns {Promise<any>}
   */
  async askInTurn(method, params, { signal } = {}) {
    const { silent } = this.#watch;
    try {
      return await this.#charged(params["agent"], (deadlineMs) =>
        this.#request(() => this.#unstarted(), silent, { method, params, deadlineMs, signal }),
      );
    } catch (error) {
      if (codeOf(error) === "daemon_unreachable") this.#startLater();
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
      if (!isAbsent(error) && !isHang(error)) this.#log.warn(`memd: ${method} failed: ${sentence(error)}`);
    });
    await this.inBackground(going);
  }

  /**
   * Wait for something until the hooks' deadline at most; it continues in the background, and `close` waits for it.
   * @param {Promise<unknown>} going which doesn't fail
   */
  async inBackground(going) {
    this.#going.add(going);
    void going.finally(() => this.#going.delete(going));
    await within(going, this.#watch.silent.aborted ? 0 : this.#settings.hookDeadlineMs);
  }

  /** Wait for running requests, within the hooks' deadline, and disconnect; the next request reconnects. */
  async close() {
    await within(Promise.allSettled([...this.#going]), this.#settings.hookDeadlineMs);
    const clients = [this.#client, this.#quick];
    this.#client = this.#quick = undefined;
    this.#watch.close();
    await Promise.all(clients.map((client) => client?.close()));
  }

  /**
   * @param {() => MemdClient} client
   * @param {AbortSignal} given aborted if the daemon isn't waited for
   * @param {{ method: string, params: Record<string, unknown>, deadlineMs: number, signal: AbortSignal | undefined }} request
   */
  async #request(client, given, { method, params, deadlineMs, signal }) {
    if (given.aborted) throw this.#watch.error();
    const timer = this.#watch.timer();
    try {
      const options = { timeoutMs: deadlineMs, signal: signal ? AbortSignal.any([given, signal]) : given };
      const reply = await client().request(method, params, options);
      this.#heard();
      return reply;
    } catch (error) {
      if (given.aborted) throw this.#watch.error();
      if (isAbsent(error)) this.#missed(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Run something that delays a turn, with the time that is left of the hooks' deadline.
   * @template T
   * @param {unknown} agent whose turn it delays
   * @param {(deadlineMs: number) => Promise<T>} wait
   */
  async #charged(agent, wait) {
    const most = this.#settings.hookDeadlineMs;
    const began = performance.now();
    const { spentMs, at } = this.#spent.get(agent) ?? { spentMs: 0, at: began };
    const deadlineMs = most - Math.max(0, spentMs - REFILL * (began - at));
    if (deadlineMs < MIN_WAIT_MS) {
      const message = `memory has delayed this turn by ${most} ms already`;
      throw Object.assign(new Error(message), { code: "deadline_exceeded", hint: "" });
    }
    try {
      return await wait(deadlineMs);
    } finally {
      const now = performance.now();
      this.#spent.set(agent, { spentMs: most - deadlineMs + now - began, at: now });
    }
  }

  /** Start the daemon without waiting for it. */
  #startLater() {
    const now = performance.now();
    if (!this.#settings.startDaemon || now - this.#startedAt < RESTART_MS) return;
    this.#startedAt = now;
    void this.ask("hello", {}, { deadlineMs: START_MS }).catch(() => {});
  }

  #starting() {
    return (this.#client ??= this.#made(this.#settings.startDaemon));
  }

  #unstarted() {
    return (this.#quick ??= this.#made(false));
  }

  /** @param {boolean} autostart */
  #made(autostart) {
    const { socketPath, daemonCommand, toolDeadlineMs } = this.#settings;
    return this.#make({
      ...(socketPath === undefined ? {} : { socketPath }),
      stateDir: this.#stateDir(),
      autostart,
      ...(daemonCommand === undefined ? {} : { daemonCommand }),
      timeoutMs: toolDeadlineMs,
      clientName: "openclaw-plugin",
    });
  }

  #heard(returned = this.#absent) {
    if (this.#absent) this.#log.info("memd: the daemon replies again");
    this.#absent = false;
    if (returned) this.onReturn();
  }

  /** @param {unknown} error */
  #missed(error) {
    if (this.#absent) return;
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
 * Whether an error means that the daemon runs but answers nothing.
 * @param {unknown} error
 */
export function isHang(error) {
  return /** @type {{ isHang?: unknown } | undefined} */ (error)?.isHang === true;
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
