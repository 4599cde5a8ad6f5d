import assert from "node:assert/strict";
import { test } from "node:test";

import { visibleHits } from "../src/visibility.js";

const NOTE = { path: "memory/a.md", source: "memory" };
const SESSIONS = [
  { sessionKey: "agent:main:main", entry: { sessionId: "one" } },
  { sessionKey: "agent:main:telegram:direct:7", entry: { sessionId: "two" } },
  { sessionKey: "agent:main:subagent:9", entry: { sessionId: "three", spawnedBy: "agent:main:telegram:direct:7" } },
  { sessionKey: "agent:main:dashboard:incognito-1", entry: { sessionId: "four" } },
];
const HITS = [NOTE, ...["one", "two", "three", "four"].map((id) => ({ path: `sessions/${id}.jsonl`, source: "sessions" }))];

function seen(requester, { visibility, sandboxed = false, hits = HITS, entries = () => SESSIONS, agent = "main", more = {} } = {}) {
  const cfg = { tools: { sessions: { visibility } }, ...more };
  return visibleHits(hits, { cfg, agent, requester, sandboxed, entries }).map((hit) => hit.path.replace(/^sessions\/|\.jsonl$/gu, ""));
}

const DIRECT = "agent:main:telegram:direct:7";
const NOTES = ["memory/a.md"];

test("by default all sessions of the agent are seen, but incognito ones", () => {
  assert.deepEqual(seen(DIRECT), [...NOTES, "one", "two", "three"]);
});

test("with `self` only the session itself is seen, by the main session too", () => {
  assert.deepEqual(seen(DIRECT, { visibility: "self" }), [...NOTES, "two"]);
  assert.deepEqual(seen("agent:main:main", { visibility: "self" }), [...NOTES, "one"]);
});

test("with `tree` a session sees itself and what it spawned, the main one all", () => {
  assert.deepEqual(seen(DIRECT, { visibility: "tree" }), [...NOTES, "two", "three"]);
  assert.deepEqual(seen("agent:main:main", { visibility: "tree" }), [...NOTES, "one", "two", "three"]);
});

test("a sandboxed session sees itself and what it spawned whatever the settings say, unless the sandbox's do", () => {
  assert.deepEqual(seen(DIRECT, { visibility: "all", sandboxed: true }), [...NOTES, "two", "three"]);
  assert.deepEqual(seen("agent:main:main", { sandboxed: true }), [...NOTES, "one"]);
  const more = { agents: { defaults: { sandbox: { sessionToolsVisibility: "all" } } } };
  assert.deepEqual(seen(DIRECT, { sandboxed: true, more }), [...NOTES, "one", "two", "three"]);
});

test("without a session, with another agent, and with an unreadable store only notes are visible", () => {
  assert.deepEqual(seen(undefined), NOTES);
  assert.deepEqual(seen("agent:other:main"), NOTES);
  const broken = () => {
    throw new Error("no store");
  };
  assert.deepEqual(seen(DIRECT, { entries: broken }), NOTES);
});

test("a rotated transcript belongs to its session, and an unknown source is withheld", () => {
  const hits = [
    { path: "sessions/two.jsonl.reset.2026-11-20T10-00-00.000Z", source: "sessions" },
    { path: "sessions/gone.jsonl", source: "sessions" },
    { path: "x", source: "other" },
  ];
  assert.deepEqual(seen(DIRECT, { visibility: "self", hits }), ["two.jsonl.reset.2026-11-20T10-00-00.000Z"]);
  assert.deepEqual(seen(DIRECT, { visibility: "agent", hits }).length, 2);
});
