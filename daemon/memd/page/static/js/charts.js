/** The page's charts: small SVG drawings of our own, with a sentence for those who don't see them. */

import { html, svg } from "../vendor/lit-html/lit-html.js";
import { count } from "./format.js";

/**
 * Draw how much of something is taken.
 * @param {{label: string, value: number, of: number, caption: string, tone?: string}} what `caption` is the value in words
 */
export function gauge({ label, value, of, caption, tone = "" }) {
  const share = of > 0 ? Math.min(1, value / of) : 0;
  const width = share > 0 ? Math.max(0.6, share * 100) : 0;
  return html`<div class="gauge">
    <div class="row"><span>${label}</span><span class="number">${caption}</span></div>
    <svg class="chart" height="8" role="img" aria-label="${label}: ${caption}" preserveAspectRatio="none" viewBox="0 0 100 8">
      <rect class="track" width="100" height="8" rx="1"></rect>
      <rect class="value ${tone}" width=${width} height="8" rx="1"></rect>
    </svg>
  </div>`;
}

/**
 * Draw a score from 0 to 1.
 * @param {number} score
 */
export function meter(score) {
  return html`<svg class="chart" viewBox="0 0 56 6" aria-hidden="true">
    <rect class="track" width="56" height="6" rx="3"></rect>
    <rect class="value" width=${Math.max(2, 56 * Math.min(1, score))} height="6" rx="3"></rect>
  </svg>`;
}

/** Space between a plot's columns and what is written below them. */
const FOOT = 18;
/** At most so many columns have their value written below. */
const LABELS = 5;
/** The steps of an axis, within a power of ten. */
const STEPS = [1, 2, 5, 10];

/**
 * Return round values from 0 up to a first one that is not below the most: four steps or fewer.
 * @param {number} most above 0
 */
export function ticksUpTo(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power * (STEPS.find((each) => each * power * 4 >= most * (1 - 1e-9)) ?? 10);
  const steps = Math.max(1, Math.ceil(most / step - 1e-9));
  return [...Array(steps + 1).keys()].map((each) => Number((each * step).toPrecision(12)));
}

/**
 * Draw columns side by side over a numbered axis.
 * @param {{value: number, name: string, label: string}[]} shown `label` is written below some of them
 * @param {{caption: string, y: string, x: string, height?: number}} words what they show in a sentence, and what the axes count
 */
export function columns(shown, { caption, y, x, height = 64 }) {
  const ticks = ticksUpTo(Math.max(4, ...shown.map((column) => column.value)));
  const top = ticks[ticks.length - 1];
  const at = (/** @type {number} */ value) => 6 + (1 - value / top) * height;
  const step = 100 / Math.max(1, shown.length);
  const every = Math.ceil(shown.length / LABELS);
  const labelled = shown.map((column, place) => ({ ...column, place })).filter(({ place }) => (shown.length - 1 - place) % every === 0);
  return html`<div class="plot" role="img" aria-label=${caption}>
    <p class="axis-name">${y}</p>
    <svg class="chart axis" height=${height + 6 + FOOT}>${ticks.map((tick) => svg`<text x="100%" y=${at(tick) + 4} text-anchor="end">${count(tick)}</text>`)}</svg>
    <svg class="chart" height=${height + 6 + FOOT}>
      ${ticks.map((tick) => svg`<line class="grid-line" x1="0" x2="100%" y1=${at(tick)} y2=${at(tick)}></line>`)}
      ${shown.map(({ value, name }, place) => svg`<rect class="value" x="${place * step + step * 0.12}%" y=${at(value)} width="${step * 0.76}%"
        height=${at(0) - at(value)}><title>${name}</title></rect>`)}
      ${labelled.map(({ label, place }) => svg`<text x="${(place + 0.5) * step}%" y=${height + 4 + FOOT} text-anchor="middle">${label}</text>`)}
    </svg>
    <p class="axis-name below">${x}</p>
  </div>`;
}

/**
 * Draw rows of named values one below the other over a numbered axis.
 * @param {{name: string, value: number, caption: string}[]} rows
 * @param {number} most the largest value there can be, above 0
 * @param {(value: number, isLast: boolean) => string} shown how the axis writes a value
 */
export function bars(rows, most, shown) {
  const ticks = ticksUpTo(most);
  const top = ticks[ticks.length - 1];
  return html`<div class="rows bars">${rows.map((row) => gauge({ label: row.name, value: row.value, of: top, caption: row.caption }))}
    <svg class="chart" height="18" aria-hidden="true">${ticks.map((tick, place) => svg`
      <line class="grid-line" x1="${(100 * tick) / top}%" x2="${(100 * tick) / top}%" y1="0" y2="4"></line>
      <text x="${(100 * tick) / top}%" y="16" text-anchor=${place === 0 ? "start" : tick === top ? "end" : "middle"}>${shown(tick, tick === top)}</text>`)}</svg>
  </div>`;
}
