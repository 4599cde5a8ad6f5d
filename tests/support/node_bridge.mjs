// A Node client driven line by line: a JSON command in, JSON answers out. See node_shell.py.

import { createInterface } from "node:readline";
import { Client } from "memd-client";

/** @type {Client} */
let client;
const controllers = new Map();
const subscriptions = new Map();

const commands = {
  open: ({ options }) => {
    client = new Client(options);
    return client.socketPath;
  },
  request: ({ n, method, params, options }) => {
    const controller = new AbortController();
    controllers.set(n, controller);
    const onProgress = (progress) => say({ n, progress });
    return client
      .request(method, params, { ...options, signal: controller.signal, onProgress })
      .finally(() => controllers.delete(n));
  },
  abort: ({ of }) => {
    controllers.get(of)?.abort();
    subscriptions.get(of)?.close();
  },
  subscribe: async ({ n, params }) => {
    const subscription = client.subscribe(params);
    subscriptions.set(n, subscription);
    await subscription.opened;
  },
  next: async ({ of }) => subscriptions.get(of).next(),
  reply: ({ of }) => subscriptions.get(of).reply,
  dropped: ({ of }) => subscriptions.get(of).dropped,
  describe: () => String(client),
  close: () => client.close(),
};

function say(answer) {
  process.stdout.write(
    `${JSON.stringify(answer, (_, value) =>
      value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString("base64") } : value,
    )}\n`,
  );
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const command = JSON.parse(line, (_, value) =>
    typeof value?.$bytes === "string" ? Uint8Array.from(Buffer.from(value.$bytes, "base64")) : value,
  );
  Promise.resolve()
    .then(() => commands[command.do](command))
    .then(
      (value) => say({ n: command.n, value: value ?? null }),
      (error) =>
        say({ n: command.n, error: error.toWire?.() ?? { code: "internal", message: String(error.stack) } }),
    );
}
await client?.close();
