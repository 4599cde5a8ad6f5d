/**
 * Entries of curated notes in OpenClaw's shape, with their annotations and the origin of their note.
 */

/** @import { MemoryOrigin, SearchRow } from "./types.js" */

import { stat } from "node:fs/promises";
import { join } from "node:path";

export const CURATED_FILES = ["MEMORY.md", "USER.md"];

const MAX_ENTRIES = 512;
const DEFAULT_LIMITS = { triggers: MAX_ENTRIES, projects: 48 };
const MAX_PROJECTS = 64;
const MAX_PROJECT_CHARACTERS = 4096;

/** Notes from these may be put into a prompt without being asked for. */
const TRUSTED = new Set(["owner", "agent"]);

/**
 * Return how many entries OpenClaw asks for.
 * @param {"triggers" | "projects"} kind
 * @param {number | undefined} limit
 */
export function entryLimit(kind, limit) {
  return Math.max(1, Math.min(MAX_ENTRIES, Math.floor(limit ?? DEFAULT_LIMITS[kind])));
}

/**
 * Return the keys of active projects as the daemon takes them.
 * @param {readonly string[] | undefined} keys
 * @returns {{ active_projects?: string[] }}
 */
export function activeProjects(keys) {
  if (keys === undefined) return {};
  const known = keys.map((key) => key.trim()).filter((key) => key !== "" && key.length <= MAX_PROJECT_CHARACTERS);
  return { active_projects: known.slice(0, MAX_PROJECTS) };
}

/**
 * Return the notes whose entries may be put into a prompt.
 * @param {Map<string, MemoryOrigin>} origins
 */
export function trustedPaths(origins) {
  return [...origins].filter(([, origin]) => TRUSTED.has(origin)).map(([path]) => path);
}

/**
 * Return an entry as a row.
 * @param {Record<string, any>} entry
 * @param {Map<string, MemoryOrigin>} origins
 * @returns {SearchRow}
 */
export function entryRow(entry, origins) {
  return {
    path: entry.path,
    startLine: entry.start_line,
    endLine: entry.end_line,
    score: 0,
    snippet: entry.text,
    source: "memory",
    ...annotationFields(entry),
    provenance: provenance(origins.get(entry.path), entry.mtime_ms),
  };
}

/**
 * Return what comments say, as fields of a row.
 * @param {Record<string, any>} said
 * @returns {{ importance?: number, triggers?: string, projectKey?: string }}
 */
export function annotationFields({ importance, triggers, projects }) {
  return {
    ...(typeof importance === "number" ? { importance } : {}),
    ...(triggers.length > 0 ? { triggers: triggers.join("; ") } : {}),
    ...(projects.length > 0 ? { projectKey: projects.join("; ") } : {}),
  };
}

/**
 * Give rows of annotated hits what their comments say and their provenance: OpenClaw matches triggers in both lists, and
 * a hit without its triggers would replace the entry that has them.
 * @param {SearchRow[]} rows
 * @param {Record<string, any>[]} hits the same hits as the daemon gave them
 * @param {string} workspaceDir
 * @param {(paths: string[]) => Promise<Map<string, MemoryOrigin>>} classify
 * @returns {Promise<SearchRow[]>}
 */
export async function annotatedRows(rows, hits, workspaceDir, classify) {
  const paths = [...new Set(hits.filter((hit) => hit.annotations).map((hit) => hit.path))];
  if (paths.length === 0) return rows;
  const [origins, times] = await Promise.all([classify(paths), modificationTimes(workspaceDir, paths)]);
  return rows.map((row, at) => {
    const said = hits[at]?.annotations;
    if (!said) return row;
    return { ...row, ...annotationFields(said), provenance: provenance(origins.get(row.path), times.get(row.path)) };
  });
}

/**
 * @param {MemoryOrigin | undefined} originClass
 * @param {number | undefined} observedAt
 */
function provenance(originClass, observedAt) {
  return { originClass: originClass ?? "untrusted", sessionKind: /** @type {const} */ ("unknown"), observedAt: observedAt ?? 0 };
}

/**
 * @param {string} folder
 * @param {string[]} paths
 * @returns {Promise<Map<string, number>>}
 */
async function modificationTimes(folder, paths) {
  const times = await Promise.all(
    paths.map((path) => stat(join(folder, path)).then(({ mtimeMs }) => Math.floor(mtimeMs), () => 0)),
  );
  return new Map(paths.map((path, at) => [path, times[at] ?? 0]));
}
