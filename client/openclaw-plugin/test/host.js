// The used part of OpenClaw's plugin API, and a client of the daemon with scripted replies: what was
// registered and asked can be looked at.

import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

const folders = [];
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Return a new state folder, removed when the process ends. */
function stateFolder() {
  folders.push(mkdtempSync(join(tmpdir(), "memd-state-")));
  return folders.at(-1);
}

/** A host that keeps what a plugin registers. */
export class FakeHost {
  constructor({ pluginConfig = {}, config = {}, sessions = [], stateDir } = {}) {
    this.pluginConfig = pluginConfig;
    this.config = config;
    this.stateDir = stateDir;
    this.registrationMode = "full";
    this.said = [];
    this.tools = new Map();
    this.hooks = new Map();
    this.services = [];
    const say = (level) => (message) => this.said.push(`${level}: ${message}`);
    this.logger = { debug: say("debug"), info: say("info"), warn: say("warn") };
    this.runtime = {
      config: { current: () => this.config },
      agent: {
        session: { listSessionEntries: () => sessions },
        resolveAgentWorkspaceDir: (_cfg, agent) => this.workspaces?.[agent] ?? "/nowhere",
      },
      state: { resolveStateDir: () => (this.stateDir ??= stateFolder()) },
    };
  }

  registerMemoryCapability(capability) {
    this.capability = capability;
  }

  registerTool(factory, { names }) {
    this.tools.set(names[0], factory);
  }

  registerCli(registrar) {
    this.cli = registrar;
  }

  registerService(service) {
    this.services.push(service);
  }

  on(name, handler) {
    this.hooks.set(name, handler);
  }

  /** Fire an event as OpenClaw does, and return what the plugin makes of it. */
  fire(name, event, context) {
    return this.hooks.get(name)?.(event, context);
  }
}

/** A client whose replies are functions of the parameters, by method; an Error is thrown. */
export class FakeClient {
  constructor(replies = {}) {
    this.replies = replies;
    this.asked = [];
    this.closed = 0;
  }

  async request(method, params, options) {
    this.asked.push({ method, params, options });
    const reply = this.replies[method];
    const value = typeof reply === "function" ? await reply(params, options) : reply;
    if (value instanceof Error) throw value;
    return value ?? {};
  }

  async close() {
    this.closed += 1;
  }
}

/** An error as the client raises it. */
export function failure(code, message = code, hint = "try this") {
  return Object.assign(new Error(message), { code, hint, data: {} });
}

/** OpenClaw's records of who wrote memory files: the origin of each path. */
export function recorded(origins) {
  const readMemoryArtifactProvenance = async ({ relativePath }) => {
    const originClass = origins[relativePath];
    return originClass === undefined ? undefined : { originClass };
  };
  return async () => ({ readMemoryArtifactProvenance });
}

/** A workspace with files, all of one time, removed after the tests; returns its folder. */
export async function workspaceOf(files) {
  const folder = await mkdtemp(join(tmpdir(), "memd-"));
  after(() => rm(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
    await utimes(join(folder, path), OBSERVED_AT / 1000, OBSERVED_AT / 1000);
  }
  return folder;
}

/** When the files of `workspaceOf` were changed. */
export const OBSERVED_AT = 1_700_000_000_000;

/** The provenance of a note in them. */
export const from = (originClass) => ({ originClass, sessionKind: "unknown", observedAt: OBSERVED_AT });

/** The plugin registered with a host, and a client in place of the daemon's. */
export async function register(host, client, { supplements = async () => [], provenance = recorded({}), markdown } = {}) {
  const { createPlugin } = await import("../index.js");
  createPlugin(() => client, supplements, provenance, markdown).register(host);
  return host;
}
