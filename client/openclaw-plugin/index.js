/**
 * OpenClaw's memory plugin: it forwards memory requests to the daemon memd.
 */

/** @import { Host, HostConfig, MakeClient, SessionEntries } from "./src/types.js" */

import { Client } from "memd-client";

import { listArtifacts } from "./src/artifacts.js";
import { addCommands, DESCRIPTORS } from "./src/commands.js";
import { Daemon, sentence } from "./src/daemon.js";
import { listen } from "./src/events.js";
import { entryReader, loadMarkdown } from "./src/entries.js";
import { flushPlan } from "./src/flush.js";
import { Outbox } from "./src/outbox.js";
import { citesPlaces, promptSection } from "./src/prompt.js";
import { searchRuntime } from "./src/search-runtime.js";
import { hasMemory, ownSetting, PLUGIN_ID, readSettings } from "./src/settings.js";
import { noteDescriber } from "./src/note-facts.js";
import { makeTool, toolNames } from "./src/tools.js";
import { listSupplements } from "./src/wiki.js";
import { loadProvenance, provenanceReader } from "./src/workspace-memory.js";

const START_MS = 20_000; // starting the daemon takes some seconds; no reply waits for it

/**
 * Return the plugin.
 * @param {MakeClient} makeClient creates a client of the daemon
 * @param {import("./src/types.js").ListSupplements} [supplements] wikis of other plugins
 * @param {typeof loadProvenance} [provenance] loads OpenClaw's records of who wrote memory files
 * @param {typeof loadMarkdown} [markdown] loads OpenClaw's functions that split notes into entries
 */
export function createPlugin(makeClient, supplements = listSupplements, provenance = loadProvenance, markdown = loadMarkdown) {
  return {
    id: PLUGIN_ID,
    name: "memd",
    description: "Memory search, facts and session notes by the memd daemon of this user",
    kind: /** @type {const} */ ("memory"),
    /** @param {Host} api */
    register(api) {
      const settings = readSettings(api.pluginConfig);
      const stateDir = () => api.runtime.state.resolveStateDir(process.env);
      const daemon = new Daemon(settings, api.logger, makeClient, stateDir);
      api.registerCli(({ program }) => addCommands(program, { daemon, settings }), { descriptors: DESCRIPTORS });
      if (api.registrationMode === "cli-metadata" || api.registrationMode === "setup-only") return;
      const config = () => api.runtime.config?.current?.() ?? api.config;
      /** @type {SessionEntries} */
      const entries = (agentId) => api.runtime.agent.session.listSessionEntries({ agentId });
      /** @type {import("./src/types.js").WorkspaceOf} */
      const workspaceOf = (cfg, agent) => api.runtime.agent.resolveAgentWorkspaceDir(cfg, agent);
      const outbox = new Outbox(stateDir(), daemon, api.logger);
      daemon.onReturn = () => void outbox.deliver();
      const readProvenance = provenanceReader(api.logger, provenance);
      const parts = { daemon, outbox, settings, entries, config, workspaceOf, describe: noteDescriber(readProvenance) };
      registerCapability(api, { ...parts, readProvenance, readEntries: entryReader(api.logger, markdown) });
      for (const name of toolNames(settings)) {
        api.registerTool((context) => makeTool(name, context, { ...parts, supplements }), { names: [name] });
      }
      listen(api, parts);
      api.registerService(service(api, parts));
    },
  };
}

/**
 * @param {Host} api
 * @param {{ daemon: Daemon, settings: import("./src/types.js").Settings, entries: SessionEntries,
 *           config: () => HostConfig | undefined, workspaceOf: import("./src/types.js").WorkspaceOf,
 *           describe: import("./src/types.js").DescribeNotes, readProvenance: import("./src/types.js").ProvenanceReader,
 *           readEntries: import("./src/types.js").EntryReader }} parts
 */
function registerCapability(api, parts) {
  api.registerMemoryCapability({
    deterministicRecallToolName: "memory_search",
    supportsPrivateTranscriptRecall: true,
    promptBuilder({ availableTools, citationsMode, agentId, agentSessionKey }) {
      if (!hasMemory(parts.config(), agentId)) return [];
      const citations = ownSetting(parts.config(), agentId, (own) => own.citations) ?? citationsMode;
      const lines = promptSection(availableTools, citesPlaces(citations, agentSessionKey));
      return lines.length === 0 ? [] : [...lines, ""];
    },
    flushPlanResolver: flushPlan,
    runtime: searchRuntime(parts),
    publicArtifacts: {
      listArtifacts: ({ cfg }) => listArtifacts(cfg, (agent) => parts.workspaceOf(cfg, agent)),
    },
  });
}

/**
 * Return the service that connects to the daemon in the background when the gateway starts, sends what an earlier run left, and
 * disconnects when it stops.
 * @param {Host} api
 * @param {{ daemon: Daemon, outbox: Outbox, config: () => HostConfig | undefined }} parts
 */
function service(api, { daemon, outbox, config }) {
  return {
    id: PLUGIN_ID,
    start() {
      if (config()?.plugins?.entries?.["memory-core"]?.enabled !== false) {
        api.logger.warn(
          "memd: OpenClaw's own memory-core still answers `openclaw memory`: turn it off with `openclaw plugins disable memory-core`",
        );
      }
      daemon.ask("status", {}, { deadlineMs: START_MS }).then(
        ({ version }) => api.logger.info(`memd: ${version} keeps the agents' memory`),
        (error) => api.logger.debug?.(`memd: not reached at start: ${sentence(error)}`),
      );
      void outbox.deliver();
    },
    async stop() {
      outbox.close();
      await daemon.close();
    },
  };
}

export default createPlugin((options) => new Client(options));
