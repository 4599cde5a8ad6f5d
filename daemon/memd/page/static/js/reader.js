/** The reader: a file, or the part of it around a hit, line by line. */

import { pushAddress } from "./address.js";
import { ask, shown } from "./api.js";
import { changed, focusDrawn, state } from "./state.js";

/** Lines shown around a hit, and how many more a step brings. */
const AROUND = 12;
const STEP = 200;

let turn = 0;

/**
 * Open a note from its beginning.
 * @param {import("./kinds.js").NoteFile} file
 * @param {string} opener
 */
export function openNote(file, opener) {
  const { agent } = state;
  return open({ agent, path: file.path, title: file.title, source: file.source, found: null, evidence: null, opener }, 1, STEP);
}

/**
 * Open the file that an address names, unless it is open.
 * @param {import("./address.js").Place} place
 */
export function openAddressed({ path, agent, found }) {
  const { reader } = state;
  const isOpen = reader && reader.path === path && reader.agent === agent && reader.found?.start === found?.start && reader.found?.end === found?.end;
  if (isOpen) return;
  const title = agent === state.agent ? (state.notes.files.find((file) => file.path === path)?.title ?? "") : "";
  const what = { agent, path, title, source: "memory", found, evidence: null, opener: "" };
  void (found ? openAround(what, found) : open(what, 1, STEP));
}

/**
 * Open a file around what was found in it.
 * @param {{agent?: string | null, path: string, start_line: number, end_line: number, source: string, snippet?: string}} place
 * @param {((text: string) => [number, number][]) | null} evidence
 * @param {string} opener
 */
export function openPlace(place, evidence, opener) {
  const found = { start: place.start_line, end: place.end_line };
  const what = { agent: place.agent ?? state.agent, path: place.path, title: "", source: place.source, found, evidence, opener };
  if (place.source === "sessions") return openTalk(what, place.snippet ?? "");
  return openAround(what, found);
}

/**
 * @param {any} what
 * @param {{start: number, end: number}} found
 */
function openAround(what, found) {
  const start = Math.max(1, found.start - AROUND);
  return open(what, start, found.end + AROUND - start + 1);
}

/**
 * Show what was found in a transcript: the daemon gives out no more of one.
 * @param {any} what
 * @param {string} snippet
 */
function openTalk(what, snippet) {
  turn += 1;
  const from = what.found.start;
  state.reader = { ...what, from, lines: snippet.split("\n"), wanted: { from, lines: 0 }, total: 0, truncated: false, error: null, loading: false };
  pushAddress();
  changed();
}

/**
 * @param {any} what
 * @param {number} from
 * @param {number} lines
 */
async function open(what, from, lines) {
  state.reader = { ...what, from, lines: [], wanted: { from, lines }, total: 0, truncated: false, error: null, loading: true };
  pushAddress();
  changed();
  await load(from, lines);
}

/**
 * @param {number} from
 * @param {number} lines
 */
async function load(from, lines) {
  turn += 1;
  const mine = turn;
  const reader = state.reader;
  if (!reader) return;
  reader.wanted = { from, lines };
  try {
    const reply = await ask("get", { agent: reader.agent, path: reader.path, from_line: from, lines });
    if (mine !== turn) return;
    const text = reply.lines === 0 ? [] : reply.text.split("\n");
    if (text.length > reply.lines) text.pop();
    Object.assign(reader, { from, lines: text, total: reply.total_lines, truncated: reply.truncated, error: null, loading: false });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(reader, { error: shown(error), loading: false });
  }
  changed();
}

/** Show the lines above too. */
export function earlier() {
  const { reader } = state;
  if (!reader) return;
  const from = Math.max(1, reader.from - STEP);
  void load(from, reader.from + reader.lines.length - from);
}

/** Show the lines below too. */
export function later() {
  const { reader } = state;
  if (reader) void load(reader.from, reader.lines.length + STEP);
}

/** Read again what is shown, or was asked for just now, after the file may have changed. */
export function refreshReader() {
  const { reader } = state;
  if (reader && reader.source !== "sessions") void load(reader.wanted.from, Math.max(reader.wanted.lines, STEP));
}

/** Close the reader. */
export function hideReader() {
  state.reader = null;
  turn += 1;
  changed();
}

/** Close the reader and return to the place it was opened from. */
export function closeReader() {
  const opener = state.reader?.opener ?? "";
  hideReader();
  pushAddress();
  focusDrawn(`[data-item="${CSS.escape(opener)}"]`);
}

/**
 * Return whether the open file is rendered as Markdown: by default an opened note is, and a hit is not.
 * @param {import("./kinds.js").Reader} reader
 */
export function isRendered(reader) {
  if (reader.source === "sessions") return false;
  return state.reading === "" ? reader.found === null : state.reading === "rendered";
}

/**
 * Draw files as Markdown, or line by line.
 * @param {"rendered" | "source"} reading
 */
export function chooseReading(reading) {
  state.reading = reading;
  changed();
}
