import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FakeClient, FakeHost, failure, register } from "./host.js";
import { flushPlan } from "../src/flush.js";
import { listArtifacts } from "../src/artifacts.js";
import { addCommands } from "../src/commands.js";
import { Daemon } from "../src/daemon.js";
import { readSettings } from "../src/settings.js";

const NOON = Date.UTC(2026, 10, 22, 23, 30);
const withFlush = (memoryFlush, more = {}) => ({ agents: { defaults: { compaction: { memoryFlush }, ...more } } });

test("the flush prompts contain the user's day, the note to append to, and the silent reply", () => {
  const plan = flushPlan({ cfg: withFlush({}, { userTimezone: "Europe/Prague" }), nowMs: NOON });
  assert.equal(plan.relativePath, "memory/2026-11-23.md");
  for (const prompt of [plan.prompt, plan.systemPrompt]) {
    assert.match(prompt, /`memory\/2026-11-23\.md` only/u);
    assert.match(prompt, /NO_REPLY/u);
  }
  assert.match(plan.prompt, /Current time: 2026-11-23 00:30 \(Europe\/Prague, UTC\+01:00\)/u);
  assert.equal(plan.forceFlushTranscriptBytes, 2_097_152);
});

test("the settings change the flush, and turn it off", () => {
  const flush = { softThresholdTokens: 5, forceFlushTranscriptBytes: "1mb", prompt: "Keep YYYY-MM-DD", model: "a/b" };
  const plan = flushPlan({ cfg: withFlush(flush, { userTimezone: "UTC" }), nowMs: NOON });
  assert.equal(plan.softThresholdTokens, 5);
  assert.equal(plan.forceFlushTranscriptBytes, 1_048_576);
  assert.equal(plan.model, "a/b");
  assert.match(plan.prompt, /^Keep 2026-11-22\n\nWrite to `memory/u);
  assert.equal(flushPlan({ cfg: withFlush({ enabled: false }) }), null);
});

test("the thresholds fit a small context", () => {
  const plan = flushPlan({ cfg: {}, contextWindowTokens: 16_000 });
  assert.ok(plan.reserveTokensFloor + plan.softThresholdTokens < 16_000);
  assert.equal(flushPlan({ cfg: {}, contextWindowTokens: 200_000 }).reserveTokensFloor, 20_000);
});

test("the Markdown of each workspace is public, with the agents it belongs to; links and other files aren't", async (t) => {
  const workspace = await mkdtemp(join(tmpdir(), "memd-artifacts-"));
  t.after(() => rm(workspace, { recursive: true, force: true }));
  await mkdir(join(workspace, "memory", "topics"), { recursive: true });
  await mkdir(join(workspace, "memory", "dreaming"), { recursive: true });
  await mkdir(join(workspace, "users", "ada"), { recursive: true });
  const paths = ["MEMORY.md", "USER.md", "SOUL.md", "users/ada/USER.md", "memory/2026-01-16.md", "memory/topics/a.md", "memory/b.txt",
    "memory/dreaming/2026-01-16.md"];
  for (const path of paths) {
    await writeFile(join(workspace, path), "x");
  }
  await symlink("/etc/hostname", join(workspace, "memory", "link.md"));
  const cfg = { agents: { entries: { main: {}, work: {}, quiet: { memory: { search: { enabled: false } } } } } };
  const found = await listArtifacts(cfg, () => workspace);
  assert.deepEqual(found.map(({ kind, relativePath }) => [kind, relativePath]), [
    ["memory-root", "MEMORY.md"],
    ["daily-note", "memory/2026-01-16.md"],
    ["dream-report", "memory/dreaming/2026-01-16.md"],
    ["daily-note", "memory/topics/a.md"],
  ]);
  assert.deepEqual(found[0].agentIds, ["main", "work"]);
});

test("without a daemon the search runtime returns the reason if OpenClaw shows its state", async () => {
  const client = new FakeClient({ status: failure("daemon_unreachable", "no daemon", "start memd") });
  const { capability } = await register(new FakeHost(), client);
  for (const purpose of ["status", "cli"]) {
    const { manager, error } = await capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main", purpose });
    assert.equal(manager, null);
    assert.equal(error, "memd: no daemon (start memd)");
  }
});

test("a turn gets its manager without the daemon", async () => {
  const client = new FakeClient({ status: () => new Promise(() => {}) });
  const { capability } = await register(new FakeHost(), client);
  for (const purpose of ["default", undefined]) {
    const { manager } = await capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main", purpose });
    assert.equal(manager.status().workspaceDir, "/nowhere");
  }
  assert.deepEqual(client.asked, []);
});

test("a stopped service disconnects from the daemon, and reconnects when needed", async () => {
  const client = new FakeClient({ status: { version: "1", agents: [{ agent: "main" }] } });
  const host = await register(new FakeHost(), client);
  host.services[0].start();
  await host.services[0].stop();
  assert.equal(client.closed, 1);
  assert.ok((await host.capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main" })).manager);
});

/** Commander as far as the plugin uses it: actions by their words. */
class Program {
  constructor(actions, words = []) {
    this.actions = actions;
    this.words = words;
  }

  command(name) {
    return new Program(this.actions, [...this.words, name.split(" ")[0]]);
  }

  description() {
    return this;
  }

  option() {
    return this;
  }

  action(handler) {
    this.actions.set(this.words.join(" "), handler);
    return this;
  }
}

async function command(words, given, client, said) {
  const actions = new Map();
  const written = [];
  const log = { info() {}, warn() {} };
  const settings = readSettings({});
  const daemon = new Daemon(settings, log, () => client, () => "/home/eva/.openclaw");
  const write = (text) => written.push(text);
  addCommands(new Program(actions), { daemon, settings, write, complain: write, confirm: async () => said });
  await actions.get(words)(...given);
  return written.join("");
}

test("the commands show the state of memory and hits, and close their connection", async () => {
  const agent = { agent: "main", enabled: true, files_pending: 1, chunks_pending: 2, files: 3, chunks: 4, provider: "none" };
  const degraded = { ...agent, agent: "work", provider: "openai", model: "m", degraded: { reason: "no key" } };
  const status = { version: "1", socket: "/s", agents: [agent, degraded], problems: [{ message: "bad", hint: "mend it" }] };
  const client = new FakeClient({ status, search: { hits: [{ citation: "a.md#L1", date: "2026-02-01", score: 0.5, relevance: "strong", snippet: "port 8443" }] } });
  assert.equal(
    await command("memory status", [{}], client),
    "memd 1 answers at /s\nmain: 3 pending, 3 files, 4 chunks, keyword search only\n" +
      "work: 3 pending, 3 files, 4 chunks, vectors of openai m\n  no key\nproblem: bad (mend it)\n",
  );
  assert.equal(await command("memd search", ["port", { agent: "work" }], client), "a.md#L1  2026-02-01  strong 0.50\nport 8443\n\n");
  assert.deepEqual(client.asked[1].params, { query: "port", agent: "work", limit_weak: true });
  assert.equal(client.closed, 2);
});

test("a command that can't reach the daemon says why, and fails", async () => {
  const client = new FakeClient({ status: failure("daemon_unreachable", "no daemon", "start memd") });
  assert.equal(await command("memory status", [{}], client), "memd: no daemon (start memd)\n");
  assert.equal(process.exitCode, 1);
  process.exitCode = 0;
});

const INDEXED = { agent: "main", files: 3, chunks: 4, files_changed: 1, files_removed: 0, embedded: 2, degraded: null, error: null };
const BROKEN = { ...INDEXED, agent: "work", error: { code: "index_unwritable", message: "disk full", hint: "free some space" } };

/** Run what may end OpenClaw with a code, and return the code. */
async function endedWith(run) {
  process.exitCode = 0;
  const written = await run();
  const code = process.exitCode;
  process.exitCode = 0;
  return [written, code];
}

test("index prints a result per agent, and fails if one failed", async () => {
  const client = new FakeClient({ index: { agents: [INDEXED, BROKEN] } });
  const [written, code] = await endedWith(() => command("memory index", [{ force: true }], client));
  assert.equal(written, "main: 3 files, 4 chunks; 1 changed, 0 removed, 2 embedded\nmemd: work: disk full (free some space)\n");
  assert.equal(code, 1);
  assert.deepEqual(client.asked[0].params, { force: true });
  assert.ok(client.asked[0].options.timeoutMs > 600_000);
  const json = await endedWith(() => command("memory index", [{ agent: "main", json: true }], new FakeClient({ index: { agents: [INDEXED] } })));
  assert.deepEqual([JSON.parse(json[0]), json[1]], [{ agents: [INDEXED] }, 0]);
});

test("index with --verbose shows providers and sources first", async () => {
  const agent = { agent: "main", provider: "local", model: "m", sources: ["memory"], workspace: "/w" };
  const client = new FakeClient({ status: { agents: [agent] }, index: { agents: [INDEXED] } });
  assert.match(await command("memory index", [{ verbose: true }], client), /^main: provider local m, sources memory, workspace \/w\nmain: 3 files/u);
});

test("reset asks first, and without a terminal wants --yes", async () => {
  const client = new FakeClient({ reset: { agents: [INDEXED] } });
  const [refused, code] = await endedWith(() => command("memory reset", [{}], client, undefined));
  assert.match(refused, /--yes/u);
  assert.equal(code, 1);
  assert.equal(await command("memory reset", [{}], client, false), "Nothing was reset.\n");
  assert.equal(client.asked.length, 0);
  assert.match(await command("memory reset", [{ agent: "main" }], client, true), /^main: 3 files/u);
  await command("memory reset", [{ yes: true, vectors: true }], client);
  assert.deepEqual(client.asked.map(({ params }) => params), [{ agent: "main", delete_vectors: false }, { delete_vectors: true }]);
});

test("a deep status probes, and with --index it indexes first", async () => {
  const agent = { agent: "main", enabled: true, files_pending: 0, chunks_pending: 0, files: 3, chunks: 4, provider: "none",
    checks: [{ name: "embeddings", ok: false, detail: "no vector within 5 s" }] };
  const client = new FakeClient({ status: { version: "1", socket: "/s", agents: [agent], problems: [] }, index: { agents: [INDEXED] } });
  assert.match(await command("memory status", [{ deep: true }], client), /\n {2}embeddings: FAILED, no vector within 5 s\n$/u);
  await command("memory status", [{ index: true, agent: "main" }], client);
  assert.deepEqual(client.asked.map(({ method, params }) => [method, params]), [
    ["status", { deep: true }],
    ["index", { agent: "main" }],
    ["status", { agent: "main", deep: true }],
  ]);
});

test("a search takes its query either way, and refuses what can't be one", async () => {
  const client = new FakeClient({ search: { hits: [] } });
  assert.equal(await command("memory search", [undefined, { query: "port", minScore: 0.2, maxResults: 3 }], client), "No relevant results.\n");
  assert.deepEqual(client.asked[0].params, { query: "port", max_results: 3, min_score: 0.2, limit_weak: true });
  for (const given of [[undefined, {}], ["port", { maxResults: 0 }], ["port", { minScore: NaN }]]) {
    assert.equal((await endedWith(() => command("memory search", given, client)))[1], 1);
  }
  assert.equal(client.asked.length, 1);
});

test("weak and superseded hits of a search are marked", async () => {
  const hit = { citation: "MEMORY.md#L3", date: "2026-02-01", score: 0.5, heading: "", snippet: "text", relevance: "strong", superseded_by: null };
  const marked = { ...hit, relevance: "weak", superseded_by: { citation: "memory/b.md#L4", date: "2026-02-01" } };
  assert.equal(
    await command("memory search", ["port", {}], new FakeClient({ search: { hits: [hit, marked] } })),
    "MEMORY.md#L3  2026-02-01  strong 0.50\ntext\n\nMEMORY.md#L3  2026-02-01  weak 0.50\nsuperseded by memory/b.md#L4 (2026-02-01)\ntext\n\n",
  );
});

test("an error in JSON is JSON", async () => {
  const client = new FakeClient({ status: failure("daemon_unreachable", "no daemon", "start memd") });
  const [written, code] = await endedWith(() => command("memory status", [{ json: true }], client));
  assert.deepEqual(JSON.parse(written), {
    ok: false, error: { type: "cli_error", code: "daemon_unreachable", message: "no daemon", hint: "start memd" },
  });
  assert.equal(code, 1);
});

test("the settings reach the client", async () => {
  const made = [];
  const settings = readSettings({ socketPath: "/s", startDaemon: false, daemonCommand: ["/opt/memd"], toolDeadlineMs: 500 });
  const make = (options) => made.push(options) && new FakeClient();
  const daemon = new Daemon(settings, { info() {}, warn() {} }, make, () => "/home/eva/.openclaw-work");
  await daemon.ask("status", {}, { deadlineMs: 5 });
  assert.deepEqual(made, [
    {
      socketPath: "/s",
      stateDir: "/home/eva/.openclaw-work",
      autostart: false,
      daemonCommand: ["/opt/memd"],
      timeoutMs: 500,
      clientName: "openclaw-plugin",
    },
  ]);
});

test("the client is made for the state folder of OpenClaw", async () => {
  const made = [];
  const { createPlugin } = await import("../index.js");
  const host = new FakeHost({ stateDir: "/home/eva/.openclaw-work" });
  createPlugin((options) => made.push(options) && new FakeClient(), async () => []).register(host);
  host.services[0].start();
  assert.deepEqual(made.map((options) => options.stateDir), ["/home/eva/.openclaw-work"]);
});
