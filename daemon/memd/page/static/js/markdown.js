/**
 * Markdown as blocks and pieces of text, without any markup: what draws them puts every text into a text node.
 *
 * It knows what notes are written with: headings, paragraphs, lists, quotes, code, tables, emphasis, links. HTML is text.
 * The work is linear in the text, whatever it holds.
 */

import { inline, textPart } from "./inline.js";

/** Quotes and lists deeper than this are text. */
const DEEPEST = 6;
/** A longer paragraph is plain text. */
const LONGEST = 20_000;
/** Of a longer line the beginning is shown: laying out a megabyte in one line blocks the browser. */
const LINE_CHARACTERS = 2000;

/** @typedef {{no: number, text: string, left: number}} Line `left` is how many characters are cut off */
/** @typedef {import("./inline.js").Inline} Inline */
/**
 * @typedef {object} Block
 * @property {"heading" | "paragraph" | "code" | "list" | "item" | "quote" | "table" | "rule"} kind
 * @property {number} start first line
 * @property {number} end last line
 * @property {number} level of a heading; of a list that is numbered its first number, else 0
 * @property {Inline[]} parts of a heading and a paragraph
 * @property {Line[]} lines of code
 * @property {Block[]} blocks of a list its items, of an item and a quote what is in them
 * @property {Inline[][][]} rows of a table, the first one its head
 * @property {boolean | null} done of a task
 * @property {number} left characters that are cut off
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const TASK = /^\[([ xX])\][ \t]+/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const INDENTED = /^(?: {4}|\t)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DELIMITERS = /^[ \t|:-]*-[ \t|:-]*$/;
/** Scripts written without spaces between words: their lines join without one. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/u;

/**
 * Cut a line that is too long.
 * @param {string} text
 * @returns {{text: string, left: number}} the beginning, and how many characters it lacks
 */
export function cutLine(text) {
  if (text.length <= LINE_CHARACTERS) return { text, left: 0 };
  const whole = /[\ud800-\udbff]/.test(text[LINE_CHARACTERS - 1]) ? LINE_CHARACTERS - 1 : LINE_CHARACTERS;
  return { text: text.slice(0, whole), left: text.length - whole };
}

/**
 * Return the blocks of a text.
 * @param {string[]} lines
 * @param {number} from the first line's number
 * @returns {Block[]}
 */
export function blocksOf(lines, from) {
  return parse(lines.map((text, place) => ({ no: from + place, ...cutLine(text) })), 0);
}

/**
 * Return lines with those of a hard-wrapped paragraph joined, and without blank ones.
 * @param {string[]} lines
 * @returns {{place: number, text: string}[]} `place` is the start of each
 */
export function joinParagraphs(lines) {
  /** @type {{place: number, lines: string[]}[]} */
  const rows = [];
  let fence = "";
  let isOpen = false;
  for (const [place, text] of lines.entries()) {
    const [, mark] = FENCE.exec(text) ?? [];
    if (fence || mark) {
      fence = fence ? (closes(text, fence) ? "" : fence) : mark;
      rows.push({ place, lines: [text] });
      isOpen = false;
    } else if (isBlank(text)) {
      isOpen = false;
    } else if (isOpen && goesOn(rows[rows.length - 1].lines[0], text)) {
      rows[rows.length - 1].lines.push(text.replace(QUOTE, ""));
    } else {
      rows.push({ place, lines: [text] });
      isOpen = ITEM.test(text) || QUOTE.test(text) || !(startsBlock(text) || INDENTED.test(text));
    }
  }
  return rows.map((row) => ({ place: row.place, text: row.lines.length === 1 ? row.lines[0] : joinLines(row.lines).replaceAll("\n", " ") }));
}

/**
 * Say whether a line goes on with the paragraph above it.
 * @param {string} above the paragraph's first line
 * @param {string} text
 */
function goesOn(above, text) {
  const within = QUOTE.test(above) ? text.replace(QUOTE, "") : text;
  return !isBlank(within) && !startsBlock(within);
}

/** @param {string} text */
function isBlank(text) {
  return text.trim() === "";
}

/** @param {string} text */
function isRule(text) {
  return /^(?:\*{3,}|-{3,}|_{3,})$/.test(text.replace(/[ \t]/g, ""));
}

/**
 * Say whether a line ends the paragraph above it.
 * @param {string} text
 */
function startsBlock(text) {
  return HEADING.test(text) || FENCE.test(text) || QUOTE.test(text) || ITEM.test(text) || isRule(text) || text.startsWith("|");
}

/**
 * Join the lines of a paragraph; a line break that is meant stays as `\n`.
 * @param {string[]} lines
 */
function joinLines(lines) {
  const pieces = [lines[0].trimStart()];
  for (const line of lines.slice(1)) {
    const above = pieces[pieces.length - 1];
    const isBroken = above.endsWith("\\") || above.endsWith("  ");
    const start = above.endsWith("\\") ? above.slice(0, -1) : above.trimEnd();
    const rest = line.trimStart();
    const [last] = /.$/u.exec(start.slice(-2)) ?? [""];
    const [first] = /^./u.exec(rest) ?? [""];
    const glue = isBroken ? "\n" : UNSPACED.test(last) && UNSPACED.test(first) ? "" : " ";
    pieces[pieces.length - 1] = start + glue;
    pieces.push(rest);
  }
  return pieces.join("").trimEnd();
}

/**
 * @param {Line[]} lines
 * @param {number} depth
 */
function parse(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at].text)) {
      at += 1;
      continue;
    }
    const [found, next] = blockAt(lines, at, depth);
    blocks.push(found);
    at = next;
  }
  return blocks;
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {[Block, number]} the block that begins at a line, and the line of the next one
 */
function blockAt(lines, at, depth) {
  const { text } = lines[at];
  const fence = FENCE.exec(text);
  if (fence) return fenced(lines, at, fence[1]);
  const [, hashes] = HEADING.exec(text) ?? [];
  if (hashes) return [block("heading", [lines[at]], { level: hashes.length, parts: inline(headingText(text)) }), at + 1];
  if (isRule(text)) return [block("rule", [lines[at]]), at + 1];
  if (depth < DEEPEST && QUOTE.test(text)) return quoted(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(text)) return list(lines, at, depth);
  if (INDENTED.test(text)) {
    const end = lastOf(lines, at, (line) => INDENTED.test(line));
    const code = lines.slice(at, end).map((line) => ({ ...line, text: line.text.replace(INDENTED, "") }));
    return [block("code", lines.slice(at, end), { lines: code, left: 0 }), end];
  }
  if (text.includes("|") && lines[at + 1]?.text.includes("|") && DELIMITERS.test(lines[at + 1].text)) return table(lines, at);
  return paragraph(lines, at);
}

/**
 * @param {Block["kind"]} kind
 * @param {Line[]} lines
 * @param {Partial<Block>} [more]
 * @returns {Block}
 */
function block(kind, lines, more = {}) {
  const left = lines.reduce((sum, line) => sum + line.left, 0);
  return { kind, start: lines[0].no, end: lines[lines.length - 1].no, level: 0, parts: [], lines: [], blocks: [], rows: [], done: null, left, ...more };
}

/** @param {string} text */
function headingText(text) {
  const title = text.replace(HEADING, "").trim();
  let end = title.length;
  while (title[end - 1] === "#") end -= 1;
  return end === 0 || /[ \t]/.test(title[end - 1]) ? title.slice(0, end).trimEnd() : title;
}

/**
 * Return the end of a run of lines that pass a test; blank lines inside the run belong to it.
 * @param {Line[]} lines
 * @param {number} from
 * @param {(text: string) => boolean} test
 */
function lastOf(lines, from, test) {
  let end = from + 1;
  for (let at = end; at < lines.length; at += 1) {
    if (test(lines[at].text)) end = at + 1;
    else if (!isBlank(lines[at].text)) break;
  }
  return end;
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @param {string} fence
 * @returns {[Block, number]}
 */
function fenced(lines, at, fence) {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end].text, fence)) end += 1;
  const last = Math.min(end, lines.length - 1);
  return [block("code", lines.slice(at, last + 1), { lines: lines.slice(at + 1, end), left: 0 }), last + 1];
}

/**
 * @param {string} text
 * @param {string} fence
 */
function closes(text, fence) {
  const line = text.trim();
  return line.startsWith(fence) && line === fence[0].repeat(line.length);
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {[Block, number]}
 */
function quoted(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end].text) && (QUOTE.test(lines[end].text) || !startsBlock(lines[end].text))) end += 1;
  const within = lines.slice(at, end).map((line) => ({ ...line, text: line.text.replace(QUOTE, "") }));
  return [block("quote", lines.slice(at, end), { blocks: parse(within, depth + 1), left: 0 }), end];
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {[Block, number]}
 */
function list(lines, at, depth) {
  const [, indent, mark] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at].text));
  const isNumbered = /\d/.test(mark);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const [head, space, each] = ITEM.exec(lines[next].text) ?? [];
    if (head === undefined || space.length > indent.length + 1 || /\d/.test(each) !== isNumbered || isRule(lines[next].text)) break;
    const end = endOfItem(lines, next, space.length);
    items.push(item(lines.slice(next, end), head, depth));
    next = end;
    while (next < lines.length && isBlank(lines[next].text)) next += 1;
  }
  if (items.length === 0) return paragraph(lines, at);
  return [block("list", lines.slice(at, next), { level: isNumbered ? Number.parseInt(mark, 10) : 0, blocks: items, left: 0 }), next];
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @param {number} indent of the item's mark
 */
function endOfItem(lines, at, indent) {
  let end = at + 1;
  let isOpen = true;
  for (let next = end; next < lines.length; next += 1) {
    const { text } = lines[next];
    if (isBlank(text)) {
      isOpen = false;
      continue;
    }
    const isInside = text.length - text.trimStart().length > indent + 1;
    if (!isInside && !(isOpen && !startsBlock(text))) break;
    isOpen = true;
    end = next + 1;
  }
  return end;
}

/**
 * @param {Line[]} lines
 * @param {string} head
 * @param {number} depth
 */
function item(lines, head, depth) {
  const within = lines.map((line, place) => ({ ...line, text: place === 0 ? line.text.slice(head.length) : outdented(line.text, head.length) }));
  const [task, mark] = TASK.exec(within[0].text) ?? [];
  if (task) within[0].text = within[0].text.slice(task.length);
  return block("item", lines, { blocks: parse(within, depth + 1), done: task ? mark !== " " : null, left: 0 });
}

/**
 * @param {string} text
 * @param {number} width
 */
function outdented(text, width) {
  return text.slice(Math.min(width, text.length - text.trimStart().length));
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @returns {[Block, number]}
 */
function table(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].text.includes("|")) end += 1;
  const rows = [lines[at], ...lines.slice(at + 2, end)].map((line) => cells(line.text).map((cell) => inline(cell)));
  return [block("table", lines.slice(at, end), { rows }), end];
}

/** @param {string} text */
function cells(text) {
  const row = text.trim().replace(/^\|/, "").replace(/\|$/, "");
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/**
 * @param {Line[]} lines
 * @param {number} at
 * @returns {[Block, number]}
 */
function paragraph(lines, at) {
  let end = at + 1;
  let level = 0;
  while (level === 0 && end < lines.length && !isBlank(lines[end].text)) {
    const [, underline] = UNDERLINE.exec(lines[end].text) ?? [];
    if (underline) level = underline.startsWith("=") ? 1 : 2;
    else if (startsBlock(lines[end].text)) break;
    end += 1;
  }
  const text = joinLines(lines.slice(at, level ? end - 1 : end).map((line) => line.text));
  const parts = text.length > LONGEST ? [textPart(text)] : inline(text);
  return [block(level ? "heading" : "paragraph", lines.slice(at, end), { level, parts }), end];
}
