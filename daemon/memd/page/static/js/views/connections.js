/** Health: what other programs have and are given: sources, hooks and MCP servers, and what is excluded. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { ago, counted, size } from "../format.js";
import { programOf, visibleTo } from "../sources.js";
import { copy, state } from "../state.js";
import { seen } from "../text.js";
import { failure, pathOf } from "./shared.js";

/** @typedef {import("../kinds.js").Source} Source */
/** @typedef {import("../kinds.js").ConnectedProgram} Program */

/** Why a conversation is no memory, in words. */
const EXCLUDED = new Map([["subagent", "of subagents"], ["machine", "without a user"], ["excluded", "excluded by you"]]);
const STATES = new Map([["installed", "good"], ["not installed", ""]]);

export function connections() {
  const { sources: reply, sourcesError } = state;
  if (sourcesError) return failure(sourcesError);
  if (!reply) return html`<p class="quiet">Looking at the programs on this machine…</p>`;
  return html`${section("Sources", sources(reply))} ${section("Who is given memory", readers(reply))} ${section("Never read", exclusions(reply.excluded))}`;
}

/**
 * Return the problems of sources and of programs' settings, each with its hint.
 * @param {import("../kinds.js").SourcesReply | null} reply
 */
export function connectionTroubles(reply) {
  const ofSources = (reply?.sources ?? []).flatMap((source) => source.problems.map(({ message, hint }) => ({ title: source.title, text: message, hint, bad: false })));
  const ofPrograms = (reply?.programs ?? []).filter((program) => program.state === "incomplete" || program.problem).map((program) => ({
    title: `${program.title}: ${wayOf(program)} ${program.state}`, text: program.problem || "They are of another release of memd.",
    hint: program.state === "unreadable" ? `correct ${program.path}` : `run \`${installCommand(program)}\``, bad: false,
  }));
  return [...ofSources, ...ofPrograms];
}

/**
 * @param {string} title
 * @param {unknown} content
 */
function section(title, content) {
  return content ? html`<section class="card full"><h2>${title}</h2>${content}</section>` : "";
}

/** @param {import("../kinds.js").SourcesReply} reply */
function sources({ sources: own, found, removed }) {
  return html`
    ${own.length > 0 ? html`<ul class="rows sources">${own.map(source)}</ul>` : html`<p class="quiet">Only the notes in the workspace: no other program's conversations or notes are read.</p>`}
    ${found.length > 0 ? html`<h3 class="quiet small">On this machine, and not searched</h3><ul class="rows sources">${found.map(foundSource)}</ul>` : ""}
    ${removed.length > 0 ? html`<h3 class="quiet small">Removed, with copies that memd still has</h3><ul class="rows sources">${removed.map(removedSource)}</ul>` : ""}`;
}

/** @param {Source} source */
function source(source) {
  const isTalk = source.kind === "transcripts";
  const left = Object.entries(source.excluded).map(([kind, number]) => `${number.toLocaleString("en")} ${EXCLUDED.get(kind) ?? kind}`);
  const facts = [
    isTalk ? `${counted(source.sessions, "conversation")}, ${counted(source.messages, "message")}` : counted(source.files, "file"),
    source.newest_ms === null ? "" : `newest ${ago(source.newest_ms)}`,
    source.retained > 0 ? `${counted(source.retained, "deleted conversation")} kept (${size(source.retained_bytes)})` : isTalk && source.keep ? "keeps deleted conversations" : "",
    left.length > 0 ? `not listed: ${left.join(", ")}` : "",
    source.redactions > 0 ? `${counted(source.redactions, "secret")} left out` : "",
    source.unknown > 0 ? `${counted(source.unknown, "record")} not understood` : "",
  ];
  return html`<li class="source"><b>${seen(programOf(source.name))}</b> ${isTalk ? "" : html`<span class="quiet">notes</span>`}
    ${state.session.agents.length > 1 ? html`<span class="chip">${seen(source.agent)}</span>` : ""}
    <span class="quiet">${facts.filter(Boolean).join(" · ")}</span>
    ${source.locations.slice(0, 2).map((location) => html`<span class="quiet small location">${pathOf(location)}</span>`)}</li>`;
}

/** @param {Source} source */
function foundSource({ name, title, kind, files, newest_ms }) {
  const what = kind === "transcripts" ? counted(files, "conversation") : counted(files, "file of notes", "files of notes");
  return html`<li class="source"><b>${seen(title)}</b> <span class="quiet">${what}${newest_ms === null ? "" : `, newest ${ago(newest_ms)}`}</span>${command(`memctl sources add ${name}`)}</li>`;
}

/** @param {Source} source */
function removedSource({ name, title, retained, retained_bytes }) {
  return html`<li class="source"><b>${seen(title)}</b> <span class="quiet">${counted(retained, "copy", "copies")}, ${size(retained_bytes)}</span>${command(`memctl sources delete-copies ${name}`)}</li>`;
}

/** @param {import("../kinds.js").SourcesReply} reply */
function readers({ programs, sources: all }) {
  /** @type {Map<string, Program[]>} */
  const byTitle = new Map();
  for (const program of programs) byTitle.set(program.title, [...(byTitle.get(program.title) ?? []), program]);
  const rows = [...byTitle].filter(([, ways]) => ways.some((way) => way.state !== "not installed") || isPresent(ways[0], all));
  if (rows.length === 0) return "";
  return html`<ul class="rows sources">${rows.map(([title, ways]) => reader(title, ways, all))}</ul>`;
}

/**
 * Say whether a program is on this machine: memd knows of what it has.
 * @param {Program} program
 * @param {Source[]} all
 */
function isPresent({ program }, all) {
  return [...all, ...(state.sources?.found ?? [])].some(({ name }) => name === program || name === `${program}-notes`);
}

/**
 * @param {string} title
 * @param {Program[]} ways
 * @param {Source[]} all
 */
function reader(title, ways, all) {
  const agents = [...new Set(ways.flatMap((way) => way.agents))];
  return html`<li class="source"><b>${seen(title)}</b> <span class="quiet">${seen(agents.length === 0 ? "is given nothing" : `may see ${seenBy(agents, all).join("; ")}`)}</span>
    <span class="ways">${ways.map((way) => html`<span class="way"><span class="chip ${STATES.get(way.state) ?? "warn"}" title=${way.path}>${wayOf(way)} ${way.state}</span>
      ${way.state === "installed" || way.state === "unreadable" ? "" : command(installCommand(way))}</span>`)}</span></li>`;
}

/**
 * Return what a program may see, in words.
 * @param {string[]} agents whose memory it is given
 * @param {Source[]} all
 */
function seenBy(agents, all) {
  const notes = [state.session.agents.length > 1 ? `notes of ${agents.join(" and ")}` : "notes", ...visibleTo(agents, all.filter(({ kind }) => kind === "notes"))];
  const conversations = visibleTo(agents, all.filter(({ kind }) => kind === "transcripts"));
  return [notes.join(", "), conversations.length > 0 ? `conversations of ${conversations.join(", ")}` : ""].filter(Boolean);
}

/** @param {Program} program */
function wayOf({ way }) {
  return way === "mcp" ? "MCP server" : "hooks";
}

/** @param {Program} program */
function installCommand({ way, program }) {
  return `memctl ${way} install ${program}`;
}

/** @param {string} text */
function command(text) {
  return html`<span class="command small"><code>${seen(text)}</code><button class="button plain" aria-label="Copy ${text}" @click=${() => copy(text)}>Copy</button></span>`;
}

/** @param {string[]} excluded */
function exclusions(excluded) {
  if (excluded.length === 0) return "";
  return html`<ul class="rows">${excluded.map((one) => html`<li>${pathOf(one)}</li>`)}</ul>
    <p class="quiet small">The setting <code>exclude</code> in <code>memd.toml</code>: what is in these folders and projects is not read, indexed or given to anyone.</p>`;
}
