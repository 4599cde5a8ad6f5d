/** The page's charts: small SVG drawings of our own, with a sentence for those who don't see them. */

import { html, svg } from "../vendor/lit-html/lit-html.js";

/**
 * Draw how much of something is taken.
 * @param {{label: string, value: number, of: number, told: string, tone?: string}} what `told` is the value in words
 */
export function gauge({ label, value, of, told, tone = "" }) {
  const share = of > 0 ? Math.min(1, value / of) : 0;
  const width = share > 0 ? Math.max(0.6, share * 100) : 0;
  return html`<div class="gauge">
    <div class="row"><span>${label}</span><span class="number">${told}</span></div>
    <svg class="chart" height="8" role="img" aria-label="${label}: ${told}" preserveAspectRatio="none" viewBox="0 0 100 8">
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

/**
 * Draw columns beside each other.
 * @param {{value: number, name: string}[]} columns
 * @param {string} told what they show, in a sentence
 * @param {number} [height]
 */
export function columns(columns, told, height = 56) {
  const most = Math.max(1, ...columns.map((column) => column.value));
  const step = 100 / Math.max(1, columns.length);
  return html`<svg class="chart" role="img" aria-label=${told} viewBox="0 0 100 ${height}" height=${height} preserveAspectRatio="none">
    ${columns.map((column, place) => {
      const tall = column.value > 0 ? Math.max(2, (column.value / most) * height) : 1;
      return svg`<rect class=${column.value > 0 ? "value" : "track"} x=${place * step + step * 0.12} y=${height - tall}
        width=${step * 0.76} height=${tall}><title>${column.name}</title></rect>`;
    })}
  </svg>`;
}

/**
 * Draw rows of named values one below the other.
 * @param {{name: string, value: number, told: string}[]} rows
 * @param {number} most what a full row stands for
 */
export function bars(rows, most) {
  return html`<div class="rows">${rows.map((row) => gauge({ label: row.name, value: row.value, of: most, told: row.told }))}</div>`;
}
