// OpenClaw's own memory and our plugin, asked the same questions.
//
//     node openclaw_curated.mjs PACKAGE_DIRECTORY PLUGIN_DIRECTORY < questions.json
//
// Reads a JSON array of {"agent", "method", "args"} and writes {"openclaw": [...], "memd": [...]}: what the manager of each
// side answered, or if the method is a tool, what its call returned. State, settings and the daemon's socket are those of
// the environment.

import { readdir, readFile } from "node:fs/promises";
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
const host = new FakeHost({ pluginConfig: { startDaemon: false }, config: cfg, stateDir: process.env.OPENCLAW_STATE_DIR });
host.workspaces = Object.fromEntries(Object.entries(cfg.agents.entries).map(([agent, { workspace }]) => [agent, workspace]));
plugin.register(host);

/** OpenClaw's own functions that make its tools, by the tools' names. */
async function ownTools() {
  const dist = join(packageDirectory, "dist");
  for (const file of (await readdir(dist)).filter((name) => /^tools-[\w-]+\.mjs$/.test(name))) {
    if (!(await readFile(join(dist, file), "utf8")).includes("function createMemorySearchTool(")) continue;
    const members = Object.values(await load(dist, file)).filter((member) => typeof member === "function");
    const find = (name) => members.find((member) => member.name === name);
    return { memory_search: find("createMemorySearchTool"), memory_get: find("createMemoryGetTool") };
  }
  throw new Error("OpenClaw's memory tools are not found");
}

const own = await ownTools();
const sides = {
  openclaw: {
    lookUp: (agentId) => getActiveMemorySearchManager({ cfg, agentId, purpose: "default" }),
    toolOf: (name, agentId) => own[name]({ config: cfg, agentId, agentSessionKey: `agent:${agentId}:main` }),
  },
  memd: {
    lookUp: (agentId) => host.capability.runtime.getMemorySearchManager({ cfg, agentId }),
    toolOf: (name, agentId) => host.tools.get(name)({ config: cfg, agentId, sessionKey: `agent:${agentId}:main` }),
  },
};

async function answers({ lookUp, toolOf }, questions) {
  const managers = new Map();
  const given = [];
  for (const { agent, method, args } of questions) {
    if (!managers.has(agent)) {
      const { manager, error } = await lookUp(agent);
      if (!manager) throw new Error(error ?? "no memory");
      await manager.sync({ reason: "test", force: true });
      managers.set(agent, manager);
    }
    const refused = ({ message }) => ({ details: { status: "error", error: message } }); // by the tool's own check of arguments
    const call = () => toolOf(method, agent).execute("call", ...args).catch(refused);
    given.push(await (method in own ? call() : managers.get(agent)[method](...args)));
  }
  return given;
}

const questions = JSON.parse(await text(process.stdin));
const given = {};
for (const [name, side] of Object.entries(sides)) given[name] = await answers(side, questions);
await closeActiveMemorySearchManagers(cfg);
write(JSON.stringify(given), () => process.exit(0));
