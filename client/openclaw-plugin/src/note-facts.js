/**
 * Facts about notes that decide which session may see their text, and how far a model may trust it: whose conversation a note
 * keeps, and on whose behalf it was written. Read from the workspace when they are needed, since notes change there.
 */

/** @import { DescribeNotes, NoteFacts, NoteSessions, ProvenanceReader } from "./types.js" */

import { constants, open, stat } from "node:fs/promises";
import path from "node:path";

import { classifyWorkspaceMemoryPaths } from "./workspace-memory.js";

const FOLDER = "memory/";
const PRIVATE_FOLDER = "memory/sessions/"; // the folder of the notes that the daemon labels
const MAX_HEAD_BYTES = 16_384;

/** The daemon's label, at the start of a note or below the frontmatter that a user put above it. */
const LABEL = /^\uFEFF?(?:---[ \t]*\r?\n(?:[^]*?\n)?---[ \t]*\r?\n)?\s*<!--\s*memd:session=(\S+?)\s*-->/u;

/** The session of a note whose label can't be read: no session may see it. */
const NOBODY = "";

/**
 * Return a function that describes notes of a workspace, by their paths in the daemon's replies.
 * @param {ProvenanceReader} readProvenance
 * @returns {DescribeNotes}
 */
export function noteDescriber(readProvenance) {
  return async (workspaceDir, paths) => {
    const unique = [...new Set(paths)];
    const facts = await Promise.all(unique.map((relative) => factsOf(workspaceDir, relative, readProvenance)));
    return new Map(unique.map((relative, at) => [relative, /** @type {NoteFacts} */ (facts[at])]));
  };
}

/**
 * Return the sessions of notes by their paths.
 * @param {string} workspaceDir
 * @param {string[]} paths
 * @returns {Promise<NoteSessions>}
 */
export async function readSessions(workspaceDir, paths) {
  return new Map(await Promise.all(paths.map(async (each) => /** @type {const} */ ([each, await sessionOf(workspaceDir, each)]))));
}

/**
 * Return the sessions of described notes, for a decision on who may see them.
 * @param {Map<string, NoteFacts>} notes
 * @returns {NoteSessions}
 */
export function sessionsOf(notes) {
  return new Map([...notes].map(([notePath, { session }]) => [notePath, session]));
}

/**
 * Return the paths of the rows that are of notes.
 * @param {{ path: string, source?: string }[]} rows
 */
export function pathsOfNotes(rows) {
  return rows.filter(({ source }) => source === "memory").map((row) => row.path);
}

/**
 * Return the key of the session whose conversation a note keeps; undefined if a note is for every session.
 * @param {string} workspaceDir
 * @param {string} notePath
 * @returns {Promise<string | undefined>}
 */
export async function sessionOf(workspaceDir, notePath) {
  const file = path.resolve(workspaceDir, notePath);
  const relative = path.relative(workspaceDir, file).replaceAll(path.sep, "/");
  if (!relative.startsWith(FOLDER)) return undefined;
  const head = await headOf(file);
  if (head === undefined) return relative.startsWith(PRIVATE_FOLDER) ? NOBODY : undefined;
  const label = LABEL.exec(head)?.[1];
  return label === undefined ? undefined : decoded(label);
}

/**
 * @param {string} workspaceDir
 * @param {string} relativePath
 * @param {ProvenanceReader} readProvenance
 * @returns {Promise<NoteFacts>}
 */
async function factsOf(workspaceDir, relativePath, readProvenance) {
  const request = { workspaceDir, relativePaths: [relativePath] };
  const [session, rows, observedAt] = await Promise.all([
    sessionOf(workspaceDir, relativePath),
    classifyWorkspaceMemoryPaths(request, readProvenance).catch(() => []),
    stat(path.resolve(workspaceDir, relativePath)).then(({ mtimeMs }) => Math.max(0, Math.floor(mtimeMs)), () => 0),
  ]);
  const originClass = rows[0]?.originClass ?? "untrusted";
  return { session, provenance: { originClass, sessionKind: "unknown", observedAt } };
}

/** @param {string} file */
async function headOf(file) {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/** @param {string} label */
function decoded(label) {
  try {
    return decodeURIComponent(label);
  } catch {
    return NOBODY;
  }
}
