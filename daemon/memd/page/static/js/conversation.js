/** Conversations: their paths, the programs they were held with, and their messages page by page. */

import { ask } from "./api.js";

/** Messages shown around a hit, and of a conversation that is opened from its beginning. */
const AROUND = 24;
const BEGINNING = 60;
/** Messages that one request returns at most; long ones make a reply shorter. */
const PAGE = 200;

/**
 * Say whether a path is one of a conversation: notes are Markdown.
 * @param {string} path
 */
export function isConversation(path) {
  return !/\.md$/i.test(path);
}

/**
 * Return the source of a conversation by its path.
 * @param {string} path
 */
export function sourceOf(path) {
  return path.split("/")[0];
}

/**
 * Return the messages in and around some lines of the transcript, or the first ones.
 * @param {import("./kinds.js").Reader} reader
 * @returns {Promise<import("./kinds.js").ConversationReply>}
 */
export function readAround({ agent, path, found }) {
  // A reply is centred on one line, and there are at most as many messages as lines.
  const place = found ? { line: found.start, messages: Math.min(PAGE, AROUND + 2 * (found.end - found.start)) } : { first: 1, messages: BEGINNING };
  return ask("conversation_read", { agent, session: path, ...place });
}

/**
 * Return some messages by their numbers.
 * @param {import("./kinds.js").Reader} reader
 * @param {number} first
 * @param {number} last
 * @returns {Promise<import("./kinds.js").ConversationReply>}
 */
export async function readMessages({ agent, path }, first, last) {
  /** @param {number} from */
  const read = (from) => ask("conversation_read", { agent, session: path, first: from, messages: Math.max(1, Math.min(PAGE, last - from + 1)) });
  /** @type {import("./kinds.js").ConversationReply} */
  let all = await read(first);
  let added = all.messages.length;
  while (added > 0 && first + all.messages.length <= Math.min(last, all.total)) {
    const reply = await read(first + all.messages.length);
    added = reply.messages.length;
    all = { ...reply, messages: [...all.messages, ...reply.messages] };
  }
  return all;
}
