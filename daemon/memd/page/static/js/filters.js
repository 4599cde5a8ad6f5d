/** Filters by source, project, time and origin, and the parameters of requests that they mean. */

/** What the choice of a source means besides the name of one. */
export const NOTES = "*notes";
export const CONVERSATIONS = "*conversations";

/** @type {[string, string][]} */
export const SPANS = [["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["1y", "Last 12 months"]];

/** Whose words are searched. @type {[string, string][]} */
export const ORIGINS = [["user", "Your words"], ["agent", "Agents' words"], ["program", "Output of programs"], ["outside", "Words of others"]];

/** Months offered at most: ten years. */
const MONTHS = 120;

/**
 * Return the parameters of a request that a filter means.
 * @param {import("./kinds.js").Filter} filter
 * @param {import("./sources.js").Searched[]} sources those that can be searched
 * @returns {{sources?: string[], project?: string, since?: string, until?: string, origins?: string[]}}
 */
export function paramsOf({ source, project, time, origin }, sources) {
  return { ...sourceParams(source, sources), ...(project ? { project } : {}), ...timeParams(time), ...(origin ? { origins: [origin] } : {}) };
}

/**
 * @param {string} source
 * @param {import("./sources.js").Searched[]} sources
 */
function sourceParams(source, sources) {
  const named = (/** @type {string} */ kind) => sources.filter((one) => one.kind === kind).map((one) => one.name);
  if (source === NOTES) return { sources: ["memory", ...named("notes")] };
  if (source === CONVERSATIONS && named("transcripts").length > 0) return { sources: named("transcripts") };
  if (source === CONVERSATIONS) return {}; // not before it is known what there is
  return source ? { sources: [source] } : {};
}

/** @param {string} time a span such as `7d`, or a month such as `2026-03` */
function timeParams(time) {
  const [, year, month] = /^(\d{4})-(\d\d)$/.exec(time) ?? [];
  if (!year) return time ? { since: time } : {};
  const last = new Date(Number(year), Number(month), 0).getDate();
  return { since: `${time}-01`, until: `${time}-${last}` };
}

/**
 * Return the months from now back to a time, each as `2026-03`.
 * @param {number | null} oldest epoch milliseconds
 * @param {Date} [today]
 */
export function monthsSince(oldest, today = new Date()) {
  if (oldest === null) return [];
  const from = new Date(oldest);
  const between = (today.getFullYear() - from.getFullYear()) * 12 + today.getMonth() - from.getMonth();
  const number = Math.max(1, Math.min(MONTHS, between + 1));
  return [...Array(number).keys()].map((back) => {
    const month = new Date(today.getFullYear(), today.getMonth() - back, 1);
    return `${month.getFullYear()}-${String(month.getMonth() + 1).padStart(2, "0")}`;
  });
}

/** @param {import("./kinds.js").Filter} filter */
export function isFiltered(filter) {
  return Object.values(filter).some(Boolean);
}

/**
 * Return what some agents' conversations can be filtered by, the most recent first.
 * @param {import("./kinds.js").Groups[]} groups
 * @returns {import("./kinds.js").Groups}
 */
export function joined(groups) {
  const oldest = groups.flatMap((one) => (one.oldest_ms === null ? [] : [one.oldest_ms]));
  return {
    sources: summed(groups.flatMap((one) => one.sources)),
    projects: summed(groups.flatMap((one) => one.projects)),
    oldest_ms: oldest.length > 0 ? Math.min(...oldest) : null,
  };
}

/** @param {import("./kinds.js").Group[]} groups */
function summed(groups) {
  /** @type {Map<string, import("./kinds.js").Group>} */
  const sums = new Map();
  for (const group of groups) {
    const other = sums.get(group.name);
    sums.set(group.name, other
      ? { ...group, conversations: group.conversations + other.conversations, newest_ms: Math.max(group.newest_ms, other.newest_ms) }
      : group);
  }
  return [...sums.values()].sort((one, other) => other.newest_ms - one.newest_ms);
}
