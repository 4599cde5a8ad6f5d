import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClient, FakeHost, failure, register } from "./host.js";
import { promptSection } from "../src/prompt.js";

const AGENT = { agentId: "main", sessionKey: "agent:main:main" };
const NOTE = { path: "memory/a.md", startLine: 3, endLine: 4, score: 0.5, snippet: "port 8443", source: "memory" };
const PAGE = { corpus: "wiki", path: "pages/port.md", score: 0.7, snippet: "The port." };

const answering = (result) => new FakeClient({ call_tool: { ok: true, result } });

/** A wiki that keeps what it was asked. */
function wiki(pages, page = null) {
  const asked = [];
  const supplement = {
    search: async (query) => asked.push(query) && pages,
    get: async (lookup) => asked.push(lookup) && page,
  };
  return { asked, list: async () => [{ pluginId: "memory-wiki", supplement }] };
}

async function call(name, given, { client = answering({ results: [NOTE] }), wikis, context = AGENT, sessions = [] } = {}) {
  const host = await register(new FakeHost({ sessions }), client, { supplements: wikis });
  return (await host.tools.get(name)(context).execute("call", given)).details;
}

test("the corpus wiki is searched in what other plugins registered, without the daemon", async () => {
  const { asked, list } = wiki([PAGE, { ...PAGE, path: "pages/best.md", score: 0.9 }]);
  const client = answering({});
  const found = await call("memory_search", { query: "port", corpus: "wiki", maxResults: 5 }, { client, wikis: list });
  assert.deepEqual(found.results.map(({ path }) => path), ["pages/best.md", "pages/port.md"]);
  assert.deepEqual(found.corpora, [{ corpus: "wiki", outcome: "ok" }]);
  assert.deepEqual(asked, [
    { query: "port", maxResults: 5, agentId: "main", agentSessionKey: "agent:main:main", sandboxed: false },
  ]);
  assert.equal(client.asked.length, 0);
});

test("all searches both, and neither crowds the other out", async () => {
  const notes = Array.from({ length: 8 }, (_, at) => ({ ...NOTE, path: `memory/${at}.md`, score: 0.95 }));
  const pages = Array.from({ length: 8 }, (_, at) => ({ ...PAGE, path: `pages/${at}.md` }));
  const client = answering({ results: notes, mode: "keyword" });
  const found = await call("memory_search", { query: "port", corpus: "all", maxResults: 6 }, { client, wikis: wiki(pages).list });
  assert.deepEqual(found.results.map(({ path }) => path), [
    "memory/0.md", "memory/1.md", "memory/2.md", "pages/0.md", "pages/1.md", "pages/2.md",
  ]);
  assert.deepEqual(found.corpora, [{ corpus: "memory", outcome: "ok" }, { corpus: "wiki", outcome: "ok" }]);
  assert.equal(found.mode, "keyword");
  assert.equal(found.warning, undefined);
});

for (const [maxChars, notes, pages] of [[600, 3, 3], [undefined, 21, 21], [5_000, 25, 25], [60, 1, 0]]) {
  test(`all keeps within ${maxChars ?? "the default"} characters, half of them notes and half pages`, async () => {
    const text = "x".repeat(100);
    const all = (row) => Array.from({ length: 40 }, (_, at) => ({ ...row, path: `${row.path}-${at}`, snippet: text }));
    const wikis = async () => Array.from({ length: 4 }, (_, of) => ({
      pluginId: `wiki-${of}`, supplement: { search: async () => all(PAGE).slice(of * 10, of * 10 + 10) },
    }));
    const client = answering({ results: all(NOTE) });
    const { results } = await call("memory_search", { query: "port", corpus: "all", maxChars, maxResults: 50 }, { client, wikis });
    const of = (corpus) => results.filter((row) => row.corpus === corpus).length;
    assert.deepEqual([of("memory"), of("wiki")], [notes, pages]);
  });
}

test("pages of wikis keep within the characters, and a long page is shown alone", async () => {
  const pages = [400, 500, 100].map((length, at) => ({ ...PAGE, path: `pages/${at}.md`, score: 1 - at / 10, snippet: "x".repeat(length) }));
  const shown = async (maxChars) => {
    const found = await call("memory_search", { query: "port", corpus: "wiki", maxChars }, { wikis: wiki(pages).list });
    return found.results.length;
  };
  assert.deepEqual(await Promise.all([300, 400, 899, 900, 1000].map(shown)), [1, 1, 1, 2, 3]);
});

for (const [what, wikis] of [
  ["an interface that is gone", async () => { throw new Error("no such subpath"); }],
  ["a wiki that fails", async () => [{ pluginId: "memory-wiki", supplement: { search: async () => { throw new Error("no such subpath"); } } }]],
]) {
  test(`${what} costs the wiki's results alone, and is said`, async () => {
    const found = await call("memory_search", { query: "port", corpus: "all" }, { wikis });
    assert.deepEqual(found.results.map(({ path }) => path), [NOTE.path]);
    assert.equal(found.partial, true);
    assert.match(found.warning, /wiki is unavailable: .*no such subpath/u);
    assert.equal((await call("memory_search", { query: "port" }, { wikis })).warning, undefined);
  });
}

test("a wiki that hangs costs its results after the deadline", async () => {
  const wikis = async () => [{ pluginId: "memory-wiki", supplement: { search: () => new Promise(() => {}) } }];
  const host = await register(new FakeHost({ pluginConfig: { toolDeadlineMs: 100 } }), answering({ results: [NOTE] }), { supplements: wikis });
  const waiting = setTimeout(() => {}, 10_000);
  const { details } = await host.tools.get("memory_search")(AGENT).execute("call", { query: "port", corpus: "all" });
  clearTimeout(waiting);
  assert.match(details.warning, /no answer within 100 ms/u);
  assert.equal(details.results.length, 1);
});

test("without a daemon all still finds pages, and says that memory is missing", async () => {
  const client = new FakeClient({ call_tool: failure("daemon_unreachable", "no daemon", "start memd") });
  const found = await call("memory_search", { query: "port", corpus: "all" }, { client, wikis: wiki([PAGE]).list });
  assert.deepEqual(found.results, [PAGE]);
  assert.equal(found.disabled, undefined);
  assert.match(found.warning, /memory is unavailable: no daemon/u);
  assert.match(found.action, /start memd/u);
});

test("without a wiki the corpus says that none is registered", async () => {
  const found = await call("memory_search", { query: "port", corpus: "wiki" });
  assert.deepEqual(found.results, []);
  assert.match(found.warning, /wiki is not registered/u);
  assert.equal((await call("memory_search", { query: "port", corpus: "all" })).warning, undefined);
});

test("a search without a query is the daemon's to answer, whatever its corpus", async () => {
  const client = new FakeClient({ call_tool: { ok: false, result: { error: "`query` is missing" } } });
  assert.equal((await call("memory_search", { corpus: "wiki" }, { client })).status, "error");
});

test("a page of a wiki is read by its path, and one that is nowhere is not found", async () => {
  const page = { corpus: "wiki", path: "pages/port.md", content: "The port.", fromLine: 2, lineCount: 1 };
  const { asked, list } = wiki([], page);
  const client = answering({ status: "not_found", path: "pages/port.md", text: "" });
  const expected = { corpus: "wiki", path: "pages/port.md", fromLine: 2, lineCount: 1, status: "ok", text: "The port." };
  for (const corpus of ["wiki", "all"]) {
    const read = await call("memory_get", { path: "pages/port.md", from: 2, lines: 1, corpus }, { client, wikis: list });
    assert.deepEqual({ ...read, corpora: undefined }, { ...expected, corpora: undefined });
  }
  assert.deepEqual(asked[0], {
    lookup: "pages/port.md", fromLine: 2, lineCount: 1, agentId: "main", agentSessionKey: "agent:main:main", sandboxed: false,
  });
  const missing = await call("memory_get", { path: "x.md", corpus: "all" }, { client: answering({ status: "not_found", path: "x.md", text: "" }), wikis: wiki([]).list });
  assert.equal(missing.status, "not_found");
});

test("a file that the daemon doesn't find is not found", async () => {
  const client = answering({ status: "not_found", path: "memory/x.md", text: "" });
  assert.deepEqual(await call("memory_get", { path: "memory/x.md" }, { client }), { status: "not_found", path: "memory/x.md", text: "" });
});

// --- private recall ---------------------------------------------------------------------------------

const ANCHOR = "agent:main:telegram:direct:7";
const RECALL = { anchorSessionKey: ANCHOR, scope: "same-agent-private", corpus: "sessions" };
const RUN = { agentId: "main", sessionKey: `${ANCHOR}:active-memory:0123456789ab`, conversationRecall: RECALL };
const talk = (id) => ({ ...NOTE, path: `sessions/${id}.jsonl`, source: "sessions" });
const SESSIONS = [
  { sessionKey: ANCHOR, entry: { sessionId: "anchor", chatType: "direct" } },
  { sessionKey: "agent:main:main", entry: { sessionId: "main", chatType: "direct" } },
  { sessionKey: "agent:main:discord:direct:9", entry: { sessionId: "dm" } },
  { sessionKey: "agent:main:telegram:group:-1", entry: { sessionId: "group", chatType: "group" } },
  { sessionKey: "agent:main:cron:daily", entry: { sessionId: "cron", chatType: "direct" } },
  { sessionKey: "agent:main:web", entry: { sessionId: "unsure" } },
  { sessionKey: "agent:main:dashboard:incognito-1", entry: { sessionId: "incognito", chatType: "direct" } },
  { sessionKey: "agent:main:mixed", entry: { sessionId: "mixed", chatType: "direct", delivery: { kind: "external", origin: { chatType: "group" } } } },
];
const EVERYTHING = [NOTE, ...SESSIONS.map(({ entry }) => talk(entry.sessionId)), talk("unknown")];

async function recalled(context, sessions = SESSIONS, given = { query: "port", maxResults: 20 }) {
  const client = answering({ results: EVERYTHING });
  const { results } = await call("memory_search", given, { client, context: { ...RUN, ...context }, sessions });
  assert.equal(client.asked[0].params.recall, true);
  return [results.map(({ path }) => path), client.asked[0].params.arguments];
}

test("a recall finds this agent's private conversations and nothing else", async () => {
  const [paths, asked] = await recalled({});
  assert.deepEqual(paths, ["sessions/anchor.jsonl", "sessions/main.jsonl", "sessions/dm.jsonl"]);
  assert.equal(asked.corpus, "sessions");
  assert.equal(asked.maxResults, 50);
  const [configured] = await recalled({ conversationRecall: { ...RECALL, corpus: "configured" } });
  assert.deepEqual(configured.slice(0, 2), [NOTE.path, "sessions/anchor.jsonl"]);
  assert.equal((await recalled({}, SESSIONS, { query: "port", maxResults: 2 }))[0].length, 2);
  assert.equal(asked.maxChars, 50_000);
  assert.equal((await recalled({}, SESSIONS, { query: "port", maxChars: 2 * NOTE.snippet.length }))[0].length, 2);
});

for (const [what, context, sessions] of [
  ["another session asks", { sessionKey: "agent:main:telegram:direct:8" }],
  ["the session runs in a sandbox", { sandboxed: true }],
  ["another agent is searched", { agentId: "work" }],
  ["the scope is unknown", { conversationRecall: { ...RECALL, scope: "everything" } }],
  ["the anchor is not listed", {}, SESSIONS.slice(1)],
  ["the anchor's transcript is a group's as well", {}, [...SESSIONS, { sessionKey: "agent:main:x:group:1", entry: { sessionId: "anchor", chatType: "group" } }]],
]) {
  test(`a recall finds no conversation if ${what}`, async () => {
    assert.deepEqual((await recalled(context, sessions))[0], []);
  });
}

test("the plugin says that it recalls private conversations", async () => {
  const { capability } = await register(new FakeHost(), new FakeClient());
  assert.equal(capability.supportsPrivateTranscriptRecall, true);
});

test("the section leads from a conversation's excerpt to the tools for sessions that there are", () => {
  const said = (...tools) => promptSection(new Set(tools), true).join("\n");
  assert.match(said("memory_search", "sessions_search", "sessions_history"), /`sessions_search` .*, then `sessions_history`/u);
  assert.doesNotMatch(said("memory_search", "sessions_search"), /sessions_history/u);
  assert.doesNotMatch(said("memory_search"), /sessions/u);
  assert.deepEqual(promptSection(new Set(["sessions_search", "sessions_history"]), true), []);
});
