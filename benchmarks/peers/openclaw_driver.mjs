// OpenClaw's memory in one long-lived process, through its own plugin SDK.
//
//     node openclaw_driver.mjs PACKAGE_DIRECTORY
//
// Reads lines of JSON objects, {"do": "hello"}, {"do": "index"} or {"do": "search", "query": "...", "limit": 6}, and
// writes a line for each. Only the call is timed. OPENCLAW_STATE_DIR has settings and state.

import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(join(process.argv[2], "dist", "plugin-sdk", `${name}.js`)).href);

// Only replies go to standard output; what OpenClaw logs there goes to standard error.
const reply = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const { getActiveMemorySearchManager, closeActiveMemorySearchManagers } = await load("memory-host-search");
const { getRuntimeConfig } = await load("config-runtime");
const cfg = getRuntimeConfig();
const { manager, error } = await getActiveMemorySearchManager({ cfg, agentId: "main", purpose: "default" });
if (!manager) throw new Error(error ?? "no memory");

async function timed(call) {
  const started = performance.now();
  const value = await call();
  return [value, performance.now() - started];
}

const actions = {
  async hello() {
    return {};
  },
  async index() {
    const [, ms] = await timed(() => manager.sync({ reason: "benchmark", force: true }));
    return { ms, chunks: manager.status().chunks };
  },
  async search({ query, limit }) {
    const [hits, ms] = await timed(() => manager.search(query, { maxResults: limit }));
    return { ms, paths: hits.map((hit) => hit.path) };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = await actions[asked.do](asked);
  } catch (failure) {
    answer = { error: String(failure) };
  }
  reply(`${JSON.stringify(answer)}\n`);
}
await closeActiveMemorySearchManagers(cfg);
process.exit(0);
