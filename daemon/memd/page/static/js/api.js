/** The daemon's side of the page: requests as in the protocol, and their errors. */

const REQUEST_DEADLINE_MS = 30_000;
/** A sync of a large memory may take longer than anything else. */
const SYNC_DEADLINE_MS = 600_000;

/** What a request failed of: the daemon's error, or that it can't be reached. */
export class RequestError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} hint what to do about it
   */
  constructor(code, message, hint) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

const CLOSED = "Run `memctl web` in a terminal to open a new page.";

/**
 * Return the command that opens a new page like this one.
 * @param {string | null} agent the one agent the page is fixed to
 */
export function showCommand(agent) {
  if (agent === null) return "memctl web";
  return `memctl web --agent ${/^[\w.-]+$/.test(agent) ? agent : `'${agent.replaceAll("'", "'\\''")}'`}`;
}

/**
 * Ask the daemon.
 * @param {string} request a name of docs/protocol.md
 * @param {Record<string, unknown>} params
 * @returns {Promise<any>} its reply
 */
export async function ask(request, params) {
  const deadline = request === "index" ? SYNC_DEADLINE_MS : REQUEST_DEADLINE_MS;
  return read(() =>
    fetch(`/api/${request}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Memd": "1" },
      body: JSON.stringify(params),
      signal: AbortSignal.timeout(deadline),
    }),
  );
}

/**
 * Ask who is shown.
 * @returns {Promise<{agent: string | null, agents: string[], version: string}>}
 */
export async function askSession() {
  const body = await read(() =>
    fetch("/api/session", { headers: { "X-Memd": "1" }, signal: AbortSignal.timeout(REQUEST_DEADLINE_MS) }),
  );
  return body;
}

/**
 * Return what an answer holds, or raise what it says is wrong.
 * @param {() => Promise<Response>} request
 */
async function read(request) {
  let answer;
  try {
    answer = await request();
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      throw new RequestError("deadline_exceeded", "The daemon took too long to answer.", "Try again; `memctl status` tells what it does.");
    }
    throw new RequestError("daemon_unreachable", "The daemon can't be reached.", CLOSED);
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return "result" in body ? body.result : body;
  const failure = body?.error;
  if (failure) throw new RequestError(failure.code, failure.message, failure.data?.hint ?? "");
  if (answer.status === 403) throw new RequestError("page_closed", "This page is no longer open at the daemon.", CLOSED);
  throw new RequestError("daemon_unreachable", `The page's server answered with status ${answer.status}.`, "Try again in a moment.");
}

/**
 * Return an error as one that can be shown.
 * @param {unknown} error
 * @returns {RequestError}
 */
export function shown(error) {
  return error instanceof RequestError ? error : new RequestError("internal", String(error), "");
}
