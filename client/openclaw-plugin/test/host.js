// The used part of OpenClaw's plugin API, and a client of the daemon with scripted replies: what was
// registered and asked can be looked at.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = [];
process.on("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** Return a new state folder, removed when the process ends. */
export function stateFolder() {
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

/** The plugin registered with a host, and a client in place of the daemon's. */
export async function register(host, client, { supplements = async () => [], provenance, markdown } = {}) {
  const { createPlugin } = await import("../index.js");
  createPlugin(() => client, supplements, provenance, markdown).register(host);
  return host;
}
