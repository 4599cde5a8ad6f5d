/**
 * Recall of other conversations in a private conversation ("Remember across conversations"): OpenClaw's active-memory
 * plugin runs a bounded search before a reply, and names the conversation it runs for. Hits then come from this agent's private
 * conversations alone, whatever `tools.sessions.visibility` says; in case of doubt there are none. Pure.
 */

/** @import { Asker, ConversationRecall, SessionEntry } from "./types.js" */

import { agentOf, isIncognito } from "./sessions.js";
import { isOf, keysOf, listed, withKey } from "./visibility.js";

const RUN = /:active-memory:[0-9a-f]{12}$/u; // what OpenClaw adds to the key of the conversation for the run
const IMPERSONAL = new Set(["active-memory", "cron", "heartbeat", "hook", "node", "subagent", "group", "channel", "global"]);
const SCOPE = "same-agent-private";
const CORPORA = new Set(["sessions", "configured"]);

/**
 * Return the hits that a recall may show, in their order. The conversation's own current part isn't among them: the daemon was
 * asked without it.
 * @template {{ path: string, source: string }} Hit
 * @param {Hit[]} hits
 * @param {Omit<Asker, "cfg"> & { recall: ConversationRecall }} asked
 * @returns {Hit[]}
 */
export function recalledHits(hits, { recall, agent, requester, sandboxed, entries, noteSessions }) {
  const notes = recall.corpus === "configured";
  const owner = (agent ?? agentOf(recall.anchorSessionKey))?.toLowerCase();
  const sessions = owner === undefined || sandboxed || !isTrusted(recall, owner, requester) ? undefined : listed(entries, owner);
  const anchor = sessions?.find(({ key }) => key === recall.anchorSessionKey);
  const same = sessions?.filter(({ entry }) => anchor !== undefined && entry.sessionId === anchor.entry.sessionId) ?? [];
  const allowed = anchor !== undefined && same.every(({ key, entry }) => isPrivate(key, entry, owner));
  return hits.filter(({ path, source }) => {
    const session = noteSessions?.get(path);
    if (session !== undefined) {
      return notes && allowed && isOf(owner ?? "", session) && isPrivate(session, withKey(session, sessions ?? []).entry, owner);
    }
    if (source !== "sessions") return notes && source === "memory";
    if (!allowed || path.includes(".jsonl.deleted.")) return false;
    const keys = keysOf(path, sessions ?? []);
    return keys.length > 0 && keys.every(({ key, entry }) => isPrivate(key, entry, owner));
  });
}

/**
 * Whether a recall is one OpenClaw made for the conversation that asks.
 * @param {ConversationRecall} recall
 * @param {string} owner the agent that is searched
 * @param {string | undefined} requester
 */
function isTrusted({ anchorSessionKey, scope, corpus }, owner, requester) {
  const asks = requester?.trim().replace(RUN, "");
  return scope === SCOPE && CORPORA.has(corpus) && asks === anchorSessionKey && agentOf(anchorSessionKey) === owner;
}

/**
 * Whether a session is a conversation between the agent and one person.
 * @param {string} key
 * @param {SessionEntry} entry
 * @param {string | undefined} owner
 */
function isPrivate(key, entry, owner) {
  const [, ...parts] = key.trim().toLowerCase().split(":").slice(1);
  if (agentOf(key) !== owner || isIncognito(key) || parts.some((part) => IMPERSONAL.has(part))) return false;
  const origin = entry.delivery?.kind === "external" ? entry.delivery.origin?.chatType : undefined;
  const types = [entry.chatType, origin].filter((type) => type !== undefined && type !== null);
  if (types.length > 0) return types.every((type) => type === "direct");
  return parts[0] !== "explicit" && (parts.includes("direct") || parts.includes("dm"));
}
