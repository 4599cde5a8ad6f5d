// The protocol of one connection, without a socket.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FrameDecoder, encodeFrame } from "../lib/framing.js";
import { CLIENT_VERSION, ClientSession } from "../lib/session.js";

const HELLO = { protocol: 1, version: "1", pid: 1, capabilities: [], limits: {} };
const code = (wanted) => (error) => error.code === wanted;
const valueOf = (frame) => new FrameDecoder().feed(frame)[0];

function greeted(firstId = 1) {
  const session = new ClientSession("test", firstId);
  const { id } = session.hello();
  session.receive(encodeFrame([1, id, null, HELLO]));
  return session;
}

test("the version in hello is that of the package", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(CLIENT_VERSION, version);
});

test("nothing is sent before the reply to hello", () => {
  const session = new ClientSession("test");
  assert.throws(() => session.request("status", {}), code("hello_required"));
  session.hello();
  assert.throws(() => session.hello(), code("connection_lost"));
  assert.throws(() => session.request("status", {}), code("hello_required"));
});

test("a daemon with another protocol or an incomplete hello is rejected", () => {
  for (const [reply, wanted] of [
    [{ ...HELLO, protocol: 2 }, "protocol_mismatch"],
    [{ protocol: 1, version: "1" }, "frame_invalid"],
  ]) {
    const session = new ClientSession("test");
    const { id } = session.hello();
    const [arrival] = session.receive(encodeFrame([1, id, null, reply]));
    assert.equal(arrival.error.code, wanted);
    assert.equal(session.state, "closed");
  }
});

test("ids restart at 1 and skip those in use", () => {
  const session = greeted(2 ** 32 - 2);
  assert.equal(session.request("status", {}).id, 2 ** 32 - 1);
  assert.equal(session.request("status", {}).id, 1);
});

test("a cancelled request is cancelled at the daemon, and its reply is ignored", () => {
  const session = greeted();
  const { id } = session.request("search", { query: "x" });
  const cancelling = valueOf(session.cancel(id));
  assert.deepEqual(cancelling.slice(2), ["cancel", { id }]);
  assert.equal(session.cancel(id), null);
  const replies = [
    [1, cancelling[1], null, { cancelled: true }],
    [1, id, { code: "cancelled" }, null],
  ];
  assert.deepEqual(session.receive(Buffer.concat(replies.map((each) => encodeFrame(each)))), []);
  assert.equal(session.waiting, 0);
});

test("an error keeps an unknown code", () => {
  const session = greeted();
  const { id } = session.request("status", {});
  const [{ error }] = session.receive(
    encodeFrame([1, id, { code: "of_the_future", message: "m", data: { n: 1 } }, null]),
  );
  assert.deepEqual([error.code, error.message, error.data], ["of_the_future", "m", { n: 1 }]);
  assert.ok(error.hint);
});

test("a reply that is not a map fails only its request", () => {
  const session = greeted();
  const { id } = session.request("status", {});
  const [{ error }] = session.receive(encodeFrame([1, id, null, [1]]));
  assert.equal(error.code, "frame_invalid");
  assert.equal(session.state, "ready");
});

test("a message outside the protocol closes the session", () => {
  for (const value of [
    [0, 1, "status", {}],
    "x",
    [1, 1],
    [1, "a", null, {}],
    [2, "progress", []],
    [1, 99, null, {}],
    null,
  ]) {
    const session = greeted();
    assert.throws(() => session.receive(encodeFrame(value)), code("frame_invalid"));
    assert.throws(() => session.request("status", {}), code("connection_lost"));
  }
});

test("unknown, unrelated and incomplete notifications are ignored", () => {
  const session = greeted();
  const { id } = session.request("index", {});
  for (const value of [
    [2, "news", 3],
    [2, "progress", { id: id + 1, stage: "text", done: 1, total: 2 }],
    [2, "progress", { id }],
    [2, "event", { id: [id] }],
  ]) {
    assert.deepEqual(session.receive(encodeFrame(value)), []);
  }
  const [{ progress }] = session.receive(
    encodeFrame([2, "progress", { id, stage: "text", done: 1, total: 2, more: 1 }]),
  );
  assert.deepEqual(progress, { id, stage: "text", done: 1, total: 2, detail: "", more: 1 });
});
