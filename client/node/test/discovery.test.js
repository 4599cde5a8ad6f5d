// The path of the socket.

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkSocketPath, ensurePrivateDirectory, socketPath } from "../lib/discovery.js";
import { daemonCommand, logPath } from "../lib/starting.js";

const folder = mkdtempSync("/tmp/memd-d-");
after(() => rmSync(folder, { recursive: true }));
const refused = { code: "socket_path_invalid" };

test("MEMD_SOCKET has priority over the runtime directory", () => {
  const env = { MEMD_SOCKET: "~/m.sock", XDG_RUNTIME_DIR: "/run/x", HOME: "/home/a" };
  assert.equal(socketPath(env), "/home/a/m.sock");
  assert.equal(socketPath({ ...env, MEMD_SOCKET: "/s" }), "/s");
  assert.equal(socketPath({ ...env, MEMD_SOCKET: "" }), "/run/x/memd/memd.sock");
});

test("without a runtime directory it is in the home directory, or in /tmp if that path is too long", () => {
  const uid = process.getuid();
  const home = (path) => socketPath({ HOME: path }, "darwin");
  assert.equal(home("/Users/a"), "/Users/a/Library/Caches/TemporaryItems/memd/memd.sock");
  assert.equal(home(`/Users/${"a".repeat(90)}`), `/tmp/memd-${uid}/memd.sock`);
});

test("an invalid socket path is rejected with the reason", () => {
  assert.equal(checkSocketPath(`/${"a".repeat(106)}`, "linux").length, 107);
  assert.throws(() => checkSocketPath(`/${"ä".repeat(54)}`, "linux"), { ...refused, message: /109 bytes/ });
  assert.throws(() => checkSocketPath(`/${"a".repeat(103)}`, "darwin"), {
    ...refused,
    message: /allows 103/,
  });
  assert.throws(() => checkSocketPath("a/b"), refused);
  assert.throws(() => checkSocketPath("/a\0b"), refused);
});

test("the socket's directory is created with mode 0700, and a shared one is rejected", () => {
  const made = join(folder, "deep", "run");
  ensurePrivateDirectory(made);
  assert.equal(statSync(made).mode & 0o777, 0o700);
  ensurePrivateDirectory(made);
  chmodSync(made, 0o755);
  assert.throws(() => ensurePrivateDirectory(made), { ...refused, hint: /chmod 700/ });
  writeFileSync(join(folder, "file"), "");
  assert.throws(() => ensurePrivateDirectory(join(folder, "file")), refused);
});

test("memd is found on PATH or in ~/.local/bin", () => {
  const bin = join(folder, "home", ".local", "bin");
  mkdirSync(bin, { recursive: true });
  const env = { HOME: join(folder, "home"), PATH: "relative:/nowhere" };
  assert.throws(() => daemonCommand(env), { code: "daemon_start_failed", hint: /memd-daemon.*docs\/install\.md/ });
  writeFileSync(join(bin, "memd"), "#!/bin/sh\n", { mode: 0o755 });
  assert.deepEqual(daemonCommand(env), [join(bin, "memd")]);
});

test("the log is next to the socket", () => {
  assert.equal(logPath("/run/a.b/memd.sock"), "/run/a.b/memd.log");
  assert.equal(logPath("/run/a.b/memd"), "/run/a.b/memd.log");
});
