// Encoding and decoding of frames: a 4-byte big-endian length and one MessagePack value, without I/O.

import { decode, encode } from "@msgpack/msgpack";
import { MemdError } from "./errors.js";
import { fromWire, toWire } from "./values.js";

/** Longest MessagePack value of a frame, in bytes, in both directions. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const HEADER_BYTES = 4;

/**
 * Return the frame of a value.
 * @param {unknown} value Maps, arrays, strings, bytes, numbers, booleans and null.
 * @param {number} [limit] The longest MessagePack value allowed, in bytes.
 * @throws {MemdError} `frame_too_big`; `bad_params` if it contains a value that can't be encoded.
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
 * Collects bytes and returns the values of complete frames. An announced length over the limit is rejected before any byte
 * of the frame is kept. After an error the position of the next frame is unknown: the decoder stays broken, and the
 * connection must be closed.
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
   * Add received bytes and return the values they complete, oldest first.
   * @param {Uint8Array} data Any number of bytes, split at any position.
   * @returns {unknown[]}
   * @throws {MemdError} `frame_too_big`, `frame_invalid`.
   */
  feed(data) {
    if (this.#broken) throw new MemdError("frame_invalid", "the stream is unusable after an invalid frame");
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

  /** Remove and return the body of the next frame; null if it is incomplete. */
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

  /** Join all parts: once per frame, so that a large frame in many parts is copied once. */
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
    // Not as a Buffer, so that binary values are plain Uint8Arrays.
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
