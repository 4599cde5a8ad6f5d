// Where the socket is, and whose its directory has to be.

import { mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { MemdError } from "./errors.js";

const SOCKET_NAME = "memd.sock";

/**
 * Return the path of the daemon's socket.
 *
 * In this order: `MEMD_SOCKET`; `memd/memd.sock` in `XDG_RUNTIME_DIR`; the same in `/run/user/<uid>`, where that exists
 * (a login without the variable finds the daemon of one with it); else in a directory of the home folder. Where the
 * home folder's path is too long for a socket: `/tmp/memd-<uid>`.
 * @param {NodeJS.ProcessEnv} [env] The environment; the process's own when left out.
 * @param {NodeJS.Platform} [platform] A test's way to the other system.
 * @throws {MemdError} `socket_path_invalid`.
 */
export function socketPath(env = process.env, platform = process.platform) {
  const home = env.HOME || homedir();
  if (env.MEMD_SOCKET) return checkSocketPath(env.MEMD_SOCKET.replace(/^~(?=\/|$)/, home), platform);
  if (platform === "win32" || process.getuid === undefined) {
    throw new MemdError(
      "socket_path_invalid",
      "memd runs on Linux and macOS; here there is no place for its socket",
    );
  }
  const runtime = env.XDG_RUNTIME_DIR;
  if (runtime && isAbsolute(runtime)) return checkSocketPath(join(runtime, "memd", SOCKET_NAME), platform);
  const uid = process.getuid();
  if (platform === "linux" && isDirectory(`/run/user/${uid}`)) {
    return checkSocketPath(`/run/user/${uid}/memd/${SOCKET_NAME}`, platform);
  }
  const path = join(homeRuntime(env, home, platform), SOCKET_NAME);
  return Buffer.byteLength(path) > longest(platform)
    ? checkSocketPath(`/tmp/memd-${uid}/${SOCKET_NAME}`, platform)
    : checkSocketPath(path, platform);
}

/**
 * Return the path if a socket can have it.
 * @param {string} path
 * @param {NodeJS.Platform} [platform]
 * @throws {MemdError} `socket_path_invalid`: it is too long for the system, not absolute, or holds a NUL character.
 */
export function checkSocketPath(path, platform = process.platform) {
  const bytes = Buffer.byteLength(path);
  const limit = longest(platform);
  if (bytes > limit) {
    const said = `the socket path is ${bytes} bytes long, the system allows ${limit}: ${path}`;
    throw new MemdError("socket_path_invalid", said, { data: { path, bytes, limit } });
  }
  if (!isAbsolute(path) || path.includes("\0")) {
    const said = `the socket path is not absolute: ${JSON.stringify(path)}`;
    throw new MemdError("socket_path_invalid", said, { data: { path } });
  }
  return path;
}

/**
 * Make sure a directory exists and is its user's alone. A missing one is made with mode 0700, its parents as the umask
 * says; an existing one is never changed.
 * @param {string} path
 * @throws {MemdError} `socket_path_invalid`.
 */
export function privateDirectory(path) {
  /** @type {import("node:fs").Stats} */
  let facts;
  try {
    if (!isDirectory(path)) {
      mkdirSync(dirname(path), { recursive: true });
      try {
        mkdirSync(path, { mode: 0o700 });
      } catch (error) {
        // Another starter was quicker; it is checked below.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
      }
    }
    facts = statSync(path);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new MemdError("socket_path_invalid", `can't make the socket's directory ${path}: ${code}`);
  }
  const mode = facts.mode & 0o777;
  if (!facts.isDirectory()) {
    throw new MemdError("socket_path_invalid", `the socket's directory is not a directory: ${path}`);
  }
  if (facts.uid !== process.geteuid?.()) {
    const said = `the socket's directory belongs to another user (uid ${facts.uid}): ${path}`;
    throw new MemdError("socket_path_invalid", said);
  }
  if (mode & 0o077) {
    const said = `others may enter the socket's directory (mode ${mode.toString(8).padStart(4, "0")}): ${path}`;
    const way = `Run \`chmod 700 ${path}\`, or set MEMD_SOCKET to a path in a directory that is yours alone.`;
    throw new MemdError("socket_path_invalid", said, { hint: way });
  }
}

/**
 * Longest socket path in bytes: `sun_path` of the system without its closing NUL.
 * @type {(platform: string) => number}
 */
function longest(platform) {
  return platform === "darwin" ? 103 : 107;
}

/**
 * The directory for the socket where the system has none.
 * @type {(env: NodeJS.ProcessEnv, home: string, platform: string) => string}
 */
function homeRuntime(env, home, platform) {
  if (platform === "darwin") return join(home, "Library", "Caches", "TemporaryItems", "memd");
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "memd", "run");
}

/** @type {(path: string) => boolean} */
function isDirectory(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
