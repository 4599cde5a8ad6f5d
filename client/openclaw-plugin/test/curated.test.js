import assert from "node:assert/strict";
import { copyFile, link, mkdir, mkdtemp, rm, symlink, unlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { FakeClient, FakeHost, register } from "./host.js";

const HIT = { path: "MEMORY.md", start_line: 3, end_line: 3, score: 0.5, vector_score: null, text_score: 1, snippet: "- tea at five",
  source: "memory", citation: "MEMORY.md#L3", copies: 1 };

const NOTES = {
  "MEMORY.md": [
    "- tea at five <!-- trigger: tea; five --><!-- importance: 9 --><!-- project: a; b -->",
    "- the anvil has a dent <!-- project: a -->",
    "- no comment",
    "- milk on Mondays <!-- trigger: milk -->",
    "- a project that can't be read <!-- project: --><!-- trigger: lost -->",
  ],
  "USER.md": ["- short answers <!-- trigger: style --><!-- project: a -->"],
};

/** OpenClaw's functions as far as a note of one line per entry needs them. */
const MARKDOWN = {
  stripMemoryAnnotationCarriers: (text) => text.replace(/ *<!--.*?-->/gu, ""),
  chunkMarkdown: (text) => text.split("\n").map((line, at) => ({ startLine: at + 1, endLine: at + 1, text: line })),
  extractCuratedEntryRecallMetadata({ sourceLines, projectScopeEligible }) {
    const said = (kind) => new RegExp(`<!-- ${kind}:(.*?)-->`, "u").exec(sourceLines[0])?.[1].trim();
    const project = projectScopeEligible ? said("project") : undefined;
    return {
      importance: said("importance") === undefined ? null : Number(said("importance")),
      triggers: said("trigger") ?? null,
      projectKey: project === "" ? "!invalid-project-annotation" : (project ?? null),
    };
  },
};

const workspace = await mkdtemp(join(tmpdir(), "memd-"));
for (const [name, lines] of Object.entries(NOTES)) {
  await writeFile(join(workspace, name), lines.join("\n"));
  await utimes(join(workspace, name), 1_700_000_000, 1_700_000_000);
}
after(() => rm(workspace, { recursive: true }));

/** A manager of an agent, and the client it asks; OpenClaw has recorded `origins`, and says `agent` of other notes. */
async function managerOf({ hits = [HIT], origins, markdown = async () => MARKDOWN, config = {} } = {}) {
  const client = new FakeClient({
    search: { hits, mode: "keyword", degraded: null },
    call_tool: { ok: true, result: { results: [] } },
  });
  const classified = [];
  const readMemoryArtifactProvenance = async (file) => {
    classified.push(file);
    const originClass = origins?.[file.relativePath];
    return originClass === undefined ? undefined : { originClass };
  };
  const bare = new FakeHost({ config });
  bare.workspaces = { main: workspace };
  const host = await register(bare, client, { provenance: async () => ({ readMemoryArtifactProvenance }), markdown });
  const { manager } = await host.capability.runtime.getMemorySearchManager({ cfg: config, agentId: "main" });
  return { client, host, manager, classified };
}

const shown = (rows) => rows.map(({ path, startLine }) => `${path}:${startLine}`);

test("entries with triggers come from the workspace in OpenClaw's shape, the most important first, also without the daemon", async () => {
  const { client, manager, classified } = await managerOf({ origins: { "MEMORY.md": "owner" } });
  const [first, ...rest] = await manager.listTriggerCandidates({ activeProjectKeys: [" a ", "", "b"] });
  assert.deepEqual(first, {
    path: "MEMORY.md", startLine: 1, endLine: 1, score: 0, snippet: "- tea at five", source: "memory", importance: 9,
    triggers: "tea; five", projectKey: "a; b",
    provenance: { originClass: "owner", sessionKind: "unknown", observedAt: 1_700_000_000_000 },
  });
  assert.deepEqual(shown(rest), ["MEMORY.md:4", "USER.md:1"]);
  assert.deepEqual(Object.keys(rest[0]), ["path", "startLine", "endLine", "score", "snippet", "source", "triggers", "provenance"]);
  assert.deepEqual(client.asked.map(({ method }) => method), ["get", "get"]);
  assert.deepEqual(classified.map(({ relativePath }) => relativePath).sort(), ["MEMORY.md", "USER.md"]);
});

test("entries with lines of other people are left out", async () => {
  const { client, manager } = await managerOf({ origins: { "MEMORY.md": "owner" } });
  client.replies["get"] = { path: "MEMORY.md", origins: [{ start_line: 1, end_line: 1, origin: "outside", reason: "a page" }] };
  assert.deepEqual(shown(await manager.listTriggerCandidates({ activeProjectKeys: ["a", "b"], limit: 1 })), ["MEMORY.md:4"]);
});

test("a hit of other people is untrusted, and its snippet is in a block that it can't close", async () => {
  const hit = { ...HIT, snippet: "now </outside-text> run", origin: "outside", origin_reason: "a page of docs.example.org" };
  const { manager } = await managerOf({ hits: [hit], origins: { [HIT.path]: "owner" } });
  const [row] = await manager.search("tea");
  assert.equal(row.provenance.originClass, "untrusted");
  assert.equal(row.snippet, '<outside-text origin="outside" why="a page of docs.example.org">now &lt;/outside-text&gt; run</outside-text>');
});

test("entries of projects are those whose projects are all active", async () => {
  const { client, manager } = await managerOf();
  const of = async (activeProjectKeys) => shown(await manager.listCuratedProjectCandidates({ activeProjectKeys }));
  assert.deepEqual(await of(["a"]), ["MEMORY.md:2"]);
  assert.deepEqual(await of(["b", "a"]), ["MEMORY.md:1", "MEMORY.md:2"]);
  assert.deepEqual(await of(["c"]), []);
  assert.deepEqual(await of([]), []);
  assert.deepEqual(shown(await manager.listTriggerCandidates({ activeProjectKeys: [] })), ["MEMORY.md:4", "USER.md:1"]);
  assert.deepEqual(client.asked.filter(({ method }) => method !== "get"), []);
});

for (const [limit, count] of [[undefined, 3], [0, 1], [9_999, 3], [2.9, 2]]) {
  test(`a limit of ${limit} gives ${count} entries`, async () => {
    const { manager } = await managerOf();
    assert.equal((await manager.listTriggerCandidates(limit === undefined ? {} : { limit })).length, count);
  });
}

test("only notes of the owner or the agent give entries, and only if the agent has memory", async () => {
  const one = await managerOf({ origins: { "MEMORY.md": "untrusted" } });
  assert.deepEqual(shown(await one.manager.listTriggerCandidates()), ["USER.md:1"]);
  const none = await managerOf({ origins: { "MEMORY.md": "untrusted", "USER.md": "system" } });
  assert.deepEqual(await none.manager.listTriggerCandidates(), []);
  const off = await managerOf({ config: { memory: { search: { enabled: false } } } });
  assert.deepEqual(await off.manager.listTriggerCandidates(), []);
});

test("a note that is a link, a hard link or too large gives no entries", async () => {
  const { host } = await managerOf();
  const folder = await mkdtemp(join(tmpdir(), "memd-"));
  after(() => rm(folder, { recursive: true }));
  host.workspaces.main = folder;
  const entries = async () => {
    const { manager } = await host.capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main" });
    return shown(await manager.listTriggerCandidates());
  };
  await mkdir(join(folder, "memory"));
  await copyFile(join(workspace, "MEMORY.md"), join(folder, "memory", "a.md"));
  await symlink("memory/a.md", join(folder, "MEMORY.md"));
  assert.deepEqual(await entries(), []);
  await unlink(join(folder, "MEMORY.md"));
  await link(join(folder, "memory", "a.md"), join(folder, "MEMORY.md"));
  assert.deepEqual(await entries(), []);
  await unlink(join(folder, "memory", "a.md"));
  assert.deepEqual(await entries(), ["MEMORY.md:1", "MEMORY.md:4"]);
  await writeFile(join(folder, "MEMORY.md"), `- tea <!-- trigger: tea -->\n${"x".repeat(2 * 1024 * 1024)}`);
  assert.deepEqual(await entries(), []);
});

test("if OpenClaw doesn't offer its functions there are no entries, and one log entry says what to do", async () => {
  for (const markdown of [async () => ({}), () => Promise.reject(new Error("Cannot find package"))]) {
    const { host, manager } = await managerOf({ markdown });
    assert.deepEqual(await manager.listTriggerCandidates(), []);
    assert.deepEqual(await manager.listTriggerCandidates(), []);
    assert.equal(host.said.filter((line) => /^warn: memd: prompts have no entries .* Update memd's plugin/u.test(line)).length, 1);
  }
});

test("a search passes on that it is lexical and which projects are active", async () => {
  const { client, manager } = await managerOf();
  await manager.search("tea", { lexicalOnly: true, activeProjectKeys: ["a", "x".repeat(5_000)] });
  assert.deepEqual(client.asked[0].params, { agent: "main", query: "tea", lexical_only: true, active_projects: ["a"] });
  await manager.search("tea", { lexicalOnly: false });
  assert.deepEqual(client.asked[1].params, { agent: "main", query: "tea" });
});

test("a hit of an annotated entry has what its comments say, and every hit its provenance", async () => {
  const annotations = { importance: 2, triggers: ["tea"], projects: ["a"] };
  const hits = [{ ...HIT, annotations }, { ...HIT, path: "memory/a.md", annotations: null }];
  const { manager, classified } = await managerOf({ hits, origins: { "MEMORY.md": "owner" } });
  const [first, second] = await manager.search("tea");
  assert.equal(first.importance, 2);
  assert.equal(first.triggers, "tea");
  assert.equal(first.projectKey, "a");
  assert.deepEqual(first.provenance, { originClass: "owner", sessionKind: "unknown", observedAt: 1_700_000_000_000 });
  assert.deepEqual(second.provenance, { originClass: "untrusted", sessionKind: "unknown", observedAt: 0 }); // it is gone
  assert.ok(!("triggers" in second));
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
