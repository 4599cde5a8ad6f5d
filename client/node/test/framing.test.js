// Frames and their values.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FrameDecoder, MAX_FRAME_BYTES, encodeFrame } from "../lib/framing.js";
import { MAX_VALUES, packVectors, unpackVectors } from "../lib/values.js";

const carried = (value) => new FrameDecoder().feed(encodeFrame(value))[0];
const code = (wanted) => (error) => error.code === wanted;

test("64-bit integers are decoded exactly, as numbers if a number can represent them", () => {
  for (const number of [0, -1, 2 ** 32, -(2 ** 40), Number.MAX_SAFE_INTEGER, 1_795_342_800_000]) {
    assert.equal(carried([number])[0], number);
  }
  const [large, small] = carried([2n ** 63n + 1n, 7n]);
  assert.equal(large, 2n ** 63n + 1n);
  assert.equal(small, 7);
  assert.throws(() => encodeFrame([2n ** 64n]), code("bad_params"));
});

test("a whole number of more than 32 bits is sent as an integer", () => {
  assert.equal(encodeFrame(2 ** 40)[4], 0xcf);
  assert.equal(encodeFrame(-(2 ** 40))[4], 0xd3);
});

test("a lone surrogate doesn't fail the whole message", () => {
  assert.deepEqual(carried({ "a\ud800": "b\udc00c" }), { "a\ufffd": "b\ufffdc" });
  assert.equal(carried("x".repeat(100) + "\ud83d"), "x".repeat(100) + "\ufffd");
});

test("undefined values are left out of maps", () => {
  assert.deepEqual(carried({ a: undefined, b: null, c: [undefined] }), { b: null, c: [null] });
});

test("a value that MessagePack can't encode is bad_params", () => {
  const circle = [];
  circle.push(circle);
  for (const value of [() => 1, Symbol("x"), new Map(), new Date(), circle]) {
    assert.throws(() => encodeFrame([value]), code("bad_params"));
  }
});

test("a request with too many values is rejected before it is sent", () => {
  assert.doesNotThrow(() => encodeFrame(Array(MAX_VALUES).fill(0)));
  assert.throws(() => encodeFrame(Array(MAX_VALUES + 1).fill(0)), code("bad_params"));
});

test("a frame over the limit is rejected in both directions", () => {
  assert.throws(() => encodeFrame("x".repeat(MAX_FRAME_BYTES)), code("frame_too_big"));
  const header = Buffer.alloc(4);
  header.writeUInt32BE(MAX_FRAME_BYTES + 1);
  const decoder = new FrameDecoder();
  assert.throws(() => decoder.feed(header), code("frame_too_big"));
  assert.throws(() => decoder.feed(encodeFrame(1)), code("frame_invalid"));
});

test("bytes that are not one MessagePack value are frame_invalid", () => {
  for (const body of [[0xc1], [0x01, 0x02], [0xdd, 0xff, 0xff, 0xff, 0xff], [0xa5, 0x61]]) {
    assert.throws(
      () => new FrameDecoder().feed(Buffer.from([0, 0, 0, body.length, ...body])),
      code("frame_invalid"),
    );
  }
  assert.throws(() => new FrameDecoder().feed(Buffer.from([0, 0, 0, 0])), code("frame_invalid"));
});

test("frames are decoded from a stream split at any position", () => {
  const values = [{ a: [1, "zwei"] }, "x".repeat(70_000), null, 3];
  const data = Buffer.concat(values.map((value) => encodeFrame(value)));
  for (const size of [1, 3, 4, 5, 1000, data.length]) {
    const decoder = new FrameDecoder();
    const found = [];
    for (let at = 0; at < data.length; at += size) found.push(...decoder.feed(data.subarray(at, at + size)));
    assert.deepEqual(found, values);
  }
});

test("vectors are packed and unpacked exactly", () => {
  const rows = [Float32Array.from([0.1, -2, 3e-20]), Float32Array.from([1, 2, 3])];
  const reply = carried({ vectors: packVectors(rows), count: 2, dims: 3 });
  assert.deepEqual(unpackVectors(reply), rows);
  assert.deepEqual([...carried(rows[0])], [...packVectors([rows[0]])]);
  assert.throws(() => unpackVectors({ ...reply, count: 3 }), code("frame_invalid"));
});
