/** Which rows of a hit are shown: those with evidence, and at most three others, the nearest to them. Pure. */

const MOST = 3;

/**
 * Return the places of the rows that are shown, in order.
 * @param {boolean[]} hasEvidence for each row
 * @returns {number[]}
 */
export function shownRows(hasEvidence) {
  const places = [...hasEvidence.keys()];
  const evident = places.filter((place) => hasEvidence[place]);
  const distance = (/** @type {number} */ place) => (evident.length === 0 ? place : Math.min(...evident.map((other) => Math.abs(other - place))));
  const others = places.filter((place) => !hasEvidence[place]).sort((one, other) => distance(one) - distance(other) || one - other);
  return [...evident, ...others.slice(0, MOST)].sort((one, other) => one - other);
}

/**
 * Return the lines to point out: those with evidence, or all if none has any.
 * @param {{number: number, text: string}[]} lines within what was found
 * @param {((text: string) => [number, number][]) | null} evidence
 * @returns {Set<number>}
 */
export function linesToMark(lines, evidence) {
  const evident = evidence ? lines.filter(({ text }) => evidence(text).length > 0) : [];
  return new Set((evident.length > 0 ? evident : lines).map(({ number }) => number));
}
