/** Health: problems with hints, what programs have and are given, and the numbers behind it. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { bars, columns, gauge } from "../charts.js";
import { about, ago, count, counted, rough, size, span } from "../format.js";
import { agentStatus, checkDeeply, sync } from "../health.js";
import { state } from "../state.js";
import { plain, seen } from "../text.js";
import { troubles, verdictOn } from "../verdict.js";
import { connections, connectionTroubles } from "./connections.js";
import { failure, notice, pathOf, whyLeftOut } from "./shared.js";

/** From this share on a budget is nearly used up. */
const NEARLY = 0.9;
const MOST_ROWS = 50;
const LARGEST = 4;
/** Fewer searches than these make no picture. */
const TELLING = 5;

export function healthView() {
  const agent = agentStatus();
  const verdict = verdictOn(agent, state.statusError);
  const busy = state.deep !== "";
  return html`<div class="column wide health">
    <div class="head"><h1>Health</h1>
      <div class="actions">
        <button class="button" ?disabled=${busy || !agent} @click=${checkDeeply}>${state.deep === "checking" ? "Checking…" : "Check thoroughly"}</button>
        <button class="button" ?disabled=${busy || !agent} @click=${sync}>${state.deep === "syncing" ? "Syncing…" : "Sync now"}</button>
      </div></div>
    <p class="verdict" role="status"><span class="dot ${verdict.tone}"></span><span>${verdict.title}<span class="quiet small"> ${seen(verdict.detail)}</span></span></p>
    ${state.statusError ? failure(state.statusError) : ""}
    ${agent && state.status ? details(agent, state.status) : ""}
  </div>`;
}

/**
 * @param {import("../kinds.js").AgentStatus} agent
 * @param {import("../kinds.js").Status} status
 */
function details(agent, status) {
  return html`${[...troubles(agent, status), ...connectionTroubles(state.sources)].map(notice)}
    <div class="grid">${checks(agent)} ${connections()} ${freshness(agent)} ${machines(agent)} ${vectorSearch(agent)} ${leftOut(agent)}</div>
    <details class="numbers"><summary>Sizes, budgets and search times</summary>
      <div class="grid">${index(agent)} ${budgets(status)} ${speed()} ${compared(status)}</div></details>
    <p class="quiet small number">memd ${status.version} · up for ${span(status.uptime_ms)} · ${size(status.rss_bytes)} without its models</p>`;
}

/**
 * @param {string} title
 * @param {unknown} content
 * @param {string} [kind]
 */
function card(title, content, kind = "") {
  return html`<section class="card ${kind}"><h2>${title}</h2>${content}</section>`;
}

/** @param {[string, unknown][]} rows */
function pairs(rows) {
  return html`<dl class="pairs">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** @param {import("../kinds.js").AgentStatus} agent */
function freshness(agent) {
  const watch = { events: "by file events", polling: "by polling", off: "off; searches check the disk" };
  return card("Freshness", pairs([
    ["Last sync", agent.syncing ? "under way" : ago(agent.last_sync_ms)],
    ["Files to read", agent.files_pending === 0 ? "none" : `${count(agent.files_pending)}, for ${span(agent.oldest_pending_ms)}`],
    ["Changes", watch[/** @type {keyof typeof watch} */ (agent.watch)] ?? agent.watch],
    ["Workspace", pathOf(agent.workspace)],
  ]));
}

/**
 * The machines that have this memory.
 * @param {import("../kinds.js").AgentStatus} agent
 */
function machines({ remote }) {
  if (!remote) return "";
  const states = { ok: "in sync", pending: "changes wait to be sent", held: "files are missing" };
  const last = remote.last_sync_ms === null ? "" : `, last sync ${ago(remote.last_sync_ms)}`;
  const ahead = remote.ahead > 0 ? `${counted(remote.ahead, "commit")} ahead` : "up to date";
  const behind = (/** @type {number} */ commits) => (commits < 0 ? "unknown" : commits > 0 ? `${counted(commits, "commit")} behind` : "up to date");
  return card("Machines", html`
    ${pairs([
      ["Remote", seen(remote.url)], ["State", `${states[/** @type {keyof typeof states} */ (remote.state)] ?? remote.state}${last}`],
      ...remote.machines.map((one) => /** @type {[string, unknown]} */ ([plain(one.name), one.is_local ? `${ahead}, this machine` : behind(one.behind)])),
    ])}
    ${remote.conflicts.map((one) => html`<p class="quiet small">${seen(one.path)}: lines of ${seen(one.machine)} that conflict with ${seen(one.note)}</p>`)}`);
}

/** @param {import("../kinds.js").AgentStatus} agent */
function vectorSearch(agent) {
  if (agent.provider === "none") {
    return card("Vector search", html`<p class="quiet">Off: keyword search only. Set <code>search.provider</code> to turn it on.</p>`);
  }
  const { filling } = agent;
  const covered = agent.chunks - agent.chunks_pending - agent.rejected.length; // equal texts share a vector, so vectors are fewer
  const eta = filling?.eta_s === null || filling?.eta_s === undefined ? "" : `, about ${about(filling.eta_s * 1000)} left`;
  return card("Vector search", html`
    ${gauge({ label: "Chunks with a vector", value: covered, of: agent.chunks, caption: `${count(covered)} of ${count(agent.chunks)}`, tone: covered < agent.chunks ? "warn" : "" })}
    ${filling ? gauge({ label: `Filling ${filling.model}`, value: filling.done, of: filling.total, caption: `${count(filling.done)} of ${count(filling.total)}${eta}` }) : ""}
    ${pairs([
      ["Provider", agent.provider], ["Model", seen(agent.model)], ["Compared by", `${agent.vector_path}${agent.vector_path_reason ? ` (${agent.vector_path_reason})` : ""}`],
      ...(agent.waits_for ? [/** @type {[string, unknown]} */ (["Waits for", agent.waits_for])] : []),
      ...agent.jobs.map((job) => /** @type {[string, unknown]} */ ([`Job ${job.state}`, `${count(job.done)} of ${counted(job.texts, "text")}`])),
    ])}`);
}

/** @param {import("../kinds.js").AgentStatus} agent */
function index(agent) {
  /** @type {[string, unknown][]} */
  const rows = [["On disk", size(agent.index_bytes)], ["Files", count(agent.files)], ["Chunks", count(agent.chunks)]];
  if (agent.sessions) rows.push(["OpenClaw", `${counted(agent.sessions.transcripts, "conversation")}, ${counted(agent.sessions.messages, "message")}, ${counted(agent.sessions.redactions, "secret")} left out`]);
  return card("Index", html`${pairs(rows)}${largest()}`);
}

/** What fills the index: the loaded files with the most chunks. */
function largest() {
  const files = [...state.notes.files].sort((one, other) => other.chunks - one.chunks).slice(0, LARGEST).filter((file) => file.chunks > 1);
  if (files.length < 2) return "";
  const rows = files.map((file) => ({ name: plain(file.path), value: file.chunks, caption: counted(file.chunks, "chunk") }));
  return html`<h3 class="quiet small">What fills it</h3>${bars(rows, Math.max(4, rows[0].value), (value, isLast) => (isLast ? counted(value, "chunk") : count(value)))}`;
}

/** @param {import("../kinds.js").Status} status */
function budgets({ memory, tokens_today, token_budget }) {
  const share = (/** @type {string} */ label, /** @type {number} */ value, /** @type {number} */ of) =>
    gauge({ label, value, of, caption: of > 0 ? `${size(value)} of ${size(of)}` : size(value), tone: of > 0 && value > of * NEARLY ? "warn" : "" });
  const spent = token_budget > 0 && tokens_today >= token_budget * NEARLY ? "warn" : "";
  return card("Budgets", html`
    ${share("Vectors in memory", memory.vectors_bytes, memory.vectors_budget)}
    ${share("Local models", memory.models_bytes, memory.models_budget)}
    ${share("Database pages", memory.pages_bytes, memory.pages_budget)}
    ${token_budget > 0
      ? gauge({ label: "Tokens bought today", value: tokens_today, of: token_budget, caption: `${rough(tokens_today)} of ${rough(token_budget)}`, tone: spent })
      : html`<p class="quiet small">${counted(tokens_today, "token")} bought today; no limit is set.</p>`}
    ${memory.on_battery ? html`<p class="quiet small">The machine runs on its battery.</p>` : ""}`);
}

function speed() {
  const metric = state.metrics?.metrics.find((one) => one.name === "memd_request_seconds");
  const searches = metric?.histograms.find((one) => one.labels.method === "search");
  if (!searches || !state.metrics) return "";
  const { bounds } = state.metrics;
  const first = searches.counts.findIndex((value) => value > 0);
  const last = searches.counts.findLastIndex((value) => value > 0);
  if (first < 0) return "";
  const shown = searches.counts.slice(first, last + 1).map((value, place) => ({
    value, name: `up to ${inSeconds(bounds[first + place])}: ${count(value)}`, label: inSeconds(bounds[first + place]),
  }));
  const sum = searches.counts.reduce((all, value) => all + value, 0);
  const caption = `half of ${counted(sum, "search", "searches")} within ${inSeconds(searches.p50)}, 95 % within ${inSeconds(searches.p95)}`;
  return card("Speed", html`${sum < TELLING ? "" : columns(shown, { caption, y: "searches", x: "duration, up to" })}<p class="quiet small number">${caption}</p>`);
}

/** @param {number | undefined} seconds */
function inSeconds(seconds) {
  return seconds === undefined ? "longer" : span(seconds * 1000);
}

/** @param {import("../kinds.js").Status} status */
function compared({ agents }) {
  if (agents.length < 2) return "";
  const rows = agents.map((one) => ({ name: one.agent, value: one.index_bytes, caption: `${size(one.index_bytes)}, ${counted(one.chunks, "chunk")}` }));
  return card("All agents' indexes", bars(rows, Math.max(1, ...rows.map((row) => row.value)), size));
}

/** @param {import("../kinds.js").AgentStatus} agent */
function checks(agent) {
  if (agent.checks.length === 0) return "";
  return card("Thorough check", html`<ul class="rows">${agent.checks.map((one) => html`<li class="check">
    <span class="chip ${one.ok ? "good" : "missing"}">${one.ok ? "works" : "fails"}</span><span>${seen(one.name)} <span class="quiet">${seen(one.detail)}</span></span></li>`)}</ul>`, "full");
}

/** @param {import("../kinds.js").AgentStatus} agent */
function leftOut(agent) {
  const files = agent.skipped.map((one) => ({ path: one.path, reason: one.reason }));
  const texts = agent.rejected.map((one) => ({ path: `${one.path}#L${one.start_line}-L${one.end_line}`, reason: `keyword search only: ${one.reason}` }));
  const rows = [...files, ...texts];
  if (rows.length === 0) return "";
  return card("Left out", html`<ul class="rows">${rows.slice(0, MOST_ROWS).map((one) => html`<li class="plain-text">${seen(whyLeftOut(one))}</li>`)}</ul>
    ${rows.length > MOST_ROWS ? html`<p class="quiet small">and ${count(rows.length - MOST_ROWS)} more: <code>memctl status --json</code></p>` : ""}`, "full");
}
