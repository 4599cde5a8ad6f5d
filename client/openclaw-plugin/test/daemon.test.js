// Compared with a real daemon, whose socket is in MEMD_SOCKET: texts of the plugin, and each kind of request.
// Its agent `main` has keyword search alone, the note memory/2026-03-04.md and a transcript of the session 4f1c.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";

import { Client } from "memd-client";

import { createPlugin } from "../index.js";
import { DEFINITIONS } from "../src/definitions.js";
import { flushPlan } from "../src/flush.js";
import { promptSection } from "../src/prompt.js";
import { FakeHost, recorded } from "./host.js";

const KEY = "agent:main:main";
const WHO = { agentId: "main", sessionKey: KEY, sessionId: "4f1c" };
const client = new Client();
after(() => client.close());
const { workspace } = (await client.request("status", {})).agents[0];

/** The plugin in a host that lets it do everything, on the real client. */
function plugged(config = {}) {
  const open = { plugins: { entries: { memd: { hooks: { allowConversationAccess: true } } } }, ...config };
  const pluginConfig = { startDaemon: false, factTools: true, autoRecall: true, autoCapture: true, sessionNotes: true };
  const sessions = [{ sessionKey: KEY, entry: { sessionId: "4f1c" } }];
  const host = new FakeHost({ pluginConfig, config: open, sessions, stateDir: process.env.OPENCLAW_STATE_DIR });
  host.workspaces = { main: workspace };
  createPlugin((options) => new Client(options), undefined, recorded({})).register(host);
  after(() => host.services[0].stop());
  const call = async (name, given, context = WHO) =>
    (await host.tools.get(name)({ ...context, config: open }).execute("id", given)).details;
  return { host, call };
}

test("tools are defined as the daemon defines them", async () => {
  const { tools } = await client.request("tools", { include: DEFINITIONS.map(({ name }) => name) });
  assert.deepEqual(DEFINITIONS.map(({ name, description, parameters }) => ({ name, description, parameters })), tools);
});

test("the prompt says what the daemon's section says, whatever tools a model has", async () => {
  const names = [...DEFINITIONS.map(({ name }) => name), "sessions_search", "sessions_history"];
  for (let choice = 0; choice < 2 ** names.length; choice += 1) {
    const tools = names.filter((_name, at) => choice & (1 << at));
    for (const citations of ["on", "off"]) {
      const { text } = await client.request("prompt_section", { tools, citations });
      assert.equal(promptSection(new Set(tools), citations === "on").join("\n"), text);
    }
  }
});

test("the flush prompts are those of the daemon", async () => {
  const plan = flushPlan({ cfg: { agents: { defaults: { userTimezone: "Europe/Prague" } } } });
  const messageAndHint = await client.request("flush_check", { session_key: KEY, total_tokens: 190_000, context_window: 200_000 });
  const withoutTime = (prompt) => prompt.replace(/Current time: .*/u, (line) => line.replace(/\d\d:\d\d \(/u, "("));
  assert.equal(withoutTime(plan.prompt), withoutTime(messageAndHint.prompt));
  assert.equal(plan.systemPrompt, messageAndHint.system_prompt);
  assert.equal(plan.relativePath, messageAndHint.path);
  assert.equal(200_000 - plan.reserveTokensFloor - plan.softThresholdTokens, messageAndHint.threshold_tokens);
});

test("a search finds the note, and a read gives its lines", async () => {
  const { call } = plugged();
  const { results, mode, citations } = await call("memory_search", { query: "staging gateway port", maxResults: 1 });
  assert.equal(results[0].path, "memory/2026-03-04.md");
  assert.equal(results[0].corpus, "memory");
  assert.equal(mode, "keyword");
  assert.equal(citations, "on");
  const read = await call("memory_get", { path: results[0].path, from: 3, lines: 1 });
  assert.deepEqual([read.status, read.text.trim(), read.from, read.lines], ["ok", "The staging gateway listens on port 8443.", 3, 1]);
});

test("a corpus limits a search, a file that is missing is not found, and a wiki there is none", async () => {
  const { call } = plugged();
  const query = { query: "marmalade tasting or staging gateway", minScore: 0 };
  const sources = async (corpus) => new Set((await call("memory_search", { ...query, corpus })).results.map(({ source }) => source));
  assert.deepEqual(await sources("sessions"), new Set(["sessions"]));
  assert.deepEqual(await sources("memory"), new Set(["memory"]));
  assert.deepEqual(await sources("all"), new Set(["memory", "sessions"]));
  const { reason, ...missing } = await call("memory_get", { path: "memory/none.md" });
  assert.deepEqual(missing, { status: "not_found", path: "memory/none.md", text: "" });
  assert.match(reason, /^there is no memory\/none\.md/u);
  const { corpora, warning } = await call("memory_search", { ...query, corpus: "all" });
  assert.equal(corpora[0].outcome, "ok");
  assert.match(warning, /wiki is unavailable/u); // outside of OpenClaw there is no interface to ask
});

test("a transcript is found by a session that may see it, and by no other", async () => {
  const query = { query: "marmalade tasting", minScore: 0 };
  const seen = async (visibility, sessionKey) => {
    const { results } = await plugged({ tools: { sessions: { visibility } } }).call("memory_search", query, { ...WHO, sessionKey });
    return results.some(({ source }) => source === "sessions");
  };
  assert.equal(await seen("self", KEY), true);
  assert.equal(await seen("self", "agent:main:telegram:direct:7"), false);
  assert.equal(await seen("all", "agent:main:telegram:direct:7"), true);
});

test("facts are stored, recalled before a prompt, kept from a turn, and forgotten", async () => {
  const { host, call } = plugged();
  assert.equal((await call("memory_store", { text: "The user's editor is Helix" })).stored, true);
  const turn = { ...WHO, trigger: "user" };
  const { prependContext } = await host.fire("before_prompt_build", { prompt: "Which editor do I use, Helix?", messages: [] }, turn);
  assert.match(prependContext, /Helix/u);
  await host.fire("agent_end", { success: true, messages: [{ role: "user", content: "I prefer green tea in the morning" }] }, turn);
  const { facts } = await call("memory_recall", { query: "green tea" });
  assert.match(facts[0].text, /green tea/u);
  assert.equal((await call("memory_forget", { id: facts[0].id })).forgotten.id, facts[0].id);
});

test("compactions are counted", async () => {
  const { host } = plugged();
  await host.fire("session_start", { sessionId: "4f1c", sessionKey: KEY }, WHO);
  await host.fire("after_compaction", { messageCount: 2, compactedCount: 1 }, WHO);
  const flush = { session_key: KEY, session_id: "4f1c", total_tokens: 190_000, context_window: 200_000 };
  assert.equal((await client.request("flush_check", flush)).compaction_count, 1);
  await host.fire("agent_end", { success: true, messages: [] }, { ...WHO, trigger: "memory" });
  assert.equal((await client.request("flush_check", flush)).reason, "flushed_already");
});

test("a conversation that ended leaves a note, which only sessions that see the conversation find and read", async () => {
  const self = { tools: { sessions: { visibility: "self" } } };
  const { host, call } = plugged(self);
  await host.fire("session_end", { sessionId: "4f1c", sessionKey: KEY, messageCount: 2, reason: "new" }, WHO);
  const query = { query: "marmalade tasting", corpus: "memory", minScore: 0 };
  const { path } = (await client.request("search", { query: query.query, sources: ["memory"], min_score: 0 })).hits[0];
  assert.match(await readFile(join(workspace, path), "utf8"), /^<!-- memd:session=agent:main:main -->\n# Session: [^]*marmalade/u);
  assert.match(path, /^memory\/sessions\//u);
  const seen = async (sessionKey) => {
    const who = { ...WHO, sessionKey };
    const { results } = await call("memory_search", query, who);
    return [results.some((row) => row.path === path), (await call("memory_get", { path }, who)).status];
  };
  assert.deepEqual(await seen(KEY), [true, "ok"]);
  assert.deepEqual(await seen("agent:main:telegram:group:-100"), [false, "not_found"]);
  const { reason } = await call("memory_get", { path: "memory/sessions/x.md" }, { ...WHO, sessionKey: "agent:main:telegram:group:-100" });
  assert.ok(!reason.includes("marmalade"), reason);
});

test("OpenClaw's own search runtime searches, reads, syncs and reports the state of the index", async () => {
  const { host } = plugged();
  const { manager } = await host.capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main" });
  const hits = await manager.search("staging gateway", { maxResults: 1, sources: ["memory"] });
  assert.equal(hits[0].path, "memory/2026-03-04.md");
  assert.equal((await manager.readFile({ relPath: "memory/2026-03-04.md", from: 3, lines: 1 })).status, "ok");
  assert.deepEqual(await manager.readFile({ relPath: "memory/none.md" }), { status: "not_found", path: "memory/none.md", text: "" });
  await manager.sync();
  const status = manager.status();
  assert.ok(status.files > 0 && status.chunks > 0);
  assert.equal(status.dirty, false);
  assert.equal((await manager.probeEmbeddingAvailability()).ok, false);
  assert.equal(await manager.probeVectorAvailability(), false);
});
