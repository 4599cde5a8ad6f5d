import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { FakeClient, FakeHost, failure, register } from "./host.js";

const WHO = { agentId: "main", sessionKey: "agent:main:main", sessionId: "4f1c" };
const OPEN = { plugins: { entries: { memd: { hooks: { allowConversationAccess: true } } } } };
const USER = { ...WHO, trigger: "user" };

async function host(settings, { config = OPEN, replies = {} } = {}) {
  const client = new FakeClient(replies);
  return { client, api: await register(new FakeHost({ pluginConfig: settings, config }), client) };
}

const asked = (client) => client.asked.map(({ method, params }) => [method, params]);

test("sessions that begin, and compactions, are passed on", async () => {
  const { api, client } = await host({});
  await api.fire("session_start", { sessionId: "4f1c", sessionKey: WHO.sessionKey }, WHO);
  await api.fire("after_compaction", { messageCount: 2, compactedCount: 1 }, WHO);
  assert.deepEqual(asked(client), [
    ["session_started", { agent: "main", session_key: WHO.sessionKey, max_characters: 0 }],
    ["compaction_done", { agent: "main", session_key: WHO.sessionKey, session_id: "4f1c" }],
  ]);
});

test("a conversation leaves no note unless the settings ask for notes", async () => {
  const { api, client } = await host({});
  await api.fire("session_end", { sessionId: "4f1c", sessionKey: WHO.sessionKey, messageCount: 2, reason: "new" }, WHO);
  assert.deepEqual(asked(client), []);
});

test("a conversation that is over leaves a private note, one that goes on, is deleted or incognito leaves none", async () => {
  const { api, client } = await host({ sessionNotes: true });
  const hidden = "agent:main:dashboard:incognito-1";
  await api.fire("session_end", { sessionId: "4f1c", sessionKey: hidden, messageCount: 2, reason: "new" }, WHO);
  for (const reason of ["new", "daily", "compaction", "deleted", "shutdown", undefined]) {
    await api.fire("session_end", { sessionId: "4f1c", sessionKey: WHO.sessionKey, messageCount: 2, reason }, WHO);
  }
  const ended = asked(client).map(([method, { ended_ms: endedMs, ...params }]) => [method, params, Math.abs(Date.now() - endedMs) < 60_000]);
  assert.deepEqual(ended, [
    ["session_ended", { agent: "main", session_key: WHO.sessionKey, session_id: "4f1c", reason: "new", private: true }, true],
    ["session_ended", { agent: "main", session_key: WHO.sessionKey, session_id: "4f1c", reason: "reset", private: true }, true],
  ]);
});

test("a conversation that ends within its session says that the session goes on", async () => {
  const { api, client } = await host({ sessionNotes: true });
  const event = { sessionId: "4f1c", nextSessionId: "4f1c", sessionKey: WHO.sessionKey, messageCount: 0, reason: "new" };
  await api.fire("session_end", event, WHO);
  assert.equal(client.asked[0].params.next_session_id, "4f1c");
});

test("no note is written if OpenClaw's hook writes one or the settings turn notes off", async () => {
  const own = { hooks: { internal: { entries: { "session-memory": { enabled: true } } } } };
  for (const [settings, config] of [[{ sessionNotes: true }, own], [{ sessionNotes: false }, {}]]) {
    const { api, client } = await host(settings, { config });
    await api.fire("session_end", { sessionId: "4f1c", reason: "new" }, WHO);
    assert.deepEqual(client.asked, []);
  }
});

test("facts are put before what the user says to the agent alone", async () => {
  const { api, client } = await host({ autoRecall: true, hookDeadlineMs: 700 }, { replies: { facts_for_prompt: { text: "<facts>" } } });
  const event = { prompt: "history and all", currentUserMessage: "set up my editor", messages: [] };
  assert.deepEqual(await api.fire("before_prompt_build", event, USER), { prependContext: "<facts>" });
  assert.deepEqual(client.asked[0].params, { agent: "main", prompt: "set up my editor", force: true });
  const { timeoutMs } = client.asked[0].options;
  assert.ok(timeoutMs <= 700 && timeoutMs > 600);
  const elsewhere = [
    { ...USER, sessionKey: "agent:main:telegram:group:-100" },
    { ...USER, trigger: "cron" },
    { ...USER, inputProvenance: { kind: "inter_session" } },
  ];
  for (const context of elsewhere) assert.equal(await api.fire("before_prompt_build", event, context), undefined);
  assert.equal(await api.fire("before_prompt_build", { ...event, currentUserMessage: "" }, USER), undefined);
  assert.equal(client.asked.length, 1);
});

test("without a daemon a turn continues without facts, with one log entry", async () => {
  const down = failure("daemon_unreachable", "no daemon");
  const { api } = await host({ autoRecall: true }, { replies: { facts_for_prompt: down, hello: down } });
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(await api.fire("before_prompt_build", { prompt: "hello", messages: [] }, USER), undefined);
  }
  assert.equal(api.said.length, 1);
  assert.match(api.said[0], /warn: memd: agents have no memory now: no daemon/u);
});

test("facts are kept of what the user said last, once the turn succeeded", async () => {
  const { api, client } = await host({ autoCapture: true });
  const messages = [
    { role: "user", content: "old" },
    { role: "assistant", content: "yes" },
    { role: "user", content: [{ type: "text", text: "I prefer tea" }, { type: "image", data: "…" }] },
    { role: "assistant", content: "noted" },
  ];
  await api.fire("agent_end", { messages, success: false }, USER);
  await api.fire("agent_end", { messages, success: true }, { ...USER, trigger: "heartbeat" });
  await api.fire("agent_end", { messages, success: true }, USER);
  assert.deepEqual(asked(client), [
    ["capture_facts", { agent: "main", messages: [{ role: "user", content: [{ type: "text", text: "I prefer tea" }] }], force: true }],
  ]);
});

test("a flush that was run is passed on", async () => {
  const { api, client } = await host({});
  await api.fire("agent_end", { messages: [], success: true }, { ...WHO, trigger: "memory" });
  assert.deepEqual(asked(client), [["flush_done", { agent: "main", session_key: WHO.sessionKey, session_id: "4f1c" }]]);
});

test("without the permission to see conversations nothing listens to them, and the log says what to set", async () => {
  const { api } = await host({ autoRecall: true }, { config: {} });
  assert.deepEqual([...api.hooks.keys()].sort(), ["after_compaction", "session_end", "session_start"]);
  assert.match(api.said[0], /allowConversationAccess/u);
});

test("an event doesn't hold up OpenClaw longer than the hooks' deadline", { timeout: 5_000 }, async () => {
  const never = new Promise(() => {});
  const { api } = await host({ hookDeadlineMs: 50 }, { replies: { session_started: () => never } });
  await api.fire("session_start", { sessionId: "4f1c", sessionKey: WHO.sessionKey }, WHO);
});

test("what is spent in a turn is missing for its next request, and comes back", async () => {
  const given = [];
  let replyMs = 150;
  const slow = async (_params, { timeoutMs }) => {
    given.push(timeoutMs);
    await wait(Math.min(timeoutMs, replyMs));
    return { text: "" };
  };
  const { api } = await host({ autoRecall: true, hookDeadlineMs: 200 }, { replies: { facts_for_prompt: slow } });
  const event = { prompt: "hello", messages: [] };
  const turn = (agentId = "main") => api.fire("before_prompt_build", event, { ...USER, agentId });
  for (let request = 0; request < 4; request += 1) await turn();
  assert.ok(given[0] === 200 && given[1] < 100, `${given}`);
  assert.ok(given.length <= 3, "without time left the daemon isn't asked");
  await turn("other");
  assert.equal(given.at(-1), 200);
  replyMs = 0;
  do {
    await wait(50);
    await turn();
  } while (given.at(-1) < 180);
});
