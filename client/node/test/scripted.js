// A scripted daemon, for behaviour that a real one doesn't show.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { FrameDecoder, encodeFrame } from "../lib/framing.js";

const HELLO = { protocol: 1, version: "1", pid: 1, capabilities: [], limits: {} };

/**
 * Listen on a socket of its own; every request but hello is given to a function with the peer that asked.
 * @param {import("node:test").TestContext} context Closes it at the end of the test.
 * @param {(request: any[], peer: Peer) => void} answer
 * @param {{ greets?: boolean }} [options] Whether hello is answered.
 */
export async function scripted(context, answer, { greets = true } = {}) {
  const folder = mkdtempSync("/tmp/memd-s-");
  const path = join(folder, "s");
  const peers = new Set();
  const server = createServer((socket) => peers.add(new Peer(socket, answer, greets)));
  await new Promise((resolve) => server.listen(path, resolve));
  context.after(() => {
    for (const peer of peers) peer.socket.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { path, peers };
}

/** One connection. */
class Peer {
  constructor(socket, answer, greets) {
    this.socket = socket;
    const decoder = new FrameDecoder();
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const request of decoder.feed(data)) {
        if (request[2] !== "hello") answer(request, this);
        else if (greets) this.send([1, request[1], null, HELLO]);
      }
    });
  }

  send(value) {
    this.socket.write(encodeFrame(value));
  }
}
