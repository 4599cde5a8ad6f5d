// Starting the daemon where none runs. Any number of clients may do so at once: one daemon gets the lock.

import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import { readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { privateDirectory } from "./discovery.js";
import { MemdError } from "./errors.js";

/** How long a started daemon may take until it answers `hello`: a cold Python on a slow disk. */
const START_MS = 15_000;

/** Wait between tries to connect to a daemon that is starting. */
const POLL_MS = 20;

/** Exit status of a daemon that found another one holding the lock: whoever started it only has to wait. */
const EXIT_ALREADY_RUNNING = 75;

/** After our daemon found the lock held and still nobody answers, another one is started this often. */
const AGAIN_MS = 1_000;

/** A started daemon's log begins anew at this size: the runtime directory is often memory. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;

const TAIL_BYTES = 600;

/**
 * Start the daemon and return what `connect` returns once it succeeds.
 * @template T
 * @param {string} socket The socket's path.
 * @param {() => Promise<T>} connect Connects and greets; `daemon_unreachable` means "not yet".
 * @param {{ command?: string[], signal?: AbortSignal, timeoutMs?: number }} [options] The command that starts it; found
 *     by `daemonCommand` when left out. The signal ends the waiting; a daemon that was started goes on.
 * @returns {Promise<T>}
 * @throws {MemdError} `daemon_start_failed`: it ended, or did not answer in time. The message ends with its log.
 */
export async function startAndWait(socket, connect, { command, signal, timeoutMs = START_MS } = {}) {
  const until = performance.now() + timeoutMs;
  privateDirectory(dirname(socket));
  const turn = new Turn(`${socket}.starting`);
  /** @type {Started | null} */
  let started = null;
  try {
    for (;;) {
      const ended = started?.ended ?? null; // before connecting: who ended now can't have served
      const connection = await connect().catch((error) => {
        if (error.code !== "daemon_unreachable") throw error;
        return null;
      });
      if (connection !== null) return connection;
      if (signal?.aborted) throw new MemdError("connection_lost", "this Client is closed");
      if (ended !== null && ended !== EXIT_ALREADY_RUNNING)
        throw failed(socket, `the daemon ended with ${ended}`);
      if (performance.now() > until)
        throw failed(socket, `the daemon did not answer in ${timeoutMs / 1000} s`);
      const isDue = started === null || (ended !== null && performance.now() - started.atMs > AGAIN_MS);
      if (isDue && turn.take()) started = startDaemon(socket, command);
      await wait(POLL_MS);
    }
  } finally {
    turn.give();
  }
}

/** A daemon this process started. @typedef {{ ended: number | string | null, atMs: number }} Started */

/**
 * Start the daemon in a session of its own and don't wait for it. It listens on `socket`, reads nothing from us, and
 * writes to a log beside it. Where another one holds the lock it ends with `EXIT_ALREADY_RUNNING`.
 * @param {string} socket
 * @param {string[]} [command]
 * @returns {Started}
 * @throws {MemdError} `daemon_start_failed`.
 */
function startDaemon(socket, command) {
  const [program, ...rest] = command ?? daemonCommand();
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, MEMD_SOCKET: socket };
  if (env.PYTHONPATH) {
    // It may be relative, and the daemon runs elsewhere.
    env.PYTHONPATH = env.PYTHONPATH.split(delimiter)
      .filter(Boolean)
      .map((part) => resolve(part))
      .join(delimiter);
  }
  /** @type {Started} */
  const started = { ended: null, atMs: performance.now() };
  const log = openLog(socket);
  try {
    // Its directory is never the agent's, which the daemon would hold.
    const options = { cwd: dirname(socket), env, detached: true };
    const child = spawn(program, rest, { ...options, stdio: ["ignore", log, log] });
    child.on("error", (error) => {
      started.ended = `an error: ${error.message}`;
    });
    child.on("exit", (code, signal) => {
      started.ended = code ?? signal ?? "an unknown status";
    });
    child.unref();
  } catch (error) {
    throw new MemdError(
      "daemon_start_failed",
      `\`${program}\` can't be run: ${/** @type {Error} */ (error).message}`,
    );
  } finally {
    closeSync(log);
  }
  return started;
}

/**
 * Return the command that starts the daemon: `memd` on PATH, else where installers put it, which is not on the PATH of
 * processes that a service manager started.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string[]}
 * @throws {MemdError} `daemon_start_failed`: it is in none of these places.
 */
export function daemonCommand(env = process.env) {
  const home = env.HOME || homedir();
  const folders = [...(env.PATH ?? "").split(delimiter).filter(isAbsolute), join(home, ".local", "bin")];
  const found = folders.map((folder) => join(folder, "memd")).find(isProgram);
  if (found !== undefined) return [found];
  throw new MemdError("daemon_start_failed", "memd is not found on PATH", {
    hint: "Install memd-daemon as docs/install.md says, and have its program memd on PATH or name it in daemonCommand.",
  });
}

/** Whose turn it is to start the daemon, so that twenty clients don't start twenty: a file that only one can make. */
class Turn {
  #path;
  #mine = false;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /** Return whether it is ours, until it is given back. One whose owner is gone, or too slow, is taken over. */
  take() {
    if (this.#mine) return true;
    try {
      if (this.#isLeftOver()) unlinkSync(this.#path);
      writeFileSync(this.#path, String(process.pid), { flag: "wx", mode: 0o600 });
      this.#mine = true;
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      // Where no such file can be made, the daemon's own lock decides.
      return code !== "EEXIST" && code !== "ENOENT";
    }
    return true;
  }

  give() {
    if (!this.#mine) return;
    this.#mine = false;
    try {
      unlinkSync(this.#path);
    } catch {
      // Somebody took it over.
    }
  }

  #isLeftOver() {
    const facts = statSync(this.#path, { throwIfNoEntry: false });
    if (facts === undefined) return false;
    if (Date.now() - facts.mtimeMs > START_MS) return true;
    const pid = Number(readFileSync(this.#path, "utf8"));
    return pid > 0 && !isRunning(pid);
  }
}

/** @type {(socket: string) => string} */
export function logPath(socket) {
  return `${socket.replace(/\.[^./]*$/, "")}.log`;
}

/** @type {(socket: string) => number} */
function openLog(socket) {
  try {
    const log = openSync(logPath(socket), constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
    if (fstatSync(log).size > MAX_LOG_BYTES) ftruncateSync(log);
    return log;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new MemdError("daemon_start_failed", `${logPath(socket)} can't be written: ${code}`);
  }
}

/** @type {(socket: string, what: string) => MemdError} */
function failed(socket, what) {
  const tail = logTail(socket);
  return new MemdError("daemon_start_failed", tail ? `${what}; its log ends with: ${tail}` : what, {
    hint: `See ${logPath(socket)}, or run \`memd\` in a terminal.`,
  });
}

/** The end of a started daemon's log; empty where there is none. @type {(socket: string) => string} */
function logTail(socket) {
  try {
    const log = openSync(logPath(socket), "r");
    try {
      const buffer = Buffer.alloc(TAIL_BYTES);
      const from = Math.max(0, fstatSync(log).size - TAIL_BYTES);
      return buffer.toString("utf8", 0, readSync(log, buffer, 0, TAIL_BYTES, from)).trim();
    } finally {
      closeSync(log);
    }
  } catch {
    return "";
  }
}

/** @type {(pid: number) => boolean} */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** @type {(path: string) => boolean} */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
