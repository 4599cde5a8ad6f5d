/** Usage: what agents recalled, what they never did, and what they asked and did not find. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { columns } from "../charts.js";
import { ago, count, counted, shortDay, size } from "../format.js";
import { openPlace } from "../reader.js";
import { state } from "../state.js";
import { plain, seen } from "../text.js";
import { DAYS } from "../usage.js";
import { empty, failure, isolated, notice, pathOf } from "./shared.js";

const WAYS = { search: "searches", tool: "tool calls", mcp: "tool calls over MCP", prompt: "at prompts", start: "at the start of sessions", action: "at commands and edits" };

const OFF = {
  title: "Recalls are not logged", text: "The setting recall_log is false.", hint: "Set recall_log = true in memd.toml to see what agents recall.", bad: false,
};

export function usageView() {
  const { report, error } = state.usage;
  return html`<div class="column wide health usage">
    <div class="head"><h1>Usage</h1>${report?.recalls ? html`<span class="quiet">${counted(report.recalls, "recall")} in ${DAYS} days</span>` : ""}</div>
    ${error ? failure(error) : ""}
    ${report ? body(report) : error ? "" : html`<p class="quiet">Reading…</p>`}
  </div>`;
}

/** @param {import("../kinds.js").UsageReport} report */
function body(report) {
  if (report.recalls === 0) {
    return html`${report.is_on ? "" : notice(OFF)}${report.is_on ? empty("Nothing recalled yet", "Searches, calls of memory tools, and texts that hooks add to prompts appear here.") : ""}`;
  }
  return html`${report.is_on ? "" : notice(OFF)}
    <figure class="weeks">${days(report.days)}</figure>
    <div class="grid">${programs(report.days)} ${unanswered(report)} ${often(report)} ${never(report)}</div>`;
}

/** @param {import("../kinds.js").RecallDay[]} rows */
function days(rows) {
  const shown = [...Array(DAYS).keys()].map((place) => {
    const day = new Date(Date.now() - (DAYS - 1 - place) * 86_400_000).toISOString().slice(0, 10);
    const value = rows.filter((row) => row.day === day).reduce((all, row) => all + row.recalls, 0);
    return { value, name: `${day}: ${counted(value, "recall")}`, label: shortDay(day) };
  });
  const sum = shown.reduce((all, one) => all + one.value, 0);
  return columns(shown, { caption: `Recalls by day: ${sum} in the last ${DAYS} days`, y: "recalls", x: "day (UTC)" });
}

/** @param {import("../kinds.js").RecallDay[]} rows */
function programs(rows) {
  /** @type {Map<string, {program: string, way: string, recalls: number, strong: number, judged: number, likely_used: number}>} */
  const sums = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.program, row.way]);
    const sum = sums.get(key) ?? { program: row.program, way: row.way, recalls: 0, strong: 0, judged: 0, likely_used: 0 };
    for (const name of /** @type {const} */ (["recalls", "strong", "judged", "likely_used"])) sum[name] += row[name];
    sums.set(key, sum);
  }
  const listed = [...sums.values()].sort((one, other) => other.recalls - one.recalls);
  return list("Programs", listed.map((row) => html`<b>${plain(row.program || "unnamed")}</b> <span class="quiet small">
    ${WAYS[/** @type {keyof typeof WAYS} */ (row.way)] ?? row.way}: ${count(row.recalls)}, ${count(row.strong)} with a strong hit${row.judged ? `, ${count(row.likely_used)} of ${count(row.judged)} likely used` : ""}</span>`));
}

/** @param {import("../kinds.js").UsageReport} report */
function unanswered({ unanswered: rows }) {
  return list("Asked and not found", rows.map((row) => html`${isolated(row.query)} <span class="quiet small">
    ${row.count > 1 ? `${count(row.count)} times, ` : ""}${seen(row.programs.join(", "))}, ${ago(row.last_ms)}</span>`), "Every query had a strong hit.");
}

/** @param {import("../kinds.js").UsageReport} report */
function often({ often: rows }) {
  return list("Recalled often", rows.map((row) => html`${opened(row.path, row.agent, "often")} <span class="quiet small">
    ${counted(row.recalls, "recall")}${row.likely_used ? `, likely used ${counted(row.likely_used, "time")}` : ""}, ${ago(row.last_ms)}</span>`), "No recall has shown a file.");
}

/** @param {import("../kinds.js").UsageReport} report */
function never({ never: rows, never_total: total }) {
  const more = total > rows.length ? html`<p class="quiet small">The largest of ${counted(total, "file")}; <code>memctl usage --limit 100</code> lists more.</p>` : "";
  return list("Never recalled", rows.map(({ agent, file }) => html`${opened(file.path, agent, "never")} <span class="quiet small">${size(file.size_bytes)}</span>`), "Every file was recalled.", more);
}

/**
 * @param {string} title
 * @param {unknown[]} rows
 * @param {string} [none] what is shown without rows
 * @param {unknown} [more]
 */
function list(title, rows, none = "", more = "") {
  return html`<section class="card"><h2>${title}</h2>${rows.length > 0 ? html`<ul class="rows">${rows.map((row) => html`<li>${row}</li>`)}</ul>` : html`<p class="quiet">${none}</p>`}${more}</section>`;
}

/**
 * Draw a path that opens its file.
 * @param {string} path
 * @param {string} agent
 * @param {string} name of the list
 */
function opened(path, agent, name) {
  const item = `${name}:${path}`;
  const place = { agent, path, start_line: 1, end_line: 1, source: "memory" };
  return html`<button class="button plain" data-item=${item} @click=${() => openPlace(place, null, item)}>${pathOf(path)}</button>`;
}
