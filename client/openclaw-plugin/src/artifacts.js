/**
 * The files of memory that OpenClaw may export or show to other plugins: the Markdown of each agent's workspace, without the notes
 * that keep a conversation, since an export is not limited to the sessions that may see it.
 */

/** @import { Artifact, HostConfig } from "./types.js" */

import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";

import { readSessions } from "./note-facts.js";
import { agentIds, hasMemory } from "./settings.js";

const ROOT = "MEMORY.md"; // USER.md is about a person: OpenClaw's own memory doesn't show it either
const REPORTS = "memory/dreaming/";

/**
 * Return the artifacts of all agents with memory; agents that share a workspace share its files.
 * @param {HostConfig} cfg
 * @param {(agent: string) => string} workspaceOf
 * @returns {Promise<Artifact[]>}
 */
export async function listArtifacts(cfg, workspaceOf) {
  /** @type {Map<string, string[]>} */
  const owners = new Map();
  for (const agent of agentIds(cfg).filter((id) => hasMemory(cfg, id))) {
    const workspace = workspaceOf(agent);
    owners.set(workspace, [...(owners.get(workspace) ?? []), agent]);
  }
  const artifacts = [];
  for (const [workspaceDir, agents] of owners) {
    const files = await memoryFiles(workspaceDir);
    const sessions = await readSessions(workspaceDir, files);
    for (const relativePath of files.filter((path) => sessions.get(path) === undefined)) {
      artifacts.push({
        kind: kindOf(relativePath),
        workspaceDir,
        relativePath,
        absolutePath: join(workspaceDir, relativePath),
        agentIds: [...agents],
        contentType: /** @type {const} */ ("markdown"),
      });
    }
  }
  return artifacts;
}

/**
 * Return the Markdown files of a workspace's memory; links are none.
 * @param {string} workspace
 */
async function memoryFiles(workspace) {
  const hasRoot = (await entries(workspace)).some((entry) => entry.isFile() && entry.name === ROOT);
  return [...(hasRoot ? [ROOT] : []), ...(await below(workspace, "memory"))];
}

/** @param {string} path in the workspace */
function kindOf(path) {
  if (path === ROOT) return "memory-root";
  return path.startsWith(REPORTS) ? "dream-report" : "daily-note";
}

/**
 * @param {string} workspace
 * @param {string} folder
 * @returns {Promise<string[]>}
 */
async function below(workspace, folder) {
  const found = [];
  for (const entry of await entries(join(workspace, folder))) {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory() && !entry.name.startsWith(".")) found.push(...(await below(workspace, path)));
    else if (entry.isFile() && entry.name.endsWith(".md")) found.push(path);
  }
  return found.sort();
}

/** @param {string} folder */
async function entries(folder) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
