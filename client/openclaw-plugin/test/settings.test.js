import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeClient, FakeHost, register } from "./host.js";
import { flushPlan } from "../src/flush.js";
import { hasMemory } from "../src/settings.js";

const own = (config, more = {}) => ({ ...more, plugins: { entries: { memd: { config } } } });

test("whether an agent has memory is its own setting first, and the plugin's config before OpenClaw's", () => {
  const off = { search: { enabled: false } };
  const on = { search: { enabled: true } };
  assert.equal(hasMemory(own(off), "main"), false);
  assert.equal(hasMemory(own(on, { memory: off }), "main"), true);
  assert.equal(hasMemory(own(off, { agents: { entries: { work: { memory: on } } } }), "work"), true);
  const cfg = own({ ...on, agents: { work: off } }, { agents: { entries: { work: { memory: on } } } });
  assert.deepEqual([hasMemory(cfg, "work"), hasMemory(cfg, "main")], [false, true]);
  assert.equal(hasMemory(own({ agents: { work: {} } }), "work"), true);
});

test("the flush follows the plugin's config before OpenClaw's", () => {
  const flush = { prompt: "Keep YYYY-MM-DD", systemPrompt: "Be brief", softThresholdTokens: 5 };
  const cfg = own(
    { userTimezone: "Asia/Tokyo", compaction: { reserveTokensFloor: 7, memoryFlush: flush } },
    {
      agents: {
        defaults: { userTimezone: "UTC", compaction: { memoryFlush: { softThresholdTokens: 6, model: "a/b" } } },
      },
    },
  );
  const plan = flushPlan({ cfg, nowMs: Date.UTC(2026, 10, 22, 23, 30) });
  assert.match(plan.prompt, /^Keep 2026-11-23\n/u);
  assert.match(plan.systemPrompt, /^Be brief\n/u);
  assert.deepEqual([plan.softThresholdTokens, plan.reserveTokensFloor, plan.model], [5, 7, "a/b"]);
  assert.equal(flushPlan({ cfg: own({ compaction: { memoryFlush: { enabled: false } } }) }), null);
});

test("the plugin's config says whether places are cited, of an agent before that of all", async () => {
  const host = new FakeHost();
  await register(host, new FakeClient());
  const section = (config, agentId) => {
    host.config = own(config);
    const asked = { availableTools: new Set(["memory_search"]), citationsMode: "on", agentId, agentSessionKey: "agent:main:main" };
    return host.capability.promptBuilder(asked).join("\n");
  };
  const cited = section({}, "main");
  assert.notEqual(section({ citations: "off" }, "main"), cited);
  assert.equal(section({ citations: "off", agents: { main: { citations: "on" } } }, "main"), cited);
});
