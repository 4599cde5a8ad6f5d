/**
 * Text of notes as it may be shown: characters that show nothing or turn what is shown around become visible.
 *
 * Everything goes into text nodes, so markup is inert. What is left is what plain text can do: write backwards, hide
 * words in characters without width, look empty. Each such character is shown by its number instead.
 */

import { html } from "../vendor/lit-html/lit-html.js";
import { cutLine } from "./markdown.js";

const NAMES = new Map([
  [0x1b, "ESC"], [0x00, "NUL"], [0x07, "BEL"], [0x08, "BS"], [0x0d, "CR"], [0x7f, "DEL"],
  [0xad, "SHY"], [0x200b, "ZWSP"], [0x200c, "ZWNJ"], [0x200d, "ZWJ"], [0x200e, "LRM"], [0x200f, "RLM"], [0x061c, "ALM"],
  [0x202a, "LRE"], [0x202b, "RLE"], [0x202c, "PDF"], [0x202d, "LRO"], [0x202e, "RLO"],
  [0x2066, "LRI"], [0x2067, "RLI"], [0x2068, "FSI"], [0x2069, "PDI"], [0x2060, "WJ"], [0xfeff, "BOM"],
]);

/** Format and control characters, lone surrogates, fillers, variation selectors: all that shows nothing of its own. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/gu;

/** Joiners are how these scripts are written. */
const JOINED = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Oriya}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Mongolian}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;

/**
 * Say whether an unseen character is part of how a word or a picture is written.
 * @param {string} text
 * @param {number} at index of the character
 * @param {string} character
 */
function belongs(text, at, character) {
  if (character === "\t") return true;
  const code = character.codePointAt(0) ?? 0;
  const before = [...text.slice(Math.max(0, at - 2), at)].pop() ?? "";
  if (code === 0xfe0e || code === 0xfe0f) return /[\p{Extended_Pictographic}0-9#*]/u.test(before);
  if (code >= 0xe0100 && code <= 0xe01ef) return /\p{Script=Han}/u.test(before);
  if (code !== 0x200c && code !== 0x200d) return false;
  const after = String.fromCodePoint(text.codePointAt(at + 1) ?? 0x20);
  return (JOINED.test(before) && JOINED.test(after)) || (PICTURE.test(before) && /\p{Extended_Pictographic}/u.test(after));
}

/**
 * Return the name an unseen character is shown by.
 * @param {string} character
 */
function nameOf(character) {
  const code = character.codePointAt(0) ?? 0;
  return NAMES.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * Split a text at its unseen characters.
 * @param {string} text
 * @returns {{text: string, control: boolean}[]}
 */
export function parts(text) {
  const found = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    if (belongs(text, match.index, match[0])) continue;
    if (match.index > from) found.push({ text: text.slice(from, match.index), control: false });
    found.push({ text: nameOf(match[0]), control: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), control: false });
  return found;
}

/**
 * Return a text for places that hold nothing but text, as an attribute: unseen characters by name, in brackets.
 * @param {string} text
 */
export function plain(text) {
  return parts(text).map((part) => (part.control ? `[${part.text}]` : part.text)).join("");
}

/**
 * Draw a text, with evidence marked if an `evidence` finder is given.
 * @param {string} text
 * @param {((text: string) => [number, number][]) | null} [evidence] returns the ranges to mark, ascending
 */
export function seen(text, evidence = null) {
  const ranges = evidence ? evidence(text) : [];
  const drawn = [];
  let from = 0;
  for (const [start, end] of ranges) {
    if (start > from) drawn.push(drawParts(text.slice(from, start)));
    drawn.push(html`<mark>${drawParts(text.slice(start, end))}</mark>`);
    from = end;
  }
  drawn.push(drawParts(text.slice(from)));
  return drawn;
}

/** @param {string} text */
function drawParts(text) {
  return parts(text).map((part) =>
    part.control ? html`<span class="control" title="a character that shows nothing">${part.text}</span>` : part.text,
  );
}

/** What Markdown doesn't show, as the notes memd leaves at a fact's end. */
const COMMENT = /(<!--.*?-->)/;

/**
 * Draw one line or the beginning of a long one, and how much is left out.
 * @param {string} line
 * @param {((text: string) => [number, number][]) | null} [evidence]
 */
export function seenLine(line, evidence = null) {
  const { text, left } = cutLine(line);
  return [seenWords(text, evidence), seenLeft(left)];
}

/**
 * Say how many characters of a line are left out.
 * @param {number} left
 */
export function seenLeft(left) {
  return left === 0 ? "" : html` <span class="chip">${left.toLocaleString("en")} more characters in this line</span>`;
}

/**
 * Draw text with its comments set back.
 * @param {string} text
 * @param {((text: string) => [number, number][]) | null} evidence
 */
function seenWords(text, evidence) {
  return text.split(COMMENT).map((part) => (COMMENT.test(part) ? html`<span class="comment">${seen(part)}</span>` : seen(part, evidence)));
}
