// The recorded frames that all clients of memd must reproduce.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FrameDecoder } from "../lib/framing.js";
import { parseReply } from "../lib/replies.js";
import { REQUESTS } from "../lib/requests.js";
import { CLIENT_VERSION, ClientSession } from "../lib/session.js";

const FRAMES = process.env.MEMD_FRAMES ?? new URL("../../../tests/conformance/frames.json", import.meta.url);
const { client, version, exchanges } = JSON.parse(readFileSync(FRAMES, "utf8"));

/** A value as the file has it. */
function asJson(value) {
  const bytes = (_, each) =>
    each instanceof Uint8Array ? { $bytes: Buffer.from(each).toString("base64") } : each;
  return JSON.parse(JSON.stringify(value, bytes));
}

function valueOf(hex) {
  const [value] = new FrameDecoder().feed(Buffer.from(hex, "hex"));
  return value;
}

/** Send what was recorded, as this client does. */
function sent(session, [, , method, params]) {
  if (method === "hello") return session.hello();
  return session.request(method, params);
}

test("every request is recorded", () => {
  const names = new Set(exchanges.map((exchange) => exchange.sent.value[2]));
  assert.deepEqual(
    REQUESTS.filter((name) => !names.has(name)),
    [],
  );
});

test("frames contain the recorded values", () => {
  for (const { name, sent, told } of exchanges) {
    for (const { hex, value } of [sent, ...told]) assert.deepEqual(asJson(valueOf(hex)), value, name);
  }
});

for (const size of [Infinity, 7]) {
  test(`the same bytes are sent, and the replies understood, ${size} bytes at a time`, () => {
    const session = new ClientSession(client);
    const kinds = new Set();
    for (const exchange of exchanges) {
      const { name, told } = exchange;
      if (exchange.sent.value[0] === 0) {
        const request = sent(session, valueOf(exchange.sent.hex));
        if (name !== "hello" || version === CLIENT_VERSION) {
          assert.equal(request.data.toString("hex"), exchange.sent.hex, name);
        }
      }
      for (const { hex, value } of told) {
        for (const arrival of arrivals(session, Buffer.from(hex, "hex"), size)) {
          kinds.add(arrival.kind);
          check(arrival, value, exchange.sent.value[2]);
        }
      }
    }
    assert.deepEqual([...kinds].sort(), ["event", "failure", "progress", "reply"]);
  });
}

function arrivals(session, data, size) {
  const found = [];
  for (let at = 0; at < data.length; at += size) found.push(...session.receive(data.subarray(at, at + size)));
  return found;
}

/** Hold what arrived against what was recorded. */
function check(arrival, value, method) {
  if (arrival.kind === "reply") {
    assert.deepEqual(asJson(arrival.result), value[3]);
    parseReply(method, arrival.result);
  } else if (arrival.kind === "failure") {
    assert.equal(arrival.id, value[1]);
    assert.equal(arrival.error.code, value[2].code);
    assert.equal(arrival.error.message, value[2].message);
    assert.equal(arrival.error.hint, value[2].data.hint);
  } else {
    assert.deepEqual(asJson(arrival[arrival.kind]), value[2]);
  }
}
