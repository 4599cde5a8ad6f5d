// The client with a scripted daemon.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { Client, ERROR_CODES, MemdError } from "../lib/index.js";
import { encodeFrame } from "../lib/framing.js";
import { scripted } from "./scripted.js";

const GOT = { agent: "main", path: "a", text: "t", from_line: 1, lines: 1, total_lines: 1 };

function clientOf(context, path, options = {}) {
  const client = new Client({ socketPath: path, ...options });
  context.after(() => client.close());
  return client;
}

test("an aborted signal cancels the request at the daemon", async (context) => {
  const asked = [];
  const { path } = await scripted(context, ([, id, method, params], peer) => {
    asked.push([method, params]);
    if (method === "get") peer.send([1, id, null, GOT]);
    if (method === "search") controller.abort(new Error("enough"));
  });
  const controller = new AbortController();
  const client = clientOf(context, path);
  const error = await client.search({ query: "x" }, { signal: controller.signal }).catch((each) => each);
  assert.equal(error.code, "cancelled");
  assert.equal(error.cause.message, "enough");
  await client.get({ path: "a" });
  assert.deepEqual(asked.slice(0, 2), [
    ["search", { query: "x" }],
    ["cancel", { id: 2 }],
  ]);
  await assert.rejects(client.get({ path: "a" }, { signal: AbortSignal.abort() }), { code: "cancelled" });
  assert.equal(asked.length, 3);
});

test("the timeout of a call includes connecting", async (context) => {
  const { path, peers } = await scripted(context, () => {});
  const client = clientOf(context, path, { timeoutMs: null });
  await assert.rejects(client.search({ query: "x" }, { timeoutMs: 50 }), {
    code: "deadline_exceeded",
    message: /search in 0.05 s/,
    retryable: true,
  });
  assert.equal(peers.size, 1);
});

test("an exception of onProgress fails its call and keeps the connection open", async (context) => {
  const { path, peers } = await scripted(context, ([, id, method], peer) => {
    if (method === "index") peer.send([2, "progress", { id, stage: "text", done: 1, total: 2 }]);
    if (method === "get") peer.send([1, id, null, GOT]);
  });
  const client = clientOf(context, path);
  const onProgress = () => {
    throw new RangeError("mine");
  };
  await assert.rejects(client.index({}, { onProgress }), RangeError);
  assert.equal((await client.get({ path: "a" })).text, "t");
  assert.equal(peers.size, 1);
});

test("an incomplete reply names the missing field and keeps the connection open", async (context) => {
  const { path } = await scripted(context, ([, id, method, params], peer) => {
    const bad = { hits: [{ path: "a" }], agent: "main" };
    peer.send([1, id, null, method === "search" ? bad : params.path === "a" ? { agent: "main" } : GOT]);
  });
  const client = clientOf(context, path);
  const invalid = { code: "frame_invalid" };
  await assert.rejects(client.get({ path: "a" }), {
    ...invalid,
    message: /reply to get is incomplete: `path`/,
  });
  await assert.rejects(client.search({ query: "a" }), {
    ...invalid,
    message: /reply to search is incomplete/,
  });
  const got = await client.get({ path: "b" });
  assert.equal(got.truncated, false); // an older daemon leaves it out
});

test("a reply with a number that is not finite names its field", async (context) => {
  const { path } = await scripted(context, ([, id, , params], peer) => {
    peer.send([1, id, null, { ...GOT, total_lines: params.path === "a" ? NaN : 1 }]);
  });
  const client = clientOf(context, path);
  await assert.rejects(client.get({ path: "a" }), {
    code: "frame_invalid",
    message: /reply to get is invalid: `total_lines` is NaN/,
  });
  assert.equal((await client.get({ path: "b" })).total_lines, 1);
});

test("bytes outside the protocol fail the request without ending the process", async (context) => {
  for (const bytes of [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), Buffer.from([0, 0, 0, 1, 0xc1])]) {
    const { path } = await scripted(context, (_, peer) => peer.socket.write(bytes));
    const client = clientOf(context, path);
    await assert.rejects(client.get({ path: "a" }), (error) => /^frame_/.test(error.code));
  }
});

test("an error of the connection fails all its requests with its code", async (context) => {
  let asked = 0;
  const { path } = await scripted(context, (_, peer) => {
    asked += 1;
    if (asked === 2)
      peer.send([1, 0, { code: "shutting_down", message: "bye", data: { hint: "wait" } }, null]);
  });
  const client = clientOf(context, path);
  const ended = await Promise.allSettled([client.get({ path: "a" }), client.memoryForget({ id: "x" })]);
  for (const { reason } of ended) assert.deepEqual([reason.code, reason.hint], ["shutting_down", "wait"]);
});

test("a connection is closed when unsent bytes exceed the limit", async (context) => {
  const { path } = await scripted(context, (_, peer) => peer.socket.pause());
  const client = clientOf(context, path);
  const texts = ["x".repeat(15_000_000)];
  const asked = await Promise.allSettled(
    Array.from({ length: 8 }, () => client.embed({ texts }, { repeatable: false })),
  );
  assert.ok(
    asked.some(({ reason }) => reason?.code === "connection_lost" && /accepts no data/.test(reason.message)),
  );
});

test("a request cancelled before sending is not sent", async (context) => {
  const asked = [];
  const { path } = await scripted(context, ([, id, method], peer) => {
    asked.push(method);
    peer.send([1, id, null, GOT]);
  });
  const client = clientOf(context, path);
  await client.get({ path: "a" });
  const controller = new AbortController();
  const given = client.search({ query: "x" }, { signal: controller.signal });
  await Promise.resolve();
  controller.abort();
  await assert.rejects(given, { code: "cancelled" });
  await client.get({ path: "a" });
  assert.deepEqual(asked, ["get", "get"]);
});

test("an unknown request is sent, and its reply returned, unchanged", async (context) => {
  const { path } = await scripted(context, ([, id, method, params], peer) => {
    peer.send([1, id, null, { method, params }]);
  });
  const client = clientOf(context, path, { agent: "work" });
  const reply = await client.request("of_the_future", { a: 1 });
  assert.deepEqual(reply, { method: "of_the_future", params: { a: 1, agent: "work" } });
});

test("request() rejects subscribe and cancel", async (context) => {
  const client = clientOf(context, "/tmp/none");
  for (const name of ["subscribe", "cancel"])
    await assert.rejects(client.request(name), { code: "bad_params" });
});

test("an aborted signal ends a subscription without an error, even before it begins", async (context) => {
  const { path } = await scripted(context, ([, id], peer) => {
    peer.send([2, "event", { id, kind: "sync", agent: "main", at_ms: 1, data: {} }]);
  });
  const client = clientOf(context, path);
  const controller = new AbortController();
  const kinds = [];
  for await (const event of client.subscribe({}, { signal: controller.signal })) {
    kinds.push(event.kind);
    controller.abort();
  }
  for await (const event of client.subscribe({}, { signal: controller.signal })) kinds.push(event.kind);
  assert.deepEqual(kinds, ["sync"]);
});

test("a subscription that is not iterated fails without ending the process", async (context) => {
  const client = clientOf(context, "/tmp/no-daemon-listens-here");
  const subscription = client.subscribe();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await assert.rejects(subscription.next(), { code: "daemon_unreachable" });
  assert.deepEqual(await subscription.next(), { value: undefined, done: true });
});

test("a missing daemon is reported with a hint", async (context) => {
  const client = clientOf(context, "/tmp/no-daemon-listens-here");
  await assert.rejects(client.status(), {
    code: "daemon_unreachable",
    message: /\/tmp\/no-daemon-listens-here/,
    hint: /memd/,
  });
});

test("a closed client rejects requests", async (context) => {
  const { path } = await scripted(context, () => {});
  const client = clientOf(context, path);
  const open = client.get({ path: "a" }, { repeatable: false }).catch((error) => error);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await Promise.all([client.close(), client.close()]);
  assert.equal((await open).code, "connection_lost");
  await assert.rejects(client.get({ path: "a" }), {
    code: "connection_lost",
    message: "this client is closed",
  });
  assert.match(inspect(client), /^<Client .*, closed>$/);
});

test("close() doesn't wait for a daemon that hangs at hello", async (context) => {
  const { path } = await scripted(context, () => {}, { greets: false });
  const client = clientOf(context, path);
  const open = client.status().catch((error) => error);
  const subscription = client.subscribe();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const began = performance.now();
  await client.close();
  assert.equal((await open).code, "connection_lost");
  await assert.rejects(subscription.next(), { code: "connection_lost" });
  assert.ok(performance.now() - began < 2_000);
});

test("a call's timeout includes starting the daemon", async (context) => {
  const folder = mkdtempSync("/tmp/memd-w-");
  context.after(() => rmSync(folder, { recursive: true }));
  const daemonCommand = [process.execPath, "-e", "setTimeout(() => {}, 3000)"];
  const client = clientOf(context, join(folder, "s"), { autostart: true, daemonCommand });
  const began = performance.now();
  await assert.rejects(client.status({}, { timeoutMs: 200 }), { code: "deadline_exceeded" });
  assert.ok(performance.now() - began < 2_000);
  await client.close();
  assert.deepEqual(readdirSync(folder), ["s.log"]); // the start lock is released
});

test("a socket path that can't be read is reported", async (context) => {
  const client = clientOf(context, "/dev/null/s");
  await assert.rejects(client.status(), { code: "daemon_unreachable", message: /ENOTDIR/ });
});

test("an invalid request name is rejected", async (context) => {
  const client = clientOf(context, "/tmp/none");
  for (const [name, params] of [
    ["get", null],
    ["get", "a"],
    ["get", [1]],
    [3, {}],
  ]) {
    await assert.rejects(client.request(name, params), { code: "bad_params" });
  }
});

test("invalid options and timeouts are rejected", async (context) => {
  for (const options of [
    { timeoutMs: 0 },
    { timeoutMs: "1" },
    { connectTimeoutMs: -1 },
    { socketPath: "a" },
  ]) {
    assert.throws(() => new Client(options), MemdError);
  }
  const client = clientOf(context, "/tmp/none");
  await assert.rejects(client.get({ path: "a" }, { timeoutMs: Number.NaN }), { code: "bad_params" });
});

test("a request over the frame limit is rejected and keeps the connection open", async (context) => {
  const { path, peers } = await scripted(context, ([, id], peer) => peer.send([1, id, null, GOT]));
  const client = clientOf(context, path);
  await assert.rejects(client.embed({ texts: ["x".repeat(17_000_000)] }), { code: "frame_too_big" });
  await client.get({ path: "a" });
  assert.equal(peers.size, 1);
  assert.ok(encodeFrame("x").length);
});

test("every error code has a hint", () => {
  for (const code of ERROR_CODES) assert.ok(new MemdError(code).hint);
});
