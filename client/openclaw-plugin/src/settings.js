/**
 * The plugin's own settings, and OpenClaw's settings of an agent. Pure.
 */

/** @import { HostConfig, OwnSettings, Settings } from "./types.js" */

/** @type {Settings} */
const DEFAULTS = Object.freeze({
  socketPath: undefined,
  startDaemon: true,
  daemonCommand: undefined,
  toolDeadlineMs: 10_000,
  hookDeadlineMs: 1_000,
  factTools: false,
  autoRecall: false,
  autoCapture: false,
  sessionNotes: false,
});

export const PLUGIN_ID = "memd";

/**
 * Return the settings with their defaults; the manifest's schema has checked them.
 * @param {Partial<Settings> | undefined} given
 * @returns {Settings}
 */
export function readSettings(given) {
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(set) };
}

/**
 * Whether OpenClaw lets this plugin see conversations, which some hooks need.
 * @param {HostConfig | undefined} cfg
 */
export function hasConversationAccess(cfg) {
  return cfg?.plugins?.entries?.[PLUGIN_ID]?.hooks?.allowConversationAccess === true;
}

/**
 * Return a memory setting of the plugin's config: an agent's own, else that of all agents.
 * @template T
 * @param {HostConfig | undefined} cfg
 * @param {string | undefined} agent
 * @param {(own: OwnSettings) => T | undefined} pick
 * @returns {T | undefined}
 */
export function ownSetting(cfg, agent, pick) {
  const own = cfg?.plugins?.entries?.[PLUGIN_ID]?.config ?? {};
  const one = agent === undefined ? undefined : own.agents?.[agent];
  return (one === undefined ? undefined : pick(one)) ?? pick(own);
}

/**
 * Whether an agent has memory: its own settings count before those of all agents, the plugin's config before OpenClaw's. The
 * daemon applies `memd.toml`.
 * @param {HostConfig | undefined} cfg
 * @param {string | undefined} agent
 */
export function hasMemory(cfg, agent) {
  const entry = agent === undefined ? undefined : agentEntry(cfg, agent);
  const own = cfg?.plugins?.entries?.[PLUGIN_ID]?.config;
  const said = [
    agent === undefined ? undefined : own?.agents?.[agent]?.search?.enabled,
    entry?.memory?.search?.enabled,
    entry?.memorySearch?.enabled,
    own?.search?.enabled,
    cfg?.memory?.search?.enabled,
    cfg?.agents?.defaults?.memorySearch?.enabled,
  ];
  return said.find((value) => typeof value === "boolean") ?? true;
}

/**
 * Return the ids of the named agents; `main` if there are none.
 * @param {HostConfig | undefined} cfg
 * @returns {string[]}
 */
export function agentIds(cfg) {
  const listed = (cfg?.agents?.list ?? []).map((entry) => entry.id ?? "");
  const named = [...Object.keys(cfg?.agents?.entries ?? {}), ...listed].filter((id) => id !== "");
  return named.length === 0 ? ["main"] : [...new Set(named)];
}

/**
 * Whether OpenClaw's own hook writes a note of each session that ends.
 * @param {HostConfig | undefined} cfg
 */
export function hostWritesNotes(cfg) {
  const hooks = cfg?.hooks?.internal;
  return hooks?.enabled !== false && hooks?.entries?.["session-memory"]?.enabled === true;
}

/**
 * @param {HostConfig | undefined} cfg
 * @param {string} agent
 */
function agentEntry(cfg, agent) {
  return cfg?.agents?.entries?.[agent] ?? cfg?.agents?.list?.find((entry) => entry.id === agent);
}
