// The path of the daemon's socket, and the checks of its directory.

import { mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { MemdError } from "./errors.js";
import { daemonName } from "./state-folder.js";

/**
 * Return the path of the daemon's socket.
 *
 * In this order: `MEMD_SOCKET`; `memd/memd.sock` in `XDG_RUNTIME_DIR`; the same in `/run/user/<uid>` if that exists (so a
 * login without the variable finds the daemon of a login with it); else in a directory of the home directory; if the home
 * directory's path is too long for a socket, in `/tmp/memd-<uid>`. The socket of a state folder other than the user's
 * default folder has a number in its name, such as `memd-5f2c1a07.sock`, because each folder has its own daemon.
 * @param {NodeJS.ProcessEnv} [environ] The environment; by default, the process's own.
 * @param {NodeJS.Platform} [platform] The operating system, for tests.
 * @param {string} [stateDir] The path of the state folder; by default, found by the environment.
 * @returns {string} An absolute path.
 * @throws {MemdError} `socket_path_invalid`: it is too long or not absolute, or the system is not supported.
 */
export function socketPath(environ = process.env, platform = process.platform, stateDir = undefined) {
  const home = environ.HOME || homedir();
  if (environ.MEMD_SOCKET) return checkSocketPath(environ.MEMD_SOCKET.replace(/^~(?=\/|$)/, home), platform);
  if (platform === "win32" || process.getuid === undefined) {
    throw new MemdError(
      "socket_path_invalid",
      "memd runs on Linux and macOS only; this system has no Unix sockets for it",
    );
  }
  const name = `${daemonName(environ, stateDir, platform)}.sock`;
  const runtime = environ.XDG_RUNTIME_DIR;
  if (runtime && isAbsolute(runtime)) return checkSocketPath(join(runtime, "memd", name), platform);
  const uid = process.getuid();
  if (platform === "linux" && isDirectory(`/run/user/${uid}`)) {
    return checkSocketPath(`/run/user/${uid}/memd/${name}`, platform);
  }
  const path = join(homeRuntime(environ, home, platform), name);
  return Buffer.byteLength(path) > maxPathBytes(platform)
    ? checkSocketPath(`/tmp/memd-${uid}/${name}`, platform)
    : checkSocketPath(path, platform);
}

/**
 * Return the path if a socket can have it.
 * @param {string} path
 * @param {NodeJS.Platform} [platform]
 * @throws {MemdError} `socket_path_invalid`: it is too long for the system, not absolute, or contains a NUL character.
 */
export function checkSocketPath(path, platform = process.platform) {
  const bytes = Buffer.byteLength(path);
  const limit = maxPathBytes(platform);
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
 * Ensure that a directory exists and that only its user can enter it. A missing one is created with mode 0700, its parents
 * according to the umask; an existing one is not changed.
 * @param {string} path
 * @throws {MemdError} `socket_path_invalid`.
 */
export function ensurePrivateDirectory(path) {
  /** @type {import("node:fs").Stats} */
  let facts;
  try {
    if (!isDirectory(path)) {
      mkdirSync(dirname(path), { recursive: true });
      try {
        mkdirSync(path, { mode: 0o700 });
      } catch (error) {
        // Another client created it meanwhile; it is checked below.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
      }
    }
    facts = statSync(path);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw new MemdError("socket_path_invalid", `can't create the socket's directory ${path}: ${code}`);
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
    const shown = mode.toString(8).padStart(4, "0");
    const message = `other users can enter the socket's directory (mode ${shown}): ${path}`;
    const hint = `run \`chmod 700 ${path}\`, or set MEMD_SOCKET to a path in a directory that only you can enter`;
    throw new MemdError("socket_path_invalid", message, { hint });
  }
}

/**
 * Longest socket path in bytes: `sun_path` of the system without its closing NUL.
 * @type {(platform: string) => number}
 */
function maxPathBytes(platform) {
  return platform === "darwin" ? 103 : 107;
}

/**
 * The directory for the socket on a system without runtime directories.
 * @type {(environ: NodeJS.ProcessEnv, home: string, platform: string) => string}
 */
function homeRuntime(environ, home, platform) {
  if (platform === "darwin") return join(home, "Library", "Caches", "TemporaryItems", "memd");
  return join(environ.XDG_STATE_HOME || join(home, ".local", "state"), "memd", "run");
}

/** @type {(path: string) => boolean} */
function isDirectory(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
