// The state folder, and the name of its daemon: as in `memd_client/state_folder.py`, whose tests both pass.

import { readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

const STATE_FOLDER = ".openclaw";
const OLD_STATE_FOLDER = ".clawdbot";
const SETTINGS = ["openclaw.json", "clawdbot.json"];

/** Name of the daemon of the user's default state folder. */
const USUAL_NAME = "memd";

/** Links that are followed to a missing folder. */
const MAX_LINKS = 40;

/** @typedef {NodeJS.ProcessEnv} Environ */

/**
 * Return the real path of the state folder, which may be missing: `stateDir`; `OPENCLAW_STATE_DIR`; `.openclaw` or
 * `.clawdbot` in `OPENCLAW_HOME` or the home directory; without OpenClaw memd's own folder.
 * @param {Environ} [environ] The environment; by default, the process's own.
 * @param {string} [stateDir] The state folder, with `~` and relative paths as in `OPENCLAW_STATE_DIR`.
 * @param {NodeJS.Platform} [platform] The operating system, for tests.
 * @returns {string}
 */
export function stateFolder(environ = process.env, stateDir, platform = process.platform) {
  return realPath(stateDir === undefined ? findStateDir(environ, platform) : namedPath(stateDir, environ));
}

/**
 * Whether the environment names a state folder, which may be the default one.
 * @param {Environ} environ
 */
export function namesStateFolder(environ) {
  return valueOf(environ, "OPENCLAW_STATE_DIR") !== "" || namedHome(environ) !== "";
}

/**
 * Return the absolute path in one of OpenClaw's variables; `~` is OpenClaw's home directory.
 * @param {string} path
 * @param {Environ} environ
 */
export function namedPath(path, environ) {
  return absolutePath(path, () => openclawHome(environ));
}

/**
 * Return the name of a state folder's daemon: `memd` for the user's default folder, `memd-5f2c1a07` for another.
 * @param {Environ} environ
 * @param {string} [stateDir] The absolute path of the folder; by default, found by the environment.
 * @param {NodeJS.Platform} [platform]
 */
export function daemonName(environ, stateDir, platform = process.platform) {
  if (stateDir === undefined && !namesStateFolder(environ)) return USUAL_NAME;
  const folder = stateDir ?? findStateDir(environ, platform);
  const home = homeOf(environ);
  const usual = [join(home, STATE_FOLDER), findOpenclaw(home) ?? ownStateDir(environ, home, platform)];
  if (usual.some((path) => isSameFolder(path, folder))) return USUAL_NAME;
  return `${USUAL_NAME}-${numberOf(realPath(folder)).toString(16).padStart(8, "0")}`;
}

/**
 * Whether two paths lead to the same folder, which may be missing.
 * @param {string} path
 * @param {string} other
 */
export function isSameFolder(path, other) {
  if (realPath(path) === realPath(other)) return true;
  const [one, two] = [path, other].map((each) => attempt(() => statSync(each)));
  return one !== undefined && two !== undefined && one.ino === two.ino && one.dev === two.dev;
}

/** @type {(environ: Environ, platform: string) => string} */
function findStateDir(environ, platform) {
  const named = valueOf(environ, "OPENCLAW_STATE_DIR");
  if (named !== "") return namedPath(named, environ);
  const home = openclawHome(environ);
  const found = findOpenclaw(home);
  if (found !== undefined) return found;
  const isOpenclaws = namedHome(environ) !== "" || valueOf(environ, "OPENCLAW_CONFIG_PATH") !== "";
  return isOpenclaws ? join(home, STATE_FOLDER) : ownStateDir(environ, home, platform);
}

/** @type {(environ: Environ) => string} */
function homeOf(environ) {
  return environ.HOME || homedir();
}

/** @type {(environ: Environ) => string} */
function openclawHome(environ) {
  const named = namedHome(environ);
  return named === "" ? homeOf(environ) : absolutePath(named, () => homeOf(environ));
}

/** `OPENCLAW_HOME`; like OpenClaw, take two words for an unset variable. @type {(environ: Environ) => string} */
function namedHome(environ) {
  const named = valueOf(environ, "OPENCLAW_HOME");
  return named === "undefined" || named === "null" ? "" : named;
}

/** @type {(path: string, home: () => string) => string} */
function absolutePath(path, home) {
  return resolve(path === "~" || path.startsWith("~/") ? home() + path.slice(1) : path);
}

/** @type {(environ: Environ, name: string) => string} */
function valueOf(environ, name) {
  return environ[name]?.trim() ?? "";
}

/** @type {(home: string) => string | undefined} */
function findOpenclaw(home) {
  return [STATE_FOLDER, OLD_STATE_FOLDER].map((name) => join(home, name)).find(isOpenclawFolder);
}

/** Whether a folder contains settings, a workspace or agents of OpenClaw. @type {(folder: string) => boolean} */
function isOpenclawFolder(folder) {
  try {
    const names = readdirSync(folder);
    if (names.some((name) => SETTINGS.includes(name) || name === "workspace" || name.startsWith("workspace-"))) {
      return true;
    }
    if (basename(folder) === OLD_STATE_FOLDER && isDirectory(join(dirname(folder), "clawd"))) return true;
    const agents = join(folder, "agents");
    return names.includes("agents") && readdirSync(agents).some((agent) => isDirectory(join(agents, agent)));
  } catch (error) {
    // A folder that can't be listed counts: its contents are unknown, and it isn't memd's.
    return !["ENOENT", "ENOTDIR"].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? "");
  }
}

/** @type {(environ: Environ, home: string, platform: string) => string} */
function ownStateDir(environ, home, platform) {
  const named = valueOf(environ, "XDG_DATA_HOME");
  const usual = platform === "darwin" ? "Library/Application Support" : ".local/share";
  return join(isAbsolute(named) ? named : join(home, usual), "memd", "state");
}

/**
 * Return a path without links; like Python's `realpath`, also that of a missing folder.
 * @param {string} path
 * @param {number} [links] How many links were followed.
 * @returns {string}
 */
function realPath(path, links = 0) {
  const absolute = resolve(path);
  const found = attempt(() => realpathSync(absolute));
  const parent = dirname(absolute);
  if (found !== undefined || parent === absolute) return found ?? absolute;
  const real = join(realPath(parent, links), basename(absolute));
  const target = attempt(() => readlinkSync(real)); // a link to a missing folder
  return target === undefined || links >= MAX_LINKS ? real : realPath(resolve(dirname(real), target), links + 1);
}

/** @type {(path: string) => boolean} */
function isDirectory(path) {
  return attempt(() => statSync(path))?.isDirectory() ?? false;
}

/** The result of a function, undefined if it throws. @template T @param {() => T} call @returns {T | undefined} */
function attempt(call) {
  try {
    return call();
  } catch {
    return undefined;
  }
}

/** The 32-bit FNV-1a hash of a path. @type {(path: string) => number} */
function numberOf(path) {
  let number = 0x811c9dc5;
  for (const octet of Buffer.from(path)) number = Math.imul(number ^ octet, 0x01000193) >>> 0;
  return number;
}
