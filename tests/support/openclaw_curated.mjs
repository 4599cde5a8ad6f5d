// OpenClaw's own memory and our plugin, asked the same questions.
//
//     node openclaw_curated.mjs PACKAGE_DIRECTORY PLUGIN_DIRECTORY < questions.json
//
// Reads a JSON array of {"agent", "method", "args"} and writes {"openclaw": [...], "memd": [...]}: what the manager of each
// side answered. State, settings and the daemon's socket are those of the environment.

import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [packageDirectory, pluginDirectory] = process.argv.slice(2);
const load = (...parts) => import(pathToFileURL(join(...parts)).href);
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // what OpenClaw logs

const sdk = (name) => load(packageDirectory, "dist", "plugin-sdk", `${name}.js`);
const { getActiveMemorySearchManager, closeActiveMemorySearchManagers } = await sdk("memory-host-search");
const { getRuntimeConfig } = await sdk("config-runtime");
const cfg = getRuntimeConfig();
const { FakeHost } = await load(pluginDirectory, "test", "host.js");
const { default: plugin } = await load(pluginDirectory, "index.js");
const host = new FakeHost({ pluginConfig: { startDaemon: false }, config: cfg });
host.workspaces = Object.fromEntries(Object.entries(cfg.agents.entries).map(([agent, { workspace }]) => [agent, workspace]));
plugin.register(host);

const lookups = {
  openclaw: (agentId) => getActiveMemorySearchManager({ cfg, agentId, purpose: "default" }),
  memd: (agentId) => host.capability.runtime.getMemorySearchManager({ cfg, agentId }),
};

async function answers(lookUp, questions) {
  const managers = new Map();
  const given = [];
  for (const { agent, method, args } of questions) {
    if (!managers.has(agent)) {
      const { manager, error } = await lookUp(agent);
      if (!manager) throw new Error(error ?? "no memory");
      await manager.sync({ reason: "test", force: true });
      managers.set(agent, manager);
    }
    given.push(await managers.get(agent)[method](...args));
  }
  return given;
}

const questions = JSON.parse(await text(process.stdin));
const given = {};
for (const [side, lookUp] of Object.entries(lookups)) given[side] = await answers(lookUp, questions);
await closeActiveMemorySearchManagers(cfg);
write(JSON.stringify(given), () => process.exit(0));
