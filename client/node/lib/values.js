// What JavaScript holds as what MessagePack carries, and back.

import { MemdError } from "./errors.js";

/**
 * Values a frame to the daemon may hold, those inside of lists and maps counted: it closes the connection of whoever
 * sends more, with all requests on it.
 */
export const MAX_VALUES = 250_000;

/** How deep lists and maps may lie within each other; a value that holds itself is caught by it. */
const MAX_DEPTH = 100;

const UINT32 = 0x1_0000_0000;

/**
 * Return a value ready for MessagePack.
 *
 * What is `undefined` in a map is left out. Half a character (a lone surrogate) has no UTF-8 form and travels as
 * U+FFFD: one such character must not cost the whole message. A Float32Array travels as its bytes, little-endian.
 * @param {unknown} value Maps, arrays, strings, bytes, numbers, booleans and null.
 * @returns {unknown}
 * @throws {MemdError} `bad_params`: it holds something that can't be sent, or too much.
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
    if (depth > MAX_DEPTH) throw unsendable("lists and maps too deep within each other");
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
 * Return what MessagePack gave: whole numbers are numbers where a number holds them exactly, else BigInt.
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
 * Return vectors as the bytes they travel as: little-endian float32, one after the other.
 * @param {Iterable<Float32Array | number[]>} vectors
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
 * @returns {Float32Array[]} Copies: they live on without the reply.
 * @throws {MemdError} `frame_invalid`: the bytes are not that many vectors.
 */
export function unpackVectors({ vectors, count, dims }) {
  if (!(vectors instanceof Uint8Array) || vectors.byteLength !== count * dims * 4) {
    throw new MemdError(
      "frame_invalid",
      `the reply to embed does not hold ${count} vectors of ${dims} numbers`,
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
