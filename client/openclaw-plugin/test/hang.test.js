// The plugin with a real daemon that is stopped and continued: its socket is in MEMD_SOCKET, its process in MEMD_PID, its state
// folder in OPENCLAW_STATE_DIR. Its agent `main` has keyword search alone and the session 4f1c.

import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";

import { Client } from "memd-client";

import { createPlugin } from "../index.js";
import { FakeHost } from "./host.js";

const PID = Number(process.env.MEMD_PID);
const WORKSPACE = join(process.env.OPENCLAW_STATE_DIR, "workspace");
const PROJECT = "github.com/acme/anvil";
const KEY = "agent:main:main";
const WHO = { agentId: "main", sessionKey: KEY, sessionId: "4f1c" };
const USER = { ...WHO, trigger: "user" };

/** Before there was a limit, each request to a daemon that hangs took 2 or 10 seconds. A busy machine needs some of these. */
const FIRST_MS = 2_000;
const LATER_MS = 500;
const TOOL_MS = 6_000;

const LIMIT = { timeout: 60_000 }; // only a test that waits for nothing reaches it

const stateDir = process.env.OPENCLAW_STATE_DIR;
const stop = () => process.kill(PID, "SIGSTOP");
const go = () => process.kill(PID, "SIGCONT");
const talk = (said) => writeFile(join(process.env.OPENCLAW_STATE_DIR, "agents/main/sessions/4f1c.jsonl"),
  `${JSON.stringify({ type: "message", message: { role: "user", content: said } })}\n`);

/** OpenClaw's records of who wrote a file, which take seconds to load outside of a gateway. */
const NO_RECORDS = { readMemoryArtifactProvenance: async () => undefined };

/** A gateway: the plugin on the real client, in a host that lets it do everything. */
function gateway() {
  const config = { plugins: { entries: { memd: { hooks: { allowConversationAccess: true } } } } };
  const pluginConfig = { startDaemon: false, autoRecall: true, autoCapture: true, sessionNotes: true };
  const host = new FakeHost({ pluginConfig, config, stateDir });
  host.workspaces = { main: WORKSPACE };
  createPlugin((options) => new Client(options), undefined, async () => NO_RECORDS).register(host);
  host.services[0].start();
  after(() => host.services[0].stop());
  return host;
}

async function timed(work) {
  const began = performance.now();
  return { value: await work(), tookMs: performance.now() - began };
}

/** What OpenClaw asks of the plugin in a turn, in its order: the notes and facts of the prompt, and how long all took. */
async function turn(host) {
  const { value, tookMs } = await timed(async () => {
    void host.fire("session_start", { sessionId: "4f1c", sessionKey: KEY }, WHO);
    const { manager } = await host.capability.runtime.getMemorySearchManager({ cfg: {}, agentId: "main", purpose: "default" });
    const block = await manager.listCuratedProjectCandidates({ activeProjectKeys: [PROJECT], limit: 48 });
    const search = { maxResults: 24, minScore: 0, sources: ["memory"], lexicalOnly: true };
    const [triggers, hits] = await Promise.all([manager.listTriggerCandidates(), manager.search("editor", search).catch(() => undefined)]);
    const facts = await host.fire("before_prompt_build", { prompt: "Which editor do I use, Helix?", messages: [] }, USER);
    void host.fire("agent_end", { success: true, messages: [{ role: "user", content: "I prefer tea" }] }, USER);
    return { block, triggers, hits, facts };
  });
  assert.deepEqual(value.block.map(({ snippet }) => snippet.trim()), ["- The anvil has a dent"]);
  assert.deepEqual(value.triggers.map(({ snippet }) => snippet.trim()), ["- Ask Grace first"]);
  return { ...value, tookMs };
}

const search = (host) => timed(async () => (await host.tools.get("memory_search")({ ...WHO, config: host.config })
  .execute("id", { query: "anvil dent" })).details);
const noteWith = async (text) => {
  for (;;) {
    for (const name of await readdir(join(WORKSPACE, "memory"), { recursive: true }).catch(() => [])) {
      if (name.endsWith(".md") && (await readFile(join(WORKSPACE, "memory", name), "utf8")).includes(text)) return name;
    }
    await wait(20);
  }
};

before(async () => {
  await mkdir(WORKSPACE, { recursive: true });
  await writeFile(join(WORKSPACE, "MEMORY.md"),
    `- The anvil has a dent <!-- project: ${PROJECT} -->\n- Ask Grace first <!-- trigger: release -->\n`);
  const client = new Client();
  await client.memoryStore({ text: "The user's editor is Helix" });
  await client.close();
});
after(go);

test("turns don't wait for a daemon that hangs, have the whole prompt, and have memory again once it continues", LIMIT, async () => {
  const host = gateway();
  const usual = await turn(host);
  assert.match(usual.facts.prependContext, /Helix/u);
  assert.ok(usual.hits.length > 0);
  stop();
  const first = await turn(host);
  const second = await turn(host);
  const call = await search(host);
  const again = await search(host);
  const later = await turn(host);
  go();
  while ((await turn(host)).facts === undefined) await wait(20);
  const found = await search(host);

  assert.equal(first.facts, undefined);
  assert.ok(first.tookMs < FIRST_MS, `the first turn took ${first.tookMs} ms`);
  for (const { tookMs } of [second, later]) assert.ok(tookMs < LATER_MS, `a later turn took ${tookMs} ms`);
  assert.ok(call.tookMs < TOOL_MS, `the first call took ${call.tookMs} ms`);
  assert.ok(again.tookMs < LATER_MS, `a later call took ${again.tookMs} ms`);
  assert.equal(again.value.code, "deadline_exceeded");
  assert.match(again.value.warning, /the memd daemon hangs: it has not answered for \d+ s/u);
  assert.match(again.value.action, /memctl service restart/u);
  assert.ok(found.value.results.length > 0);
  assert.equal(host.said.filter((line) => /agents have no memory now: the memd daemon hangs/u.test(line)).length, 1);
  assert.equal(host.said.filter((line) => /the daemon replies again/u.test(line)).length, 1);
  console.log(JSON.stringify({ usual: usual.tookMs, first: first.tookMs, second: second.tookMs, call: call.tookMs, again: again.tookMs }));
});

test("the note of a session that ends while the daemon hangs is written when it continues", LIMIT, async () => {
  const host = gateway();
  await turn(host);
  await talk("Tell me about the marmalade tasting");
  stop();
  const { tookMs } = await timed(() => host.fire("session_end", { ...WHO, reason: "new" }, WHO));
  go();

  assert.match(await noteWith("marmalade tasting"), /marmalade/u);
  assert.ok(tookMs < FIRST_MS, `the end of a session took ${tookMs} ms`);
});

test("the note of a session that ends while the daemon hangs outlasts a restart of the gateway", LIMIT, async () => {
  const host = gateway();
  await turn(host);
  await talk("Tell me about the rhubarb harvest");
  stop();
  await host.fire("session_end", { ...WHO, reason: "new" }, WHO);
  await host.services[0].stop();
  go();
  assert.equal((await readdir(join(stateDir, "memd-plugin", "ended-sessions"))).length, 1);
  gateway();

  assert.match(await noteWith("rhubarb harvest"), /rhubarb/u);
});
