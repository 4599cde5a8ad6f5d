// Notes that keep a conversation: every way in which one may get to a session, on a real file system.

import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { sessionOf } from "../src/note-facts.js";
import { FakeClient, FakeHost, register, workspaceOf } from "./host.js";

const DIRECT = "agent:main:telegram:direct:7";
const GROUP = "agent:main:telegram:group:-100";
const CHILD = "agent:main:subagent:9";
const MAIN = "agent:main:main";
const SESSIONS = [
  { sessionKey: MAIN, entry: { sessionId: "one" } },
  { sessionKey: DIRECT, entry: { sessionId: "two", chatType: "direct" } },
  { sessionKey: GROUP, entry: { sessionId: "three", chatType: "group" } },
  { sessionKey: CHILD, entry: { sessionId: "four", spawnedBy: DIRECT } },
];

const label = (key) => `<!-- memd:session=${encodeURIComponent(key)} -->\n# Session: 2026-01-16 14:30:00 UTC\n\nuser: my salary\n`;
const PRIVATE = "memory/sessions/2026-01-16-salary.md";
const SHARED = "memory/2026-01-16.md";
const OF_GROUP = "memory/sessions/2026-01-16-party.md";
const WORKSPACE = await workspaceOf({
  [PRIVATE]: label(DIRECT),
  [OF_GROUP]: label(GROUP),
  [SHARED]: "# 2026-01-16\n\nThe salary table moved.\n",
  "memory/2025-12-01-salary.md": `# Session: 2025-12-01\n\n- **Session Key**: ${DIRECT}\n\nuser: my salary\n`,
  "memory/sessions/own.md": "A note of the user's in a folder of this name.\n",
});

const rowOf = (path) => ({ path, startLine: 1, endLine: 4, score: 0.5, snippet: "my salary", source: "memory" });
const hitOf = (path) => ({ path, start_line: 1, end_line: 4, score: 0.5, snippet: "my salary", source: "memory", citation: path });

/** The plugin on a daemon that finds these notes, and what each way of asking returns: paths. */
async function plugged({ paths = [PRIVATE, OF_GROUP, SHARED], visibility, rows = paths.map(rowOf), sandboxed = false } = {}) {
  const client = new FakeClient({
    status: { agents: [{ agent: "main", workspace: WORKSPACE }] },
    search: { hits: paths.map(hitOf), mode: "keyword", degraded: null },
    get: ({ path }) => ({ path, text: "my salary", from_line: 1, lines: 1, truncated: false }),
    call_tool: ({ name, arguments: given }) => name === "memory_get"
      ? { ok: true, result: { path: given.path, text: "my salary", from: 1, lines: 1, total_lines: 1 } }
      : { ok: true, result: { results: rows.slice(0, given.maxResults) } },
  });
  const config = { tools: { sessions: { visibility } } };
  const host = new FakeHost({ config, sessions: SESSIONS });
  host.workspaces = { main: WORKSPACE };
  await register(host, client);
  const tool = async (name, given, sessionKey, more = {}) => {
    const context = { agentId: "main", sessionKey, config, sandboxed, ...more };
    return (await host.tools.get(name)(context).execute("call", given)).details;
  };
  return {
    host, config, client, tool,
    found: async (sessionKey, more) =>
      (await tool("memory_search", { query: "salary" }, sessionKey, more)).results.map(({ path }) => path),
    read: async (path, sessionKey, more) => (await tool("memory_get", { path }, sessionKey, more)).status,
  };
}

for (const [visibility, requester, sees] of [
  ["self", DIRECT, [PRIVATE]],
  ["self", GROUP, [OF_GROUP]],
  ["self", MAIN, []],
  ["tree", DIRECT, [PRIVATE]],
  ["tree", GROUP, [OF_GROUP]],
  ["tree", MAIN, [PRIVATE, OF_GROUP]],
  ["all", GROUP, [PRIVATE, OF_GROUP]],
  [undefined, GROUP, [PRIVATE, OF_GROUP]],
  ["all", undefined, []],
]) {
  test(`with the visibility ${visibility} ${requester} sees the notes whose transcripts it sees, and all others`, async () => {
    const { found, read } = await plugged({ visibility });
    assert.deepEqual(await found(requester), [...sees, SHARED]);
    for (const path of [PRIVATE, OF_GROUP, SHARED]) {
      assert.equal(await read(path, requester), [...sees, SHARED].includes(path) ? "ok" : "not_found", path);
    }
  });
}

test("a note of what a session spawned is seen with `tree`, and a sandbox narrows what is seen", async () => {
  const path = "memory/sessions/2026-01-17-child.md";
  await writeFile(join(WORKSPACE, path), label(CHILD));
  const tree = await plugged({ visibility: "tree", paths: [path, OF_GROUP] });
  assert.deepEqual(await tree.found(DIRECT), [path]);
  const sandboxed = await plugged({ visibility: "all", paths: [path, OF_GROUP, PRIVATE], sandboxed: true });
  assert.deepEqual(await sandboxed.found(DIRECT), [path, PRIVATE]);
});

test("notes of incognito sessions and of another agent are not seen by any session", async () => {
  const paths = ["memory/sessions/2026-01-18-hidden.md", "memory/sessions/2026-01-18-other.md", "memory/sessions/2026-01-18-bad.md"];
  await writeFile(join(WORKSPACE, paths[0]), label("agent:main:dashboard:incognito-1"));
  await writeFile(join(WORKSPACE, paths[1]), label("agent:other:main"));
  await writeFile(join(WORKSPACE, paths[2]), "<!-- memd:session=%E0%A4%A -->\n# Session\n");
  const { found, read } = await plugged({ visibility: "all", paths });
  assert.deepEqual(await found(MAIN), []);
  assert.deepEqual(await Promise.all(paths.map((path) => read(path, MAIN))), Array(3).fill("not_found"));
});

test("hidden notes take no place of those that are shown, and are counted", async () => {
  const rows = [...Array(6).fill(rowOf(PRIVATE)), ...Array(6).fill(rowOf(SHARED))];
  const { tool } = await plugged({ visibility: "self", rows });
  const { results, withheld } = await tool("memory_search", { query: "salary", maxResults: 3 }, GROUP);
  assert.deepEqual(results.map(({ path }) => path), [SHARED, SHARED, SHARED]);
  assert.equal(withheld, 3);
});

test("the place of a later statement in a hidden note is not named", async () => {
  const superseded = { ...rowOf(SHARED), supersededBy: `${PRIVATE}#L4 (2026-01-16)` };
  const { tool } = await plugged({ visibility: "self", rows: [superseded] });
  const of = async (key) => (await tool("memory_search", { query: "salary" }, key)).results[0].supersededBy;
  assert.equal(await of(GROUP), undefined);
  assert.equal(await of(DIRECT), superseded.supersededBy);
});

test("a recall shows notes of private conversations alone, whatever sessions may see", async () => {
  const { found, read } = await plugged({ visibility: "all" });
  const conversationRecall = { anchorSessionKey: DIRECT, scope: "same-agent-private", corpus: "configured" };
  const run = `${DIRECT}:active-memory:0123456789ab`;
  assert.deepEqual(await found(run, { conversationRecall }), [PRIVATE, SHARED]);
  assert.equal(await read(PRIVATE, run, { conversationRecall }), "ok");
  assert.equal(await read(OF_GROUP, run, { conversationRecall }), "not_found");
  const sessionsOnly = { conversationRecall: { ...conversationRecall, corpus: "sessions" } };
  assert.deepEqual(await found(run, sessionsOnly), []);
  assert.equal(await read(SHARED, run, sessionsOnly), "ok");
});

test("OpenClaw's own searches get such notes as conversations, and hits are authorized by the session that asks", async () => {
  const { host, config } = await plugged({ visibility: "self" });
  const { runtime } = host.capability;
  const { manager } = await runtime.getMemorySearchManager({ cfg: config, agentId: "main" });
  const hits = await manager.search("salary");
  assert.deepEqual(hits.map(({ source }) => source), ["sessions", "sessions", "memory"]); // memory-wiki shows no unknown transcript
  const authorized = async (requesterSessionKey, rows = hits) => (await runtime.authorizeSearchHits({
    cfg: config, agentId: "main", requesterSessionKey, sandboxed: false, hits: rows,
  })).map(({ path }) => path);
  assert.deepEqual(await authorized(GROUP), [OF_GROUP, SHARED]);
  assert.deepEqual(await authorized(DIRECT), [PRIVATE, SHARED]);
  assert.deepEqual(await authorized(GROUP, hits.map((hit) => ({ ...hit, source: "memory" }))), [OF_GROUP, SHARED]);
  assert.deepEqual(await manager.readFile({ relPath: PRIVATE }), { status: "not_found", path: PRIVATE, text: "" });
  assert.equal((await manager.readFile({ relPath: SHARED })).status, "ok");
});

test("such notes are no public artifacts", async () => {
  const { host } = await plugged();
  const paths = (await host.capability.publicArtifacts.listArtifacts({ cfg: {} })).map(({ relativePath }) => relativePath);
  assert.ok(paths.includes(SHARED) && paths.includes("memory/sessions/own.md"));
  assert.ok(!paths.includes(PRIVATE) && !paths.includes(OF_GROUP));
});

test("notes without a label are for every session, in a folder of any name", async () => {
  const paths = ["memory/2025-12-01-salary.md", "memory/sessions/own.md"];
  const { found, read } = await plugged({ visibility: "self", paths });
  assert.deepEqual(await found(GROUP), paths);
  assert.deepEqual(await Promise.all(paths.map((path) => read(path, GROUP))), ["ok", "ok"]);
});

test("a label holds after a note was moved, edited or given frontmatter, and only at the start of a note of memory", async () => {
  const moved = "memory/moved.md";
  await writeFile(join(WORKSPACE, "memory/sessions/2026-02-01-a.md"), label(DIRECT));
  await rename(join(WORKSPACE, "memory/sessions/2026-02-01-a.md"), join(WORKSPACE, moved));
  assert.equal(await sessionOf(WORKSPACE, moved), DIRECT);
  assert.equal(await sessionOf(WORKSPACE, `./memory/../${moved}`), DIRECT);
  assert.equal(await sessionOf(WORKSPACE, join(WORKSPACE, moved)), DIRECT);
  for (const [text, expected] of [
    [`\uFEFF${label(DIRECT)}`, DIRECT],
    [`---\r\ntags: [a]\r\n---\r\n\r\n${label(DIRECT)}`, DIRECT],
    [`---\n---\n${label(DIRECT)}`, DIRECT],
    [`\n\n${label(DIRECT)}appended\n`, DIRECT],
    [label("agent:main:a--b>c é"), "agent:main:a--b>c é"],
    [`# Day\n\nquoted: ${label(DIRECT)}`, undefined],
  ]) {
    await writeFile(join(WORKSPACE, moved), text);
    assert.equal(await sessionOf(WORKSPACE, moved), expected, JSON.stringify(text));
  }
  await writeFile(join(WORKSPACE, "MEMORY.md"), label(DIRECT));
  assert.equal(await sessionOf(WORKSPACE, "MEMORY.md"), undefined);
  assert.equal(await sessionOf(WORKSPACE, "memory/sessions/gone.md"), "");
  assert.equal(await sessionOf(WORKSPACE, "sessions/one.jsonl"), undefined);
});
