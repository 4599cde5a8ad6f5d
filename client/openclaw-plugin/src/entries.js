/**
 * Entries of `MEMORY.md` and `USER.md` that have triggers or projects, read from the workspace itself: a prompt has them whether
 * or not the daemon answers. OpenClaw's own functions split the notes, so the entries are those of its own memory.
 */

/** @import { Annotated, EntryReader, Logger } from "./types.js" */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";

const MAX_BYTES = 2 * 1024 * 1024; // OpenClaw reads no larger note into a prompt
const CHUNKS = { tokens: 400, overlap: 80, perEntry: true };
const INVALID_PROJECT = "!invalid-project-annotation";

/** Return OpenClaw's functions that split a note, and that read the comments of its entries. */
export const loadMarkdown = () => import("openclaw/plugin-sdk/memory-core-host-engine-indexing");

/**
 * Return a reader of entries. If OpenClaw doesn't offer its functions, there are none, and the log says so.
 * @param {Logger} logger
 * @param {typeof loadMarkdown} [load]
 * @returns {EntryReader}
 */
export function entryReader(logger, load = loadMarkdown) {
  let warned = false;
  return async (workspaceDir, paths, { kind, limit, activeProjects }) => {
    const markdown = await load().catch(() => undefined);
    if (typeof markdown?.chunkMarkdown !== "function") {
      if (!warned) logger.warn(NO_MARKDOWN);
      warned = true;
      return [];
    }
    const notes = await Promise.all(paths.map((path) => readNote(workspaceDir, path)));
    const active = activeProjects === undefined ? undefined : new Set(activeProjects);
    const entries = notes.flatMap((note) => (note === undefined ? [] : split(note, markdown)));
    return entries
      .filter((entry) => isWanted(entry, kind, active))
      .sort((one, other) => (other.importance ?? 0) - (one.importance ?? 0) || (one.path < other.path ? -1 : Number(one.path > other.path))
        || one.start_line - other.start_line)
      .slice(0, limit);
  };
}

const NO_MARKDOWN =
  "memd: prompts have no entries of projects and triggers: this OpenClaw doesn't offer plugins `chunkMarkdown` of " +
  "openclaw/plugin-sdk/memory-core-host-engine-indexing. Update memd's plugin to one made for this OpenClaw";

/**
 * Return a note of the workspace; undefined if it is missing, too large, or no plain file (OpenClaw follows no links here either).
 * @param {string} workspaceDir
 * @param {string} path
 */
async function readNote(workspaceDir, path) {
  const file = await open(join(workspaceDir, path), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  try {
    const facts = await file?.stat();
    if (!file || !facts?.isFile() || facts.nlink > 1 || facts.size > MAX_BYTES) return undefined;
    return { path, text: await file.readFile("utf8"), mtime_ms: Math.floor(facts.mtimeMs) };
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/**
 * Return the entries of a note, long ones in parts.
 * @param {{ path: string, text: string, mtime_ms: number }} note
 * @param {Awaited<ReturnType<typeof loadMarkdown>>} markdown
 * @returns {Annotated[]}
 */
function split({ path, text, mtime_ms }, { chunkMarkdown, stripMemoryAnnotationCarriers, extractCuratedEntryRecallMetadata }) {
  const lines = text.replace(/\r\n/gu, "\n").split("\n");
  return chunkMarkdown(stripMemoryAnnotationCarriers(text), CHUNKS)
    .filter((chunk) => chunk.text.trim() !== "")
    .map((chunk) => {
      const [first, last] = [chunk.entryStartLine ?? chunk.startLine, chunk.entryEndLine ?? chunk.endLine];
      const said = extractCuratedEntryRecallMetadata({
        curatedRoot: true,
        projectScopeEligible: path !== "USER.md",
        sourceLines: lines.slice(first - 1, last),
      });
      return {
        path,
        start_line: chunk.startLine,
        end_line: chunk.endLine,
        text: chunk.text,
        importance: said.importance,
        triggers: parts(said.triggers),
        projects: parts(said.projectKey),
        mtime_ms,
      };
    });
}

/** @param {string | null} joined */
function parts(joined) {
  return joined === null ? [] : joined.split(";").map((part) => part.trim());
}

/**
 * @param {Annotated} entry
 * @param {"triggers" | "projects"} kind
 * @param {Set<string> | undefined} active projects; undefined: any
 */
function isWanted({ triggers, projects }, kind, active) {
  if (projects.includes(INVALID_PROJECT)) return false;
  if (kind === "projects") return projects.length > 0 && projects.every((key) => active?.has(key));
  return triggers.length > 0 && (active === undefined || projects.every((key) => active.has(key)));
}
