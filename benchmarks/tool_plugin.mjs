// One gateway with memd's OpenClaw plugin in it: a query a line comes in, the tool's result goes out. It is run in
// the plugin's folder; the host is the one the plugin's own tests have.
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const load = (path) => import(pathToFileURL(join(process.cwd(), path)).href);
const { default: plugin } = await load("index.js");
const { FakeHost } = await load("test/host.js");

const host = new FakeHost({ pluginConfig: { toolDeadlineMs: 30_000 } });
plugin.register(host);
const tool = host.tools.get("memory_search")({ agentId: process.argv[2], sessionKey: `agent:${process.argv[2]}:main` });
process.stdout.write("{}\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { details } = await tool.execute("call", { query: JSON.parse(line) });
  process.stdout.write(`${JSON.stringify({ results: details.results?.length ?? 0, error: details.error ?? "" })}\n`);
}
process.exit(0);
