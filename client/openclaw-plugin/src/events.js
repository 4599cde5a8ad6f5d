/**
 * Handlers of OpenClaw's events: starts and ends of sessions, compactions, and turns before and after which facts are recalled
 * and captured. Together they delay a turn at most by the hooks' deadline, and never fail it.
 */

/** @import { AgentContext, Host, HostConfig, PromptEvent, SessionContext, SessionEndEvent, Settings, TurnEndEvent } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */
/** @import { Outbox } from "./outbox.js" */

import { isAbsent, isHang, sentence } from "./daemon.js";
import { agentOf, isIncognito, isShared } from "./sessions.js";
import { hasConversationAccess, hasMemory, hostWritesNotes } from "./settings.js";

/** Ends after which a conversation is over for its user, and how the daemon calls them. */
const OVER = new Map([
  ["new", "new"],
  ["reset", "reset"],
  ["idle", "reset"],
  ["daily", "reset"],
]);

const MOST_PROMPT_CHARS = 2_000; // the daemon uses no more of a query

/**
 * Listen to OpenClaw's events.
 * @param {Host} api
 * @param {{ daemon: Daemon, outbox: Outbox, settings: Settings, config: () => HostConfig | undefined }} parts
 */
export function listen(api, { daemon, outbox, settings, config }) {
  const has = (/** @type {{ agentId?: string, sessionKey?: string }} */ who) => hasMemory(config(), whose(who).agent);
  api.on("session_start", async (event, context) => {
    const who = { ...context, sessionKey: event.sessionKey ?? context.sessionKey };
    if (!who.sessionKey || !has(who)) return;
    await daemon.tell("session_started", { ...whose(who), session_key: who.sessionKey, max_characters: 0 });
  });
  api.on("session_end", async (event, context) => {
    const params = noteOf(event, context);
    if (!settings.sessionNotes || params === undefined || !has(context) || hostWritesNotes(config())) return;
    await daemon.inBackground(outbox.add(params));
  });
  api.on("after_compaction", async (_event, context) => {
    if (!has(context)) return;
    await daemon.tell("compaction_done", { ...whose(context), ...keys(context) });
  });
  if (!hasConversationAccess(config())) {
    if (settings.autoRecall || settings.autoCapture) {
      api.logger.warn(
        "memd: autoRecall and autoCapture need plugins.entries.memd.hooks.allowConversationAccess: true; they are off until then",
      );
    }
    return;
  }
  if (settings.autoRecall) {
    api.on("before_prompt_build", async (event, context) => {
      if (!isOwnTurn(context) || !has(context)) return undefined;
      return await recalled(event, context, { daemon, log: api.logger });
    });
  }
  api.on("agent_end", async (event, context) => {
    if (!event.success || !has(context)) return;
    if (context.trigger === "memory") {
      if (context.sessionKey) await daemon.tell("flush_done", { ...whose(context), ...keys(context) });
    } else if (settings.autoCapture && isOwnTurn(context)) {
      const messages = lastSaid(event.messages);
      if (messages.length > 0) await daemon.tell("capture_facts", { ...whose(context), messages, force: true });
    }
  });
}

/**
 * Return the facts relevant to a message, as text to put before it.
 * @param {PromptEvent} event
 * @param {AgentContext} context
 * @param {{ daemon: Daemon, log: Host["logger"] }} parts
 */
async function recalled(event, context, { daemon, log }) {
  const prompt = (event.currentUserMessage ?? event.prompt).slice(0, MOST_PROMPT_CHARS);
  if (prompt.trim() === "") return undefined;
  try {
    const params = { ...whose(context), prompt, force: true };
    const { text } = await daemon.askInTurn("facts_for_prompt", params);
    return text === "" ? undefined : { prependContext: text };
  } catch (error) {
    if (!isAbsent(error) && !isHang(error)) log.warn(`memd: no facts were recalled: ${sentence(error)}`);
    return undefined;
  }
}

/**
 * Return the parameters of `session_ended`; undefined if the session has not ended or has no key.
 * @param {SessionEndEvent} event
 * @param {SessionContext} context
 */
function noteOf(event, context) {
  const reason = OVER.get(event.reason ?? "");
  const key = event.sessionKey ?? context.sessionKey;
  if (reason === undefined || !key || isIncognito(key)) return undefined;
  return {
    ...whose({ ...context, sessionKey: key }),
    session_key: key,
    session_id: event.sessionId,
    ...(event.nextSessionId ? { next_session_id: event.nextSessionId } : {}),
    reason,
    ended_ms: Date.now(),
    private: true,
  };
}

/**
 * Whether a turn replies to a direct message of the user; messages in groups are not private memory.
 * @param {AgentContext} context
 */
function isOwnTurn(context) {
  const origin = context.inputProvenance?.kind ?? "external_user";
  return context.trigger === "user" && origin === "external_user" && !isShared(context.sessionKey);
}

/**
 * Return what the user said in the last turn.
 * @param {unknown[]} messages of the whole session
 * @returns {Array<{ role: string, content: unknown }>}
 */
function lastSaid(messages) {
  const said = /** @type {Array<{ role?: unknown, content?: unknown } | undefined>} */ (messages);
  const last = said.findLast((message) => message?.role === "user");
  return last === undefined ? [] : [{ role: "user", content: words(last.content) }];
}

/**
 * Return a message's content without what is no text.
 * @param {unknown} content
 */
function words(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.filter((part) => part?.type === "text").map(({ text }) => ({ type: "text", text: String(text ?? "") }));
}

/** @param {{ agentId?: string | undefined, sessionKey?: string | undefined }} context */
function whose({ agentId, sessionKey }) {
  const agent = agentId ?? agentOf(sessionKey);
  return agent === undefined ? {} : { agent };
}

/** @param {{ sessionKey?: string | undefined, sessionId?: string | undefined }} context */
function keys({ sessionKey, sessionId }) {
  return { ...(sessionKey ? { session_key: sessionKey } : {}), ...(sessionId ? { session_id: sessionId } : {}) };
}
