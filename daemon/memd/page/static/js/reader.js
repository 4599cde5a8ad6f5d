/** The reader: a file, or the part of it around a hit, line by line; a conversation message by message. */

import { correctAddress, pushAddress } from "./address.js";
import { ask, shown } from "./api.js";
import { isConversation, readAround, readMessages, sourceOf } from "./conversation.js";
import { chooseMatch, loadMatches } from "./matches.js";
import { changed, focusDrawn, state } from "./state.js";

/** Lines shown around a hit, and how many more a step brings. */
const AROUND = 12;
const STEP = 200;
const STEP_MESSAGES = 60;

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
 * Open a conversation from its beginning.
 * @param {import("./kinds.js").ListedConversation} row
 * @param {string} opener
 */
export function openListed({ path, session }, opener) {
  return openConversation({ agent: state.agent, path, title: session.title, source: session.program, found: null, evidence: null, opener });
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
  const what = { agent, path, title, source: sourceOfPlace(path, "memory"), found, evidence: null, opener: "" };
  void (isConversation(path) ? openConversation(what) : found ? openAround(what, found) : open(what, 1, STEP));
}

/**
 * Open a file around what was found in it.
 * @param {{agent?: string | null, path: string, start_line: number, end_line: number, source: string}} place
 * @param {((text: string) => [number, number][]) | null} evidence
 * @param {string} opener
 */
export function openPlace(place, evidence, opener) {
  const found = { start: place.start_line, end: place.end_line };
  const what = { agent: place.agent ?? state.agent, path: place.path, title: "", source: sourceOfPlace(place.path, place.source), found, evidence, opener };
  void (isConversation(place.path) ? openConversation(what) : openAround(what, found));
  if (state.reader && evidence) void loadMatches(state.reader, state.search.query.trim());
}

/**
 * Show the next or the previous match in the open file.
 * @param {number} by
 */
export async function goToMatch(by) {
  const { reader } = state;
  if (!reader || !chooseMatch(reader, by)) return;
  const { found, talk, from, lines } = reader;
  if (!found) return;
  correctAddress();
  if (isConversation(reader.path)) {
    const isShown = talk?.messages.some((message) => message.line >= found.start && message.line <= found.end);
    if (!isShown) await take((one) => readAround(one));
  } else if (found.start < from || found.end >= from + lines.length) {
    const start = Math.max(1, found.start - AROUND);
    await load(start, found.end + AROUND - start + 1);
  }
  changed();
  showFound();
}

/** Scroll to what was found. */
function showFound() {
  requestAnimationFrame(() => (document.querySelector("#reader .found mark") ?? document.querySelector("#reader .found"))?.scrollIntoView({ block: "center" }));
}

/**
 * Show a long message as a whole.
 * @param {number} number
 */
export function showWhole(number) {
  state.reader?.whole.add(number);
  changed();
}

/**
 * @param {string} path
 * @param {string} source of a file
 */
function sourceOfPlace(path, source) {
  return isConversation(path) ? sourceOf(path) : source;
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
 * Open a conversation around what was found in it, or from its beginning.
 * @param {any} what
 */
async function openConversation(what) {
  begin(what, 1, 0);
  await take((reader) => readAround(reader));
  showFound();
}

/**
 * Show what a request for messages returns.
 * @param {(reader: import("./kinds.js").Reader) => Promise<import("./kinds.js").ConversationReply>} read
 */
async function take(read) {
  turn += 1;
  const mine = turn;
  const reader = state.reader;
  if (!reader) return;
  try {
    const { session, messages, total } = await read(reader);
    if (mine !== turn) return;
    Object.assign(reader, { talk: { session, messages }, from: messages[0]?.number ?? 1, total, error: null, loading: false });
  } catch (error) {
    if (mine !== turn) return;
    Object.assign(reader, { error: shown(error), loading: false });
  }
  changed();
}

/**
 * Show the reader before its text has come.
 * @param {any} what
 * @param {number} from
 * @param {number} lines
 */
function begin(what, from, lines) {
  state.reader = { ...what, talk: null, matches: null, whole: new Set(), from, lines: [], wanted: { from, lines }, total: 0, truncated: false, error: null, loading: true };
  pushAddress();
  changed();
}

/**
 * @param {any} what
 * @param {number} from
 * @param {number} lines
 */
async function open(what, from, lines) {
  begin(what, from, lines);
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

/** Return how many lines or messages are shown. @param {import("./kinds.js").Reader} reader */
export function shownCount(reader) {
  return reader.talk ? reader.talk.messages.length : reader.lines.length;
}

/** Show what is above too. */
export function earlier() {
  const { reader } = state;
  if (!reader) return;
  if (reader.talk) {
    void take((one) => readMessages(one, Math.max(1, one.from - STEP_MESSAGES), one.from + shownCount(one) - 1));
    return;
  }
  const from = Math.max(1, reader.from - STEP);
  void load(from, reader.from + reader.lines.length - from);
}

/** Show what is below too. */
export function later() {
  const { reader } = state;
  if (reader?.talk) void take((one) => readMessages(one, one.from, one.from + shownCount(one) - 1 + STEP_MESSAGES));
  else if (reader) void load(reader.from, reader.lines.length + STEP);
}

/** Read again what is shown, or was asked for just now, after the file may have changed. */
export function refreshReader() {
  const { reader } = state;
  if (reader && isConversation(reader.path)) void take((one) => (one.talk ? readMessages(one, one.from, one.from + Math.max(1, shownCount(one)) - 1) : readAround(one)));
  else if (reader) void load(reader.wanted.from, Math.max(reader.wanted.lines, STEP));
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
  if (isConversation(reader.path)) return false;
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
