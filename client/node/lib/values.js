// Conversion of JavaScript values to MessagePack values, and back.

import { MemdError } from "./errors.js";

/**
 * Limit of values in a frame to the daemon, including those inside lists and maps. The daemon closes the connection of a
 * client that sends more.
 */
export const MAX_VALUES = 250_000;

/** Limit of nested lists and maps; it also detects a value that contains itself. */
const MAX_DEPTH = 100;

const UINT32 = 0x1_0000_0000;

/**
 * Return a value ready for MessagePack.
 *
 * `undefined` in a map is left out. A lone surrogate has no UTF-8 form and is sent as U+FFFD, so that one such character
 * doesn't fail the whole message. A Float32Array is sent as its bytes, little-endian.
 * @param {unknown} value Maps, arrays, strings, bytes, numbers, booleans and null.
 * @returns {unknown}
 * @throws {MemdError} `bad_params`: it contains a value that can't be encoded, or too many values.
 */
export function toWire(value) {
  let left = MAX_VALUES;

  /** @type {(value: unknown, depth: number) => unknown} */
  function convert(value, depth) {
    if (typeof value === "string") return value.toWellFormed();
    // MessagePack's encoder takes whole numbers of more than 32 bits as BigInt.
    if (typeof value === "number")
      return Number.isSafeInteger(value) && Math.abs(value) >= UINT32 ? BigInt(value) : value;
    if (typeof value === "bigint") return checkedBigInt(value);
    if (value === null || value === undefined) return null;
    if (typeof value === "boolean" || value instanceof Uint8Array) return value;
    if (value instanceof Float32Array) return packVectors([value]);
    if (typeof value !== "object") throw unsendable(`a ${typeof value}`);
    if (depth > MAX_DEPTH) throw unsendable("lists and maps nested too deeply");
    return Array.isArray(value) ? convertList(value, depth) : convertMap(value, depth);
  }

  /** @type {(values: unknown[], depth: number) => unknown[]} */
  function convertList(values, depth) {
    count(values.length);
    return values.map((each) => convert(each, depth + 1));
  }

  /** @type {(map: object, depth: number) => Record<string, unknown>} */
  function convertMap(map, depth) {
    const kind = Object.getPrototypeOf(map);
    if (kind !== null && kind !== Object.prototype && kind.constructor?.name !== "Object") {
      throw unsendable(`a ${kind.constructor?.name ?? "strange object"}`);
    }
    const entries = Object.entries(map).filter(([, each]) => each !== undefined);
    count(entries.length);
    return Object.fromEntries(entries.map(([key, each]) => [key.toWellFormed(), convert(each, depth + 1)]));
  }

  /** @type {(values: number) => void} */
  function count(values) {
    left -= values;
    if (left < 0) throw unsendable(`more than ${MAX_VALUES} values`);
  }

  return convert(value, 0);
}

/**
 * Convert decoded values: whole numbers become numbers if a number represents them exactly, else they stay BigInt.
 * @param {any} value Decoded with BigInt for 64-bit integers; changed in place.
 * @returns {any}
 */
export function fromWire(value) {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = fromWire(value[at]);
  } else if (value !== null && typeof value === "object" && !ArrayBuffer.isView(value)) {
    for (const key of Object.keys(value)) value[key] = fromWire(value[key]);
  }
  return value;
}

/**
 * Return vectors as bytes: packed little-endian float32.
 * @param {Iterable<Float32Array | number[]>} vectors
 * @returns {Uint8Array}
 */
export function packVectors(vectors) {
  const rows = [...vectors];
  const bytes = new Uint8Array(4 * rows.reduce((sum, row) => sum + row.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const row of rows) {
    for (const number of row) {
      view.setFloat32(at, number, true);
      at += 4;
    }
  }
  return bytes;
}

/**
 * Return the vectors of a reply to `embed`, one for each text.
 * @param {{ vectors: Uint8Array, count: number, dims: number }} reply
 * @returns {Float32Array[]} Copies, independent of the reply.
 * @throws {MemdError} `frame_invalid`: the bytes don't match `count` and `dims`.
 */
export function unpackVectors({ vectors, count, dims }) {
  if (!(vectors instanceof Uint8Array) || vectors.byteLength !== count * dims * 4) {
    throw new MemdError(
      "frame_invalid",
      `the reply to embed does not contain ${count} vectors of ${dims} numbers`,
    );
  }
  const view = new DataView(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  return Array.from({ length: count }, (_, row) =>
    Float32Array.from({ length: dims }, (_, column) => view.getFloat32(4 * (row * dims + column), true)),
  );
}

/** @type {(value: bigint) => bigint} */
function checkedBigInt(value) {
  if (BigInt.asIntN(64, value) !== value && BigInt.asUintN(64, value) !== value)
    throw unsendable("a number of more than 64 bits");
  return value;
}

/** @type {(what: string) => MemdError} */
function unsendable(what) {
  return new MemdError("bad_params", `a value can't be sent: ${what}`);
}
