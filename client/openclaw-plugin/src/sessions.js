/**
 * Parsing of session keys. Pure.
 */

const INCOGNITO = /^agent:[^:]+:(?:dashboard|subagent|internal-session-effects):incognito-/u;

/**
 * Return the agent a key belongs to, undefined if it names none.
 * @param {string | undefined} key
 */
export function agentOf(key) {
  return /^agent:([^:]+):/iu.exec(key?.trim() ?? "")?.[1]?.toLowerCase();
}

/**
 * Whether several people take part.
 * @param {string | undefined} key
 */
export function isShared(key) {
  const parts = (key ?? "").toLowerCase().split(":");
  return parts.includes("group") || parts.includes("channel");
}

/**
 * Whether a session is hidden from other sessions.
 * @param {string} key
 */
export function isIncognito(key) {
  return INCOGNITO.test(key.trim().toLowerCase());
}
