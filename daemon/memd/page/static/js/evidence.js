/** The ranges of a snippet to highlight, from a hit's explanation. */

/** Scripts written without spaces between words: there a word is found anywhere. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** @param {string} text */
function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/**
 * Return a pattern for a word in any of its usual inflections, or null for none worth marking.
 *
 * The daemon compares stems and doesn't tell them, so endings are guessed: what begins alike and is not much longer.
 * @param {string} word
 */
function patternOf(word) {
  if (!word || word.length > 80) return null;
  if (UNSPACED.test(word)) return escaped(word);
  const letters = /^\p{L}+$/u.test(word);
  if (!letters || word.length < 4) return `(?<![\\p{L}\\p{N}])${escaped(word)}(?![\\p{L}\\p{N}])`;
  if (word.length < 6) return `(?<!\\p{L})${escaped(word.replace(/(?<=.{4})s$/iu, ""))}(?:s|es|e|n|en|ed|er|ing)?(?!\\p{L})`;
  return `(?<!\\p{L})${escaped(word.slice(0, Math.max(4, word.length - 3)))}\\p{L}{0,4}(?!\\p{L})`;
}

/**
 * Return a finder of evidence for a hit.
 * @param {import("./kinds.js").Explain | null} explain
 * @returns {((text: string) => [number, number][]) | null}
 */
export function evidenceOf(explain) {
  if (!explain) return null;
  const held = explain.words.filter((word) => word.matched).flatMap((word) => word.corrections ?? [word.word]);
  const patterns = [...explain.exact.map(escaped), ...held.map(patternOf)].filter((pattern) => pattern !== null);
  if (patterns.length === 0) return null;
  const any = new RegExp(patterns.join("|"), "giu");
  return (text) => [...text.matchAll(any)].filter((match) => match[0]).map((match) => [match.index, match.index + match[0].length]);
}
