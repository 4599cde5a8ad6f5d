/** The timeline's data: an agent's files page by page, and the first lines of those in sight. */

import { ask, shown } from "./api.js";
import { dayOf } from "./format.js";
import { joinParagraphs } from "./markdown.js";
import { changed, state } from "./state.js";

const PAGE = 200;
/** As many as the daemon lists at once: what is shown already is read again in fewer requests. */
const RELOADED = 1000;
const EXCERPT_LINES = 14;
/** Comments of Markdown are left out of excerpts; the reader shows them. */
const COMMENT = /<!--.*?(-->|$)/g;
/** Excerpts asked for at the same time: the daemon reads three files at once, and searches come between. */
const AT_ONCE = 3;

let turn = 0;
/** @type {Map<string, import("./kinds.js").NoteFile>} */
const wanted = new Map();
/** @type {Set<string>} */
const inSight = new Set();
let asked = 0;

/** Load the shown part of the timeline. */
export async function loadNotes() {
  turn += 1;
  const mine = turn;
  const aim = Math.max(PAGE, state.notes.files.length);
  /** @type {import("./kinds.js").NoteFile[]} */
  let files = [];
  try {
    let reply;
    do {
      const limit = Math.min(RELOADED, aim - files.length);
      reply = await ask("files", { agent: state.agent, sources: ["memory"], offset: files.length, limit });
      if (mine !== turn) return;
      files = [...files, ...reply.files];
    } while (reply.files.length > 0 && files.length < Math.min(aim, reply.total));
    Object.assign(state.notes, { files, skipped: reply.skipped ?? [], total: reply.total, loaded: true, error: null });
    wantThoseInSight();
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(state.notes, { loaded: true, error: shown(error) });
  }
  changed();
}

/** Load the next page too. */
export async function moreNotes() {
  turn += 1;
  const mine = turn;
  const { files } = state.notes;
  try {
    const reply = await ask("files", { agent: state.agent, sources: ["memory"], offset: files.length, limit: PAGE });
    if (mine !== turn) return;
    Object.assign(state.notes, { files: [...files, ...reply.files], total: reply.total });
  } catch (error) {
    if (mine !== turn) return;
    state.notes.error = shown(error);
  }
  changed();
}

/** @typedef {{day: string, files: import("./kinds.js").NoteFile[]}} Day */

/** @type {{of: import("./kinds.js").NoteFile[] | null, days: Day[]}} */
let sorted = { of: null, days: [] };

/**
 * Return the files by day, the newest day first; the same arrays as long as the files are the same.
 * @returns {Day[]}
 */
export function notesByDay() {
  const { files } = state.notes;
  if (sorted.of === files) return sorted.days;
  /** @type {Map<string, import("./kinds.js").NoteFile[]>} */
  const days = new Map();
  for (const file of files) {
    const day = file.date ?? dayOf(file.mtime_ms);
    const known = days.get(day);
    if (known) known.push(file);
    else days.set(day, [file]);
  }
  const newestFirst = [...days].map(([day, found]) => ({ day, files: found.sort((one, other) => other.mtime_ms - one.mtime_ms) }));
  sorted = { of: files, days: newestFirst.sort((one, other) => (one.day < other.day ? 1 : -1)) };
  return sorted.days;
}

/**
 * Want the first lines of a note that came in sight, or is still.
 * @param {string} path
 * @param {boolean} seen whether it is in sight
 */
export function sight(path, seen) {
  if (!seen) {
    inSight.delete(path);
    return;
  }
  inSight.add(path);
  want(path, state.notes.files.find((one) => one.path === path));
}

/** Want the first lines of all that is in sight, as far as they changed. */
function wantThoseInSight() {
  for (const file of state.notes.files) {
    if (inSight.has(file.path)) want(file.path, file);
  }
}

/**
 * @param {string} path
 * @param {import("./kinds.js").NoteFile | undefined} file
 */
function want(path, file) {
  if (!file || wanted.has(path) || state.notes.excerpts.get(path)?.mtime === file.mtime_ms) return;
  wanted.set(path, file);
  void nextExcerpt();
}

async function nextExcerpt() {
  if (asked >= AT_ONCE) return;
  const [entry] = wanted;
  if (!entry) return;
  const [path, file] = entry;
  wanted.delete(path);
  asked += 1;
  const { agent } = state;
  try {
    const reply = await ask("get", { agent, path, from_line: 1, lines: EXCERPT_LINES });
    if (agent === state.agent) keepExcerpt(file, reply);
  } catch {
    // The file went meanwhile, or can't be read: the timeline says so without its lines, and opening it tells why.
  } finally {
    asked -= 1;
    void nextExcerpt();
  }
}

/**
 * @param {import("./kinds.js").NoteFile} file
 * @param {{text: string, total_lines: number}} reply
 */
function keepExcerpt(file, reply) {
  const lines = reply.text.split("\n").map((line) => line.replace(COMMENT, ""));
  const heading = lines.findIndex((line) => line.trim() !== "");
  const body = heading >= 0 && /^#\s/.test(lines[heading]) ? lines.slice(heading + 1) : lines;
  const joined = joinParagraphs(body).map((one) => one.text);
  const said = joined.slice(0, 6);
  const whole = reply.total_lines <= EXCERPT_LINES && joined.length <= 4 && said.every((line) => line.length < 240);
  state.notes.excerpts.set(file.path, { mtime: file.mtime_ms, lines: said, whole });
  changed();
}
