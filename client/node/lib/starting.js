// Starting the daemon. Any number of clients may do so at once: one daemon gets the lock.

import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import { readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ensurePrivateDirectory } from "./discovery.js";
import { MemdError } from "./errors.js";
import { isSameFolder, namedPath, stateFolder } from "./state-folder.js";

/** Longest time until a started daemon replies to `hello`: a cold start of Python from a slow disk. */
const START_TIMEOUT_MS = 15_000;

/** Pause between attempts to connect to a daemon that is starting. */
const START_POLL_INTERVAL_MS = 20;

/** Exit status of a daemon that found the lock taken by another daemon; the client then waits for that one. */
const EXIT_ALREADY_RUNNING = 75;

/** Pause before another daemon is started, if the first one found the lock taken and no daemon listens. */
const RESTART_INTERVAL_MS = 1_000;

/** A started daemon's log is truncated at this size: the runtime directory is often in RAM. */
const MAX_LOG_BYTES = 8 * 1024 * 1024;

/** Bytes of the log in error messages. */
const TAIL_BYTES = 600;

/**
 * Start the daemon, wait until it is ready, and return the result of `connect`.
 * @template T
 * @param {string} socket The socket's path.
 * @param {() => Promise<T>} connect Connects and greets; fails with `daemon_unreachable` while the daemon is not ready.
 * @param {{ command?: string[], stateDir?: string, signal?: AbortSignal, timeoutMs?: number }} [options] The command that
 *     starts it; by default, that of `daemonCommand`. The state folder of a started daemon; by default, that of its
 *     environment. The signal ends the wait; a started daemon keeps running.
 * @returns {Promise<T>}
 * @throws {MemdError} `daemon_start_failed`: it ended, or was not ready in time. The message ends with its log.
 */
export async function startAndWait(socket, connect, options = {}) {
  const { command, stateDir, signal, timeoutMs = START_TIMEOUT_MS } = options;
  const until = performance.now() + timeoutMs;
  ensurePrivateDirectory(dirname(socket));
  const lock = new StartLock(`${socket}.starting`);
  /** @type {StartedDaemon | null} */
  let started = null;
  try {
    for (;;) {
      const ended = started?.ended ?? null; // read before connecting: an ended daemon can't have accepted the connection
      const connection = await connect().catch((error) => {
        if (error.code !== "daemon_unreachable") throw error;
        return null;
      });
      if (connection !== null) return connection;
      if (signal?.aborted) throw new MemdError("connection_lost", "this client is closed");
      if (ended !== null && ended !== EXIT_ALREADY_RUNNING)
        throw startError(socket, `the daemon ended with ${ended}`);
      if (performance.now() > until)
        throw startError(socket, `the daemon was not ready in ${timeoutMs / 1000} s`);
      const isDue =
        started === null || (ended !== null && performance.now() - started.atMs > RESTART_INTERVAL_MS);
      if (isDue && lock.acquire()) started = startDaemon(socket, command, stateDir);
      await wait(START_POLL_INTERVAL_MS);
    }
  } finally {
    lock.release();
  }
}

/** A daemon that this process started. @typedef {{ ended: number | string | null, atMs: number }} StartedDaemon */

/**
 * Start the daemon in a process session of its own, without waiting for it. It listens on `socket`, has no standard input,
 * and writes to a log next to the socket. If another daemon holds the lock, it ends with `EXIT_ALREADY_RUNNING`.
 * @param {string} socket
 * @param {string[]} [command]
 * @param {string} [stateDir]
 * @returns {StartedDaemon}
 * @throws {MemdError} `daemon_start_failed`.
 */
function startDaemon(socket, command, stateDir) {
  const [program, ...rest] = command ?? daemonCommand();
  const env = daemonEnviron(socket, stateDir);
  /** @type {StartedDaemon} */
  const started = { ended: null, atMs: performance.now() };
  const log = openLog(socket);
  try {
    // Not the working directory of the agent, which the daemon would keep in use.
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
 * Return the environment of a daemon, which runs in another directory: relative paths become absolute.
 * @param {string} socket
 * @param {string} [stateDir]
 */
function daemonEnviron(socket, stateDir) {
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, MEMD_SOCKET: socket };
  if (stateDir !== undefined) {
    // The settings of another folder are not those of this one.
    if (!isSameFolder(stateDir, stateFolder(env))) delete env.OPENCLAW_CONFIG_PATH;
    env.OPENCLAW_STATE_DIR = stateDir;
  }
  for (const name of ["OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"]) {
    const path = env[name]?.trim();
    if (path) env[name] = namedPath(path, env);
  }
  if (env.PYTHONPATH) {
    env.PYTHONPATH = env.PYTHONPATH.split(delimiter)
      .filter(Boolean)
      .map((part) => resolve(part))
      .join(delimiter);
  }
  return env;
}

/**
 * Return the command that starts the daemon: `memd` on PATH, else in `~/.local/bin`, which is not on the PATH of
 * processes that a service manager started.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string[]}
 * @throws {MemdError} `daemon_start_failed`: memd is not found.
 */
export function daemonCommand(env = process.env) {
  const home = env.HOME || homedir();
  const folders = [...(env.PATH ?? "").split(delimiter).filter(isAbsolute), join(home, ".local", "bin")];
  const found = folders.map((folder) => join(folder, "memd")).find(isProgram);
  if (found !== undefined) return [found];
  throw new MemdError("daemon_start_failed", "memd is not found on PATH", {
    hint: "install memd-daemon as described in docs/install.md, with its program memd on PATH or in daemonCommand",
  });
}

/** Selects the client that starts the daemon, so that only one does: a file that only one client can create. */
class StartLock {
  #path;
  #isOwned = false;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /** Return whether this client has the lock. A lock whose owner has ended, or is too slow, is taken over. */
  acquire() {
    if (this.#isOwned) return true;
    try {
      if (this.#isStale()) unlinkSync(this.#path);
      writeFileSync(this.#path, String(process.pid), { flag: "wx", mode: 0o600 });
      this.#isOwned = true;
    } catch (error) {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error);
      // If the file can't be created, the daemon's own lock decides.
      return code !== "EEXIST" && code !== "ENOENT";
    }
    return true;
  }

  release() {
    if (!this.#isOwned) return;
    this.#isOwned = false;
    try {
      unlinkSync(this.#path);
    } catch {
      // Another client took it over.
    }
  }

  #isStale() {
    const facts = statSync(this.#path, { throwIfNoEntry: false });
    if (facts === undefined) return false;
    if (Date.now() - facts.mtimeMs > START_TIMEOUT_MS) return true;
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
function startError(socket, what) {
  const tail = logTail(socket);
  return new MemdError("daemon_start_failed", tail ? `${what}; its log ends with: ${tail}` : what, {
    hint: `see ${logPath(socket)}, or run \`memd\` in a terminal`,
  });
}

/** The end of a started daemon's log; empty if there is none. @type {(socket: string) => string} */
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
