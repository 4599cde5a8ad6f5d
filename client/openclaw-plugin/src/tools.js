/**
 * The tools an agent is given. The daemon carries a call out and says what was wrong with one; what comes back here is put into
 * OpenClaw's shape, and hits of transcripts that the session may not see are left out.
 */

/** @import { HostConfig, SessionEntries, Settings, Tool, ToolContext, ToolDefinition, ToolResult } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { activeProjects } from "./curated.js";
import { DEFINITIONS, USUAL } from "./definitions.js";
import { factsFailed, readFailed, searchUnavailable, toolResult } from "./results.js";
import { agentOf } from "./sessions.js";
import { hasMemory } from "./settings.js";
import { visibleHits } from "./visibility.js";

/**
 * Return the names of the tools these settings give.
 * @param {Settings} settings
 */
export function toolNames(settings) {
  return DEFINITIONS.map(({ name }) => name).filter((name) => settings.factTools || USUAL.has(name));
}

/**
 * Return one tool for one agent's run; null where the agent has no memory.
 * @param {string} name
 * @param {ToolContext} context
 * @param {{ daemon: Daemon, settings: Settings, entries: SessionEntries }} parts
 * @returns {Tool | null}
 */
export function makeTool(name, context, { daemon, settings, entries }) {
  const config = () => context.getRuntimeConfig?.() ?? context.runtimeConfig ?? context.config;
  const agent = context.agentId ?? agentOf(context.sessionKey);
  const definition = /** @type {ToolDefinition} */ (DEFINITIONS.find((one) => one.name === name));
  if (!hasMemory(config(), agent)) return null;
  return {
    ...definition,
    async execute(_callId, given, signal) {
      const params = {
        name,
        arguments: given ?? {},
        ...(agent === undefined ? {} : { agent }),
        session_key: context.sessionKey ?? "",
        ...(name === "memory_search" ? activeProjects(context.activeProjectKeys) : {}),
      };
      try {
        const reply = await daemon.ask("call_tool", params, { deadlineMs: settings.toolDeadlineMs, signal });
        if (reply.ok !== true) return toolResult({ status: "error", ...reply.result });
        return toolResult(answer(name, reply.result, { context, cfg: config(), agent, entries }));
      } catch (error) {
        signal?.throwIfAborted();
        return toolResult(failed(name, given, error));
      }
    },
  };
}

/**
 * Return what a tool answers, in OpenClaw's shape.
 * @param {string} name
 * @param {Record<string, any>} result as the daemon gave it
 * @param {{ context: ToolContext, cfg: HostConfig | undefined, agent: string | undefined, entries: SessionEntries }} asked
 * @returns {Record<string, unknown>}
 */
function answer(name, result, asked) {
  if (name === "memory_search") return found(result, asked);
  if (name !== "memory_get") return result;
  const { next_from: nextFrom, total_lines: totalLines, ...rest } = result;
  return { status: "ok", ...rest, ...(nextFrom === undefined ? {} : { nextFrom }), totalLines };
}

/**
 * @param {Record<string, any>} result
 * @param {{ context: ToolContext, cfg: HostConfig | undefined, agent: string | undefined, entries: SessionEntries }} asked
 */
function found({ results, degraded, ...rest }, { context, cfg, agent, entries }) {
  const requester = context.sessionKey;
  const shown = visibleHits(results, { cfg, agent, requester, sandboxed: context.sandboxed === true, entries });
  const rows = shown.map((row) => ({ ...row, corpus: row.source }));
  const withheld = results.length - rows.length;
  return {
    results: rows,
    ...rest,
    ...(withheld > 0 ? { withheld } : {}),
    ...(degraded ? { degraded, partial: true, warning: degraded.reason, action: degraded.hint } : {}),
  };
}

/**
 * @param {string} name
 * @param {unknown} given
 * @param {unknown} error
 */
function failed(name, given, error) {
  if (name === "memory_search") return searchUnavailable(error);
  if (name !== "memory_get") return factsFailed(error);
  const path = /** @type {{ path?: unknown } | undefined} */ (given)?.path;
  return readFailed(typeof path === "string" ? path : "", error);
}
