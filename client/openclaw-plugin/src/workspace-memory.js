/**
 * The origin of workspace memory files: OpenClaw asks for it before it puts MEMORY.md and USER.md into a system prompt.
 *
 * The rules are memory-core's. Nothing here asks the daemon, so a prompt is whole while the daemon is down or hung.
 */

/** @import { Logger, MemoryOrigin, ProvenanceReader, WorkspacePathsRequest } from "./types.js" */

import { realpath } from "node:fs/promises";
import path from "node:path";

const CURATED_FILES = new Set(["MEMORY.md", "memory.md", "USER.md"]);
const DREAM_DIARIES = new Set(["DREAMS.md", "dreams.md"]);
const DREAM_FOLDERS = new Set(["dreaming", ".dreams"]);
const PERSONAL_PROFILE = /^users\/[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}\/USER\.md$/;

/** Return OpenClaw's module that knows which memory files its own tools wrote, and on whose behalf. */
export const loadProvenance = () => import("openclaw/plugin-sdk/memory-core-host-runtime-core");

/**
 * Return the origin of each path. OpenClaw puts files of origin `owner` and `agent` into prompts, and no others.
 * @param {WorkspacePathsRequest} request
 * @param {ProvenanceReader} readProvenance
 * @returns {Promise<{ relativePath: string, originClass: MemoryOrigin }[]>}
 */
export async function classifyWorkspaceMemoryPaths({ workspaceDir, relativePaths, readSources }, readProvenance) {
  return await Promise.all(
    relativePaths.map(async (relativePath) => {
      const canonical = readSources
        ? canonicalSource(readSources.find((source) => source.relativePath === relativePath)?.canonicalRelativePath)
        : await canonicalFile(workspaceDir, relativePath);
      return { relativePath, originClass: await originOf(canonical, workspaceDir, readProvenance) };
    }),
  );
}

/**
 * Return a reader of OpenClaw's provenance records. If OpenClaw doesn't offer them, every file counts as untrusted.
 * @param {Logger} logger
 * @param {typeof loadProvenance} [load]
 * @returns {ProvenanceReader}
 */
export function provenanceReader(logger, load = loadProvenance) {
  let warned = false;
  return async (file) => {
    const read = await load().then(
      (module) => module.readMemoryArtifactProvenance,
      () => undefined,
    );
    if (typeof read === "function") return await read(file);
    if (!warned) logger.warn(NO_PROVENANCE);
    warned = true;
    return { originClass: "untrusted" };
  };
}

const NO_PROVENANCE =
  "memd: agents run WITHOUT their MEMORY.md and USER.md: this OpenClaw doesn't offer plugins " +
  "`readMemoryArtifactProvenance` of openclaw/plugin-sdk/memory-core-host-runtime-core, so memd can't tell trusted " +
  "files from poisoned ones and leaves out both. Update memd's plugin to one made for this OpenClaw, or set " +
  '`plugins.slots.memory` to "memory-core" until there is one';

/**
 * Return a file's real path inside the real workspace, with slashes; undefined if it is missing or lies outside.
 * @param {string} workspaceDir
 * @param {string} relativePath
 */
async function canonicalFile(workspaceDir, relativePath) {
  const real = Promise.all([realpath(workspaceDir), realpath(path.resolve(workspaceDir, relativePath))]);
  const [workspace, file] = await real.catch(() => ["", ""]);
  const relative = path.relative(workspace, file);
  const outside = relative === "" || relative.split(path.sep)[0] === ".." || path.isAbsolute(relative);
  return outside ? undefined : relative.replaceAll(path.sep, "/");
}

/**
 * Return the path of a remote workspace's file as its host resolved it; undefined if it isn't normal or lies outside.
 * @param {string | undefined} source
 */
function canonicalSource(source) {
  if (!source || source === "." || source.split("/")[0] === "..") return undefined;
  if (/[\\\0]/.test(source) || path.posix.isAbsolute(source) || path.win32.isAbsolute(source)) return undefined;
  return path.posix.normalize(source) === source ? source : undefined;
}

/**
 * Return the origin of one file.
 * @param {string | undefined} canonical its real path inside the workspace
 * @param {string} workspaceDir
 * @param {ProvenanceReader} readProvenance
 * @returns {Promise<MemoryOrigin>}
 */
async function originOf(canonical, workspaceDir, readProvenance) {
  if (canonical === undefined) return "untrusted";
  const [top = "", second = ""] = canonical.split("/");
  if (DREAM_DIARIES.has(canonical) || (top === "memory" && DREAM_FOLDERS.has(second))) return "system";
  const isNote = top === "memory" && canonical.endsWith(".md");
  if (!isNote && !CURATED_FILES.has(canonical) && !PERSONAL_PROFILE.test(canonical)) return "untrusted";
  const recorded = await readProvenance({ workspaceDir, relativePath: canonical });
  return recorded?.originClass ?? "agent";
}
