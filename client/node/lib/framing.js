// Frames: a 4-byte big-endian length and one MessagePack value. Bytes to values and back, without I/O.

import { decode, encode } from "@msgpack/msgpack";
import { MemdError } from "./errors.js";
import { fromWire, toWire } from "./values.js";

/** Longest MessagePack value of a frame, in bytes, both ways. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const HEADER_BYTES = 4;

/**
 * Return the frame of a value.
 * @param {unknown} value Maps, arrays, strings, bytes, numbers, booleans and null.
 * @param {number} [limit] The longest MessagePack value allowed, in bytes.
 * @throws {MemdError} `frame_too_big`; `bad_params` where it holds something that can't be sent.
 */
export function encodeFrame(value, limit = MAX_FRAME_BYTES) {
  const body = encode(toWire(value), { useBigInt64: true, maxDepth: 200 });
  if (body.length > limit) {
    throw new MemdError("frame_too_big", `a frame of ${body.length} bytes is over the limit of ${limit}`, {
      data: { size: body.length, limit },
    });
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32BE(body.length);
  frame.set(body, HEADER_BYTES);
  return frame;
}

/**
 * Collects bytes and gives out the values of whole frames. An announced length over the limit is refused before a byte
 * of it is kept. After an error no frame border is known any more: it stays broken, the connection has to be closed.
 */
export class FrameDecoder {
  #limit;
  /** @type {Buffer[]} */
  #parts = [];
  #held = 0;
  #broken = false;

  /** @param {number} [limit] The longest MessagePack value accepted, in bytes. */
  constructor(limit = MAX_FRAME_BYTES) {
    this.#limit = limit;
  }

  /**
   * Take bytes as they came and return the values they completed, oldest first.
   * @param {Uint8Array} data Any number of bytes, cut anywhere.
   * @returns {unknown[]}
   * @throws {MemdError} `frame_too_big`, `frame_invalid`.
   */
  feed(data) {
    if (this.#broken) throw new MemdError("frame_invalid", "the stream is unusable after a bad frame");
    this.#parts.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    this.#held += data.length;
    try {
      /** @type {unknown[]} */
      const values = [];
      for (let body = this.#take(); body !== null; body = this.#take()) values.push(decodeBody(body));
      return values;
    } catch (error) {
      this.#broken = true;
      this.#parts = [];
      throw error;
    }
  }

  /** Cut off the body of the next frame; null where it isn't whole yet. */
  #take() {
    if (this.#held < HEADER_BYTES) return null;
    if (this.#parts[0].length < HEADER_BYTES) this.#join();
    const size = this.#parts[0].readUInt32BE();
    if (size > this.#limit) {
      throw new MemdError(
        "frame_too_big",
        `a frame of ${size} bytes is announced, the limit is ${this.#limit}`,
        {
          data: { size, limit: this.#limit },
        },
      );
    }
    const end = HEADER_BYTES + size;
    if (this.#held < end) return null;
    if (this.#parts[0].length < end) this.#join();
    const whole = this.#parts[0];
    this.#parts[0] = whole.subarray(end);
    this.#held -= end;
    if (this.#parts[0].length === 0) this.#parts.shift();
    return whole.subarray(HEADER_BYTES, end);
  }

  /** Make one part of all: done once a frame, so that a large one in many pieces is copied once. */
  #join() {
    this.#parts = [Buffer.concat(this.#parts)];
  }
}

/**
 * Return the one MessagePack value of a frame's body.
 * @param {Buffer} body
 * @returns {unknown}
 */
function decodeBody(body) {
  const longest = body.length;
  const bounds = {
    maxStrLength: longest,
    maxBinLength: longest,
    maxArrayLength: longest,
    maxMapLength: longest,
  };
  try {
    // Not as a Buffer: what is binary in it shall be a plain Uint8Array.
    const bytes = new Uint8Array(body.buffer, body.byteOffset, body.length);
    return fromWire(decode(bytes, { useBigInt64: true, ...bounds }));
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 80) : String(error);
    throw new MemdError(
      "frame_invalid",
      `a frame of ${body.length} bytes is not one MessagePack value (${reason})`,
    );
  }
}
