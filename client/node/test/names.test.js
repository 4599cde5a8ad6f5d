// Unknown options and parameters: refused before anything is sent, with the name that was probably meant.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Client, MemdError } from "../lib/index.js";

const TYPES = readFileSync(new URL("../lib/index.d.ts", import.meta.url), "utf8");

const client = new Client({ socketPath: "/tmp/memd-no-daemon/s" });

/** The way out a refusal names. */
async function hintOf(refused) {
  const error = await refused.then(assert.fail, (each) => each);
  assert.ok(error instanceof MemdError);
  assert.equal(error.code, "bad_params");
  return error.hint;
}

test("an unknown option of a client is refused", () => {
  for (const [name, meant] of [
    ["autoStart", "autostart"],
    ["timeout_ms", "timeoutMs"],
    ["socketpath", "socketPath"],
    ["agents", "agent"],
  ]) {
    assert.throws(() => new Client({ [name]: 1 }), {
      code: "bad_params",
      message: `new Client takes no option \`${name}\``,
      hint: `Did you mean \`${meant}\`?`,
    });
  }
  assert.throws(() => new Client("main"), { code: "bad_params", message: "new Client takes options by name" });
});

test("the options that are taken are those of the types", async () => {
  const [ofClient, ofCall] = ["ClientOptions", "CallOptions"].map((name) => {
    const [, body] = TYPES.split(`interface ${name} {`);
    return [...body.split("\n}")[0].matchAll(/^ {2}(\w+)\?:/gm)].map(([, option]) => `\`${option}\``);
  });
  assert.throws(() => new Client({ unrelated: 1 }), { hint: `It takes ${ofClient.join(", ")}.` });
  assert.equal(await hintOf(client.status({}, { unrelated: 1 })), `It takes ${ofCall.join(", ")}.`);
});

test("an unknown parameter of a request is refused", async () => {
  assert.equal(await hintOf(client.search({ query: "x", maxResult: 3 })), "Did you mean `max_results`?");
  assert.equal(await hintOf(client.memoryStore({ text: "x", createdMs: 3 })), "Did you mean `created_ms`?");
  assert.equal(await hintOf(client.request("get", { paths: "x" })), "Did you mean `path`?");
  assert.equal(await hintOf(client.show({ verbose: true })), "It takes `agent`.");
  assert.equal(await hintOf(client.metrics({ deep: true })), "It takes none.");
  assert.equal(await hintOf(client.search("x")), "Give a map such as `{ query: … }`.");
  assert.throws(() => client.subscribe({ kind: ["sync"] }), { hint: "Did you mean `kinds`?" });
});

test("an option among the parameters is sent to its place", async () => {
  const way = "Give `timeoutMs` in the second argument, the options of the call.";
  assert.equal(await hintOf(client.search({ query: "x", timeoutMs: 3 })), way);
  assert.equal(await hintOf(client.search({ query: "x" }, { timeout: 3 })), "Did you mean `timeoutMs`?");
  assert.throws(() => client.subscribe({}, { onprogress() {} }), { hint: "It takes `signal`." });
});

test("what is undefined is left out, and requests of a newer daemon take anything", async () => {
  const asked = [
    client.search({ query: "x", later: undefined }),
    client.request("of_the_future", { whatever: 1 }, { timeoutMs: undefined }),
  ];
  for (const each of asked) await assert.rejects(each, { code: "daemon_unreachable" });
});
