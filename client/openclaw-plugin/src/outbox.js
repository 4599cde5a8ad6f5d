/**
 * Ends of conversations whose notes aren't written yet: a small file each in OpenClaw's state folder, so that neither a daemon
 * that hangs or is down nor a restart of the gateway loses a note. The files name sessions; the text stays in OpenClaw's transcripts.
 */

/** @import { Logger } from "./types.js" */
/** @import { Daemon } from "./daemon.js" */

import { mkdir, readdir, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isAbsent, isHang, sentence } from "./daemon.js";

const FOLDER = join("memd-plugin", "ended-sessions");
const MOST = 200;
const RETRY_MS = 60_000;
const NOTE_MS = 30_000; // a chat model may name the note

export class Outbox {
  #folder;
  #daemon;
  #log;
  /** @type {Promise<void> | undefined} */
  #delivering;
  #again = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #count = 0;

  /**
   * @param {string} stateDir OpenClaw's state folder
   * @param {Daemon} daemon
   * @param {Logger} log
   */
  constructor(stateDir, daemon, log) {
    this.#folder = join(stateDir, FOLDER);
    this.#daemon = daemon;
    this.#log = log;
  }

  /**
   * Keep the end of a conversation, and send it now or as soon as the daemon answers. Doesn't fail.
   * @param {Record<string, unknown>} params of `session_ended`
   */
  async add(params) {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      this.#count += 1;
      const name = `${Date.now()}-${process.pid}-${this.#count}.json`;
      const whole = join(this.#folder, name);
      await writeFile(`${whole}.part`, JSON.stringify(params), { mode: 0o600 });
      await rename(`${whole}.part`, whole);
    } catch (error) {
      this.#log.warn(`memd: the end of a session can't be kept for later: ${sentence(error)}`);
      await this.#send(params);
      return;
    }
    await this.deliver();
  }

  /** Send what is kept, oldest first, until the daemon fails to answer. Doesn't fail. */
  async deliver() {
    this.#again = true;
    this.#delivering ??= this.#deliverAll().finally(() => (this.#delivering = undefined));
    await this.#delivering;
  }

  /** Stop trying; the files stay. */
  close() {
    clearTimeout(this.#timer);
  }

  async #deliverAll() {
    while (this.#again) {
      this.#again = false;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      const names = await this.#names();
      for (const name of names.splice(0, Math.max(0, names.length - MOST))) await this.#remove(name);
      for (const name of names) {
        const params = await this.#read(name);
        const outcome = params === undefined ? "done" : await this.#send(params);
        if (outcome === "done") await this.#remove(name);
        else this.#timer ??= setTimeout(() => void this.deliver(), RETRY_MS).unref();
        if (outcome === "no daemon") return;
      }
    }
  }

  /**
   * Send one end, and return what became of it.
   * @param {Record<string, unknown>} params
   * @returns {Promise<"done" | "later" | "no daemon">}
   */
  async #send(params) {
    try {
      await this.#daemon.ask("session_ended", params, { deadlineMs: NOTE_MS });
    } catch (error) {
      if (isAbsent(error) || isHang(error)) return "no daemon";
      if (/** @type {{ retryable?: unknown }} */ (error).retryable === true) return "later";
      this.#log.warn(`memd: session_ended failed: ${sentence(error)}`);
    }
    return "done";
  }

  async #names() {
    const names = await readdir(this.#folder).catch(() => /** @type {string[]} */ ([]));
    return names.filter((name) => name.endsWith(".json")).sort();
  }

  /**
   * @param {string} name
   * @returns {Promise<Record<string, unknown> | undefined>} undefined: another process sent it, or it is damaged
   */
  async #read(name) {
    try {
      const params = JSON.parse(await readFile(join(this.#folder, name), "utf8"));
      return typeof params?.session_key === "string" ? params : undefined;
    } catch {
      return undefined;
    }
  }

  /** @param {string} name */
  async #remove(name) {
    await unlink(join(this.#folder, name)).catch(() => {});
  }
}
