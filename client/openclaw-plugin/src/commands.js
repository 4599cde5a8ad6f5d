/**
 * `openclaw memory`, also called `openclaw memd`: how memory stands, and a search, from OpenClaw's own command line.
 * `memctl` does the rest.
 */

/** @import { Command, Settings } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { sentence } from "./daemon.js";

const DESCRIPTION = "The memory of OpenClaw's agents in memd: status and search";

/** What OpenClaw shows of the command before it loads the plugin. */
export const DESCRIPTORS = ["memory", "memd"].map((name) => ({ name, description: DESCRIPTION, hasSubcommands: true }));

/**
 * Add the commands to OpenClaw's.
 * @param {Command} program
 * @param {{ daemon: Daemon, settings: Settings, write?: (text: string) => void }} parts
 */
export function addCommands(program, { daemon, settings, write = (text) => void process.stdout.write(text) }) {
  for (const { name } of DESCRIPTORS) addGroup(program.command(name).description(DESCRIPTION), { daemon, settings, write });
}

/**
 * @param {Command} group
 * @param {{ daemon: Daemon, settings: Settings, write: (text: string) => void }} parts
 */
function addGroup(group, { daemon, settings, write }) {
  const ask = (/** @type {string} */ method, /** @type {Record<string, unknown>} */ params) =>
    daemon.ask(method, params, { deadlineMs: settings.toolDeadlineMs });
  const run = async (/** @type {() => Promise<void>} */ action) => {
    try {
      await action();
    } catch (error) {
      write(`memd: ${sentence(error)}\n`);
      process.exitCode = 1;
    } finally {
      await daemon.close();
    }
  };
  group
    .command("status")
    .description("Whether the daemon answers, and what it holds of each agent")
    .option("--agent <id>", "one agent")
    .option("--json", "the daemon's reply as it is")
    .action((/** @type {{ agent?: string, json?: boolean }} */ { agent, json }) =>
      run(async () => {
        const reply = await ask("status", agent === undefined ? {} : { agent });
        write(json ? `${JSON.stringify(reply, null, 2)}\n` : statusLines(reply));
      }),
    );
  group
    .command("search <query>")
    .description("Search an agent's memory")
    .option("--agent <id>", "the agent; else the default one")
    .option("--max-results <n>", "how many at most", Number)
    .option("--json", "the daemon's reply as it is")
    .action((/** @type {string} */ query, /** @type {{ agent?: string, maxResults?: number, json?: boolean }} */ options) =>
      run(async () => {
        const { agent, maxResults, json } = options;
        const asked = { ...(agent ? { agent } : {}), ...(maxResults ? { max_results: maxResults } : {}) };
        const reply = await ask("search", { query, ...asked });
        write(json ? `${JSON.stringify(reply, null, 2)}\n` : hitLines(reply));
      }),
    );
}

/** @param {Record<string, any>} reply */
function statusLines(reply) {
  const lines = [`memd ${reply.version} answers at ${reply.socket}`];
  for (const agent of reply.agents) {
    const pending = agent.files_pending + agent.chunks_pending;
    const state = !agent.enabled ? "off" : pending === 0 ? "up to date" : `${pending} pending`;
    const meaning = agent.provider === "none" ? "words alone" : `${agent.provider} ${agent.model}`;
    lines.push(`${agent.agent}: ${state}, ${agent.files} files, ${agent.chunks} chunks, searched by ${meaning}`);
    if (agent.degraded) lines.push(`  ${agent.degraded.reason}`);
  }
  for (const { message, hint } of reply.problems) lines.push(`problem: ${message} (${hint})`);
  return `${lines.join("\n")}\n`;
}

/** @param {Record<string, any>} reply */
function hitLines(reply) {
  if (reply.hits.length === 0) return "Nothing found.\n";
  return reply.hits.map((/** @type {any} */ hit) => `${hit.citation}  ${hit.score.toFixed(3)}\n${hit.snippet}\n\n`).join("");
}
