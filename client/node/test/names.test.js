// Unknown options and parameters are rejected before sending, with a hint of the most similar name.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Client, MemdError } from "../lib/index.js";

const TYPES = readFileSync(new URL("../lib/index.d.ts", import.meta.url), "utf8");

const client = new Client({ socketPath: "/tmp/memd-no-daemon/s" });

/** Return the hint of a rejected call. */
async function hintOf(refused) {
  const error = await refused.then(assert.fail, (each) => each);
  assert.ok(error instanceof MemdError);
  assert.equal(error.code, "bad_params");
  return error.hint;
}

test("an unknown option of a client is rejected", () => {
  for (const [name, meant] of [
    ["autoStart", "autostart"],
    ["timeout_ms", "timeoutMs"],
    ["socketpath", "socketPath"],
    ["agents", "agent"],
  ]) {
    assert.throws(() => new Client({ [name]: 1 }), {
      code: "bad_params",
      message: `new Client takes no option \`${name}\``,
      hint: `did you mean \`${meant}\`?`,
    });
  }
  assert.throws(() => new Client("main"), { code: "bad_params", message: "new Client takes options by name" });
});

test("the options are those of the types", async () => {
  const [ofClient, ofCall] = ["ClientOptions", "CallOptions"].map((name) => {
    const [, body] = TYPES.split(`interface ${name} {`);
    return [...body.split("\n}")[0].matchAll(/^ {2}(\w+)\?:/gm)].map(([, option]) => `\`${option}\``);
  });
  assert.throws(() => new Client({ unrelated: 1 }), { hint: `use one of ${ofClient.join(", ")}` });
  assert.equal(await hintOf(client.status({}, { unrelated: 1 })), `use one of ${ofCall.join(", ")}`);
});

test("an unknown parameter of a request is rejected", async () => {
  assert.equal(await hintOf(client.search({ query: "x", maxResult: 3 })), "did you mean `max_results`?");
  assert.equal(await hintOf(client.memoryStore({ text: "x", createdMs: 3 })), "did you mean `created_ms`?");
  assert.equal(await hintOf(client.request("get", { paths: "x" })), "did you mean `path`?");
  assert.equal(await hintOf(client.openPage({ verbose: true })), "use one of `agent`");
  assert.equal(await hintOf(client.metrics({ deep: true })), "leave it out: the request takes no parameters");
  assert.equal(await hintOf(client.search("x")), "pass an object such as `{ query: … }`");
  assert.throws(() => client.subscribe({ kind: ["sync"] }), { hint: "did you mean `kinds`?" });
});

test("an option among the parameters gets a hint of the second argument", async () => {
  const hint = "pass `timeoutMs` in the second argument, the options of the call";
  assert.equal(await hintOf(client.search({ query: "x", timeoutMs: 3 })), hint);
  assert.equal(await hintOf(client.search({ query: "x" }, { timeout: 3 })), "did you mean `timeoutMs`?");
  assert.throws(() => client.subscribe({}, { onprogress() {} }), { hint: "use one of `signal`" });
});

test("undefined parameters are allowed, and unknown requests take any parameter", async () => {
  const asked = [
    client.search({ query: "x", later: undefined }),
    client.request("of_the_future", { whatever: 1 }, { timeoutMs: undefined }),
  ];
  for (const each of asked) await assert.rejects(each, { code: "daemon_unreachable" });
});
