/** The text of a paragraph as pieces: emphasis, code, links, comments. The work is linear in the text. */

/** Emphasis within emphasis beyond this is text. */
const DEEPEST = 6;

/**
 * @typedef {object} Inline
 * @property {"text" | "code" | "strong" | "emphasis" | "deleted" | "link" | "image" | "comment" | "break"} kind
 * @property {string} text of a text, a code and a comment
 * @property {Inline[]} parts what is emphasised; of a link and an image its label
 * @property {string} address of a link and an image
 */

const SPECIAL = /[\\`*_~[!<\n]/g;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}]/u;
const LINK = /\[([^[\]]*)\]\(((?:[^()\s]|\([^()\s]*\))*)(?:[ \n]+"[^"]*")?\)/y;
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]*)>/y;
/** @type {[string, Inline["kind"]][]} */
const EMPHASIS = [["**", "strong"], ["__", "strong"], ["~~", "deleted"], ["*", "emphasis"], ["_", "emphasis"]];

/** @param {string} text */
export function textPart(text) {
  return part("text", text);
}

/**
 * @param {Inline["kind"]} kind
 * @param {string} text
 * @param {Inline[]} [parts]
 * @param {string} [address]
 * @returns {Inline}
 */
function part(kind, text, parts = [], address = "") {
  return { kind, text, parts, address };
}

/**
 * Return the pieces of a text.
 * @param {string} text
 * @param {number} [depth]
 * @returns {Inline[]}
 */
export function inline(text, depth = 0) {
  /** @type {Inline[]} */
  const parts = [];
  /** Marks without another one further on. @type {Set<string>} */
  const unclosed = new Set();
  let from = 0;
  let at = nextSpecial(text, 0);
  while (at < text.length) {
    const found = partAt(text, at, depth, unclosed);
    if (found) {
      if (at > from) parts.push(textPart(text.slice(from, at)));
      if (found.part) parts.push(found.part);
      from = found.from;
    }
    at = nextSpecial(text, found ? found.next : at + runAt(text, at));
  }
  if (from < text.length) parts.push(textPart(text.slice(from)));
  return parts;
}

/**
 * @param {string} text
 * @param {number} from
 */
function nextSpecial(text, from) {
  SPECIAL.lastIndex = from;
  return SPECIAL.exec(text)?.index ?? text.length;
}

/**
 * Return how often the character at an index repeats; 1 for characters that don't mark emphasis or code.
 * @param {string} text
 * @param {number} at
 */
function runAt(text, at) {
  if (!"*_~`".includes(text[at])) return 1;
  let end = at + 1;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/**
 * Return the inline element at a special character, the start of the text after it, and the index to continue from.
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @param {Set<string>} unclosed
 * @returns {{part: Inline | null, from: number, next: number} | null}
 */
function partAt(text, at, depth, unclosed) {
  const character = text[at];
  const ending = (/** @type {number} */ end, /** @type {Inline} */ one) => ({ part: one, from: end, next: end });
  if (character === "\n") return ending(at + 1, part("break", "\n"));
  if (character === "\\") return PUNCTUATION.test(text[at + 1] ?? "") ? { part: null, from: at + 1, next: at + 2 } : null;
  if (character === "`") {
    const size = runAt(text, at);
    const end = closeOf(text, at + size, "`".repeat(size), unclosed, (close) => text[close - 1] !== "`" && text[close + size] !== "`");
    return end < 0 ? null : ending(end + size, part("code", codeText(text.slice(at + size, end))));
  }
  if (character === "[" || character === "!") return linkAt(text, at, depth);
  if (character === "<") {
    if (text.startsWith("<!--", at)) {
      const end = closeOf(text, at + 4, "-->", unclosed, () => true);
      return end < 0 ? null : ending(end + 3, part("comment", text.slice(at, end + 3)));
    }
    AUTOLINK.lastIndex = at;
    const [whole, address] = AUTOLINK.exec(text) ?? [];
    return whole && address ? ending(at + whole.length, part("link", "", [textPart(address)], address)) : null;
  }
  return emphasisAt(text, at, depth, unclosed);
}

/** @param {string} text */
function codeText(text) {
  const line = text.replaceAll("\n", " ");
  return line.length > 2 && line.startsWith(" ") && line.endsWith(" ") ? line.slice(1, -1) : line;
}

/**
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 */
function linkAt(text, at, depth) {
  const start = text[at] === "!" ? at + 1 : at;
  LINK.lastIndex = start;
  const [whole, label, address] = LINK.exec(text) ?? [];
  if (whole === undefined) return null;
  const end = start + whole.length;
  const parts = depth < DEEPEST ? inline(label, depth + 1) : [textPart(label)];
  return { part: part(start > at ? "image" : "link", "", parts, address), from: end, next: end };
}

/**
 * @param {string} text
 * @param {number} at
 * @param {number} depth
 * @param {Set<string>} unclosed
 */
function emphasisAt(text, at, depth, unclosed) {
  const [mark, kind] = EMPHASIS.find(([each]) => text.startsWith(each, at)) ?? ["", "text"];
  const start = at + mark.length;
  if (!mark || /\s|^$/.test(text[start] ?? "") || (mark[0] === "_" && WORD.test(text[at - 1] ?? ""))) return null;
  const end = closeOf(text, start + 1, mark, unclosed, (close) => isClose(text, close, mark));
  if (end < 0) return null;
  const within = text.slice(start, end);
  const parts = depth < DEEPEST ? inline(within, depth + 1) : [textPart(within)];
  return { part: part(kind, "", parts), from: end + mark.length, next: end + mark.length };
}

/**
 * @param {string} text
 * @param {number} at
 * @param {string} mark
 */
function isClose(text, at, mark) {
  const after = text[at + mark.length] ?? "";
  if (/\s/.test(text[at - 1]) || after === mark[0]) return false; // of a longer run its end closes
  if (mark.length === 1 && text[at - 1] === mark && text[at - 2] !== mark) return false; // the end of a double mark
  return mark[0] !== "_" || !WORD.test(after);
}

/**
 * Return the index of a closing mark, -1 if there is none. A failed search is not repeated.
 * @param {string} text
 * @param {number} from
 * @param {string} mark
 * @param {Set<string>} unclosed
 * @param {(at: number) => boolean} isRight
 */
function closeOf(text, from, mark, unclosed, isRight) {
  if (unclosed.has(mark)) return -1;
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (isRight(at)) return at;
  }
  unclosed.add(mark);
  return -1;
}
