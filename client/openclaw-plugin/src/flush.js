/**
 * The memory flush: the turn in which an agent writes notes before its context is compacted. Pure: OpenClaw requests the plan
 * synchronously and decides when it is due. A test compares the prompts with the daemon's reply to `flush_check`.
 */

/** @import { FlushPlan, HostConfig } from "./types.js" */

import { ownSetting } from "./settings.js";

const SOFT_THRESHOLD_TOKENS = 4_000;
const RESERVE_TOKENS = 20_000;
const FORCE_FLUSH_BYTES = 2 * 1024 * 1024;
const SILENT = "NO_REPLY";
const UNITS = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };

const PROMPT =
  "This conversation is about to be compacted: what isn't written down now may be lost. Write down what should " +
  "outlast it, in short entries that can be understood on their own: decisions and their reasons, preferences, " +
  "facts about people and projects, open tasks. Leave out small talk, secrets and what memory holds already.";

const SYSTEM =
  "A silent turn of housekeeping before the context is compacted. Use it to save memories that should last, and " +
  "nothing else: don't go on with the user's task.";

/**
 * Return the plan; null if the settings turn the flush off.
 * @param {{ cfg?: HostConfig | undefined, nowMs?: number | undefined, contextWindowTokens?: number | undefined }} [asked]
 * @returns {FlushPlan | null}
 */
export function flushPlan({ cfg, nowMs = Date.now(), contextWindowTokens } = {}) {
  const defaults = cfg?.agents?.defaults;
  const own = ownSetting(cfg, undefined, ({ compaction }) => compaction);
  const compaction = { ...defaults?.compaction, ...own };
  const flush = { ...defaults?.compaction?.memoryFlush, ...own?.memoryFlush };
  if (flush.enabled === false) return null;
  const moment = localMoment(nowMs, ownSetting(cfg, undefined, (each) => each.userTimezone) ?? defaults?.userTimezone);
  const path = `memory/${moment.date}.md`;
  const rules =
    `Write to \`${path}\` only, creating it if it is missing. Append below what it holds; never overwrite or ` +
    "shorten it. Don't edit MEMORY.md, USER.md, AGENTS.md, SOUL.md, TOOLS.md or any other file at the top of the workspace.";
  const user = withSilence(`${chosen(flush.prompt, PROMPT, moment.date)}\n\n${rules}`);
  const model = flush.model?.trim();
  return {
    ...thresholds(flush.softThresholdTokens, compaction.reserveTokensFloor, contextWindowTokens),
    forceFlushTranscriptBytes: bytes(flush.forceFlushTranscriptBytes) ?? FORCE_FLUSH_BYTES,
    ...(model ? { model } : {}),
    prompt: user.includes("Current time:") ? user : `${user}\n\nCurrent time: ${moment.time}`,
    systemPrompt: withSilence(`${chosen(flush.systemPrompt, SYSTEM, moment.date)}\n\n${rules}`),
    relativePath: path,
  };
}

/**
 * Return both thresholds, reduced for a small context.
 * @param {unknown} soft
 * @param {unknown} reserve
 * @param {number | undefined} window
 */
function thresholds(soft, reserve, window) {
  const wanted = { soft: count(soft) ?? SOFT_THRESHOLD_TOKENS, reserve: count(reserve) ?? RESERVE_TOKENS };
  if (window === undefined || !(window > 0)) {
    return { softThresholdTokens: wanted.soft, reserveTokensFloor: wanted.reserve };
  }
  const reserveTokensFloor = Math.min(wanted.reserve, Math.floor(window / 2));
  const softThresholdTokens = Math.min(wanted.soft, Math.floor((window - reserveTokensFloor) / 2));
  return { softThresholdTokens, reserveTokensFloor };
}

/**
 * @param {unknown} configured
 * @param {string} usual
 * @param {string} date
 */
function chosen(configured, usual, date) {
  const prompt = typeof configured === "string" && configured.trim() !== "" ? configured.trim() : usual;
  return prompt.replaceAll("YYYY-MM-DD", date);
}

/** @param {string} prompt */
function withSilence(prompt) {
  if (prompt.includes(SILENT)) return prompt;
  return (
    `${prompt}\n\nIf there is nothing to store, or once it is stored, reply with ${SILENT} alone: ` +
    "the user sees none of this."
  );
}

/**
 * Return date and time in the user's time zone, by default the machine's.
 * @param {number} nowMs
 * @param {string | undefined} zone
 */
function localMoment(nowMs, zone) {
  const known = isZone(zone) ? zone : undefined;
  /** @type {Record<string, string>} */
  const part = {};
  const format = new Intl.DateTimeFormat("en-US", {
    ...(known === undefined ? {} : { timeZone: known }),
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
  });
  for (const { type, value } of format.formatToParts(nowMs)) part[type] = value;
  const date = `${part["year"]}-${part["month"]}-${part["day"]}`;
  const shift = (part["timeZoneName"] ?? "").replace("GMT", "UTC");
  const place = known === undefined || known === "UTC" ? shift : `${known}, ${shift}`;
  return { date, time: `${date} ${part["hour"]}:${part["minute"]} (${place})` };
}

/**
 * @param {string | undefined} zone
 * @returns {zone is string}
 */
function isZone(zone) {
  try {
    return zone !== undefined && new Intl.DateTimeFormat("en-US", { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * @param {unknown} value
 * @returns {number | undefined}
 */
function count(value) {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
}

/**
 * Return a size given as a number of bytes or as `2mb`.
 * @param {unknown} value
 * @returns {number | undefined}
 */
function bytes(value) {
  if (typeof value !== "string") return count(value);
  const found = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?\s*$/iu.exec(value);
  if (!found) return undefined;
  const unit = /** @type {keyof typeof UNITS} */ ((found[2] ?? "b").toLowerCase());
  return Math.floor(Number(found[1]) * UNITS[unit]);
}
