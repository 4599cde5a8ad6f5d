/** The ranges of a text to highlight: the matched terms of a hit. */

/** Scripts written without spaces, or with endings at the word: there a term is found anywhere. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** @param {string} term */
function patternOf(term) {
  const escaped = term.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return UNSPACED.test(term) ? escaped : `(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`;
}

/**
 * Return a finder of a hit's matched terms, or null for a hit without any.
 *
 * A hit is drawn in pieces, and the reader shows more of the file, so terms are found by their text, not their place.
 * @param {Pick<import("./kinds.js").Hit, "snippet" | "spans">} hit
 * @returns {((text: string) => [number, number][]) | null}
 */
export function evidenceOf({ snippet, spans }) {
  const characters = [...snippet]; // spans count characters, not UTF-16 units
  const terms = new Set(spans.map(([start, end]) => characters.slice(start, end).join("")));
  if (terms.size === 0) return null;
  const longestFirst = [...terms].sort((one, other) => other.length - one.length);
  const any = new RegExp(longestFirst.map(patternOf).join("|"), "giu");
  return (text) => [...text.matchAll(any)].map((match) => [match.index, match.index + match[0].length]);
}
