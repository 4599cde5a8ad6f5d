import assert from "node:assert/strict";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { FakeClient, FakeHost, register } from "./host.js";

const ENTRY = { path: "MEMORY.md", start_line: 3, end_line: 4, text: "- tea at five", importance: 9, triggers: ["tea", "five"],
  projects: ["a", "b"], mtime_ms: 1_700_000_000_123 };
const HIT = { path: "MEMORY.md", start_line: 3, end_line: 3, score: 0.5, vector_score: null, text_score: 1, snippet: "- tea at five",
  source: "memory", citation: "MEMORY.md#L3", copies: 1 };

const workspace = await mkdtemp(join(tmpdir(), "memd-"));
await writeFile(join(workspace, "MEMORY.md"), "");
await writeFile(join(workspace, "USER.md"), "");
await utimes(join(workspace, "MEMORY.md"), 1_700_000_000, 1_700_000_000);
after(() => rm(workspace, { recursive: true }));

/** A manager of an agent, and the client it asks; OpenClaw has recorded `origins`, and says `agent` of other notes. */
async function managerOf({ entries = [ENTRY], hits = [HIT], origins } = {}) {
  const client = new FakeClient({
    status: { agents: [{ agent: "main", workspace }] },
    curated_entries: { agent: "main", entries },
    search: { hits, mode: "keyword", degraded: null },
    call_tool: { ok: true, result: { results: [] } },
  });
  const classified = [];
  const readMemoryArtifactProvenance = async (file) => {
    classified.push(file);
    const originClass = origins?.[file.relativePath];
    return originClass === undefined ? undefined : { originClass };
  };
  const host = await register(new FakeHost(), client, { provenance: async () => ({ readMemoryArtifactProvenance }) });
  const { manager } = await host.capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main" });
  client.asked.length = 0;
  return { client, host, manager, classified };
}

test("triggers are asked for with OpenClaw's limits and come in its shape", async () => {
  const { client, manager, classified } = await managerOf({ origins: { "MEMORY.md": "owner" } });
  const rows = await manager.listTriggerCandidates({ activeProjectKeys: [" a ", "", "b"] });
  assert.deepEqual(rows, [{
    path: "MEMORY.md", startLine: 3, endLine: 4, score: 0, snippet: "- tea at five", source: "memory", importance: 9,
    triggers: "tea; five", projectKey: "a; b",
    provenance: { originClass: "owner", sessionKind: "unknown", observedAt: 1_700_000_000_123 },
  }]);
  const [{ method, params, options }] = client.asked;
  assert.equal(method, "curated_entries");
  assert.deepEqual(params, { agent: "main", kind: "triggers", limit: 512, paths: ["MEMORY.md", "USER.md"], active_projects: ["a", "b"] });
  assert.equal(options.timeoutMs, 2_000);
  assert.deepEqual(classified.map(({ relativePath }) => relativePath).sort(), ["MEMORY.md", "USER.md"]);
});

test("an entry without annotations of a kind has no fields for them", async () => {
  const { manager } = await managerOf({ entries: [{ ...ENTRY, importance: null, triggers: [], projects: [] }] });
  const [row] = await manager.listTriggerCandidates();
  assert.deepEqual(Object.keys(row), ["path", "startLine", "endLine", "score", "snippet", "source", "provenance"]);
});

for (const [kind, method, limit, asked] of [
  ["triggers", "listTriggerCandidates", undefined, 512],
  ["triggers", "listTriggerCandidates", 0, 1],
  ["triggers", "listTriggerCandidates", 9_999, 512],
  ["projects", "listCuratedProjectCandidates", undefined, 48],
  ["projects", "listCuratedProjectCandidates", 7.9, 7],
]) {
  test(`a limit of ${limit} for ${kind} asks for ${asked}`, async () => {
    const { client, manager } = await managerOf();
    await manager[method]({ ...(limit === undefined ? {} : { limit }), activeProjectKeys: ["a"] });
    assert.equal(client.asked[0].params.kind, kind);
    assert.equal(client.asked[0].params.limit, asked);
  });
}

test("no active project means no project entries, and the daemon is not asked", async () => {
  const { client, manager } = await managerOf();
  assert.deepEqual(await manager.listCuratedProjectCandidates({ activeProjectKeys: [] }), []);
  assert.equal(client.asked.length, 0);
});

test("only notes of the owner or the agent are asked for", async () => {
  const one = await managerOf({ origins: { "MEMORY.md": "untrusted" } });
  await one.manager.listTriggerCandidates();
  assert.deepEqual(one.client.asked[0].params.paths, ["USER.md"]);
  const none = await managerOf({ origins: { "MEMORY.md": "untrusted", "USER.md": "system" } });
  assert.deepEqual(await none.manager.listTriggerCandidates(), []);
  assert.equal(none.client.asked.length, 0);
});

test("a search passes on that it is lexical and which projects are active", async () => {
  const { client, manager } = await managerOf();
  await manager.search("tea", { lexicalOnly: true, activeProjectKeys: ["a", "x".repeat(5_000)] });
  assert.deepEqual(client.asked[0].params, { agent: "main", query: "tea", lexical_only: true, active_projects: ["a"] });
  await manager.search("tea", { lexicalOnly: false });
  assert.deepEqual(client.asked[1].params, { agent: "main", query: "tea" });
});

test("a hit of an annotated entry has what its comments say and its provenance; another hit has neither", async () => {
  const annotations = { importance: 2, triggers: ["tea"], projects: ["a"] };
  const hits = [{ ...HIT, annotations }, { ...HIT, path: "memory/a.md", annotations: null }];
  const { manager, classified } = await managerOf({ hits, origins: { "MEMORY.md": "owner" } });
  const [first, second] = await manager.search("tea");
  assert.equal(first.importance, 2);
  assert.equal(first.triggers, "tea");
  assert.equal(first.projectKey, "a");
  assert.deepEqual(first.provenance, { originClass: "owner", sessionKind: "unknown", observedAt: 1_700_000_000_000 });
  assert.ok(!("provenance" in second) && !("triggers" in second));
  assert.deepEqual(classified, [{ workspaceDir: workspace, relativePath: "MEMORY.md" }]);
});

test("the search tool passes on the active projects of its context; the other tools do not", async () => {
  const { client, host } = await managerOf();
  const context = { agentId: "main", sessionKey: "agent:main:main", activeProjectKeys: ["a"] };
  await host.tools.get("memory_search")(context).execute("call", { query: "tea" });
  assert.deepEqual(client.asked[0].params.active_projects, ["a"]);
  await host.tools.get("memory_get")(context).execute("call", { path: "MEMORY.md" });
  assert.ok(!("active_projects" in client.asked[1].params));
});
