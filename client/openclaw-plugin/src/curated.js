/**
 * Entries of curated notes in OpenClaw's shape, with their annotations and the origin of their note.
 */

/** @import { MemoryOrigin, NoteFacts, Provenance, SearchRow } from "./types.js" */

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
 * Return hits as rows with what their comments say and the provenance of their notes: OpenClaw matches triggers in both lists,
 * and a hit without its triggers would replace the entry that has them. A row of a note that keeps a conversation counts as one
 * of a conversation, so that other plugins don't show it to every session either.
 * @param {SearchRow[]} rows
 * @param {Record<string, any>[]} hits the same hits as the daemon gave them
 * @param {Map<string, NoteFacts>} notes
 * @returns {SearchRow[]}
 */
export function describedRows(rows, hits, notes) {
  return rows.map((row, at) => {
    const facts = notes.get(row.path);
    const said = hits[at]?.annotations;
    return {
      ...row,
      ...(facts?.session === undefined ? {} : { source: "sessions" }),
      ...(said ? annotationFields(said) : {}),
      provenance: lowered(facts?.provenance ?? provenance(undefined, undefined), hits[at]?.["origin"]),
    };
  });
}

/**
 * Return a provenance that is no higher than the origin that memd knows of the lines.
 * @template {Provenance | undefined} P
 * @param {P} given OpenClaw's, of the whole note
 * @param {string | undefined} origin
 * @returns {P}
 */
export function lowered(given, origin) {
  if (given === undefined || given.originClass === "untrusted") return given;
  if (origin === "outside") return { ...given, originClass: "untrusted" };
  return origin === "program" ? { ...given, originClass: "system" } : given;
}

/**
 * @param {MemoryOrigin | undefined} originClass
 * @param {number | undefined} observedAt
 * @returns {Provenance}
 */
export function provenance(originClass, observedAt) {
  return { originClass: originClass ?? "untrusted", sessionKind: "unknown", observedAt: observedAt ?? 0 };
}
