// The origins of workspace memory files, on a real file system; OpenClaw's records are a map here.

import assert from "node:assert/strict";
import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";

import { classifyWorkspaceMemoryPaths, loadProvenance, provenanceReader } from "../src/workspace-memory.js";
import { FakeClient, FakeHost, register } from "./host.js";

const noRecords = async () => undefined;

let root;
let workspace;

before(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), "memd-origins-")));
});

beforeEach(async () => {
  workspace = await mkdtemp(path.join(root, "workspace-"));
});

after(() => rm(root, { recursive: true, force: true }));

async function write(relativePath, text = "A note.\n") {
  const file = path.join(workspace, relativePath);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function outside(name) {
  const folder = await mkdtemp(path.join(root, "outside-"));
  await writeFile(path.join(folder, name), "From elsewhere.\n");
  return path.join(folder, name);
}

/** Return the origin of one path of the workspace. */
async function origin(relativePath, { records = noRecords, workspaceDir = workspace, readSources } = {}) {
  const request = { workspaceDir, relativePaths: [relativePath], ...(readSources ? { readSources } : {}) };
  const [row] = await classifyWorkspaceMemoryPaths(request, records);
  assert.equal(row.relativePath, relativePath);
  return row.originClass;
}

describe("files in the workspace", () => {
  for (const name of [
    "MEMORY.md",
    "memory.md",
    "USER.md",
    "users/ada/USER.md",
    "users/A1_b-c/USER.md",
    "memory/2026-03-04.md",
    "memory/projects/.hidden.md",
    "memory/dreaming.md",
  ]) {
    test(`${name} without a record is the agent's`, async () => {
      await write(name);
      assert.equal(await origin(name), "agent");
    });
  }

  for (const name of ["DREAMS.md", "dreams.md", "memory/dreaming/deep.md", "memory/.dreams/state.json"]) {
    test(`${name} is the system's, whatever is recorded`, async () => {
      await write(name);
      assert.equal(await origin(name, { records: async () => ({ originClass: "agent" }) }), "system");
    });
  }

  for (const name of [
    "AGENTS.md",
    "Memory.md",
    "MEMORY.MD",
    "user.md",
    "Dreams.md",
    "notes/MEMORY.md",
    "users/USER.md",
    "users/ada/user.md",
    "users/ada/extra/USER.md",
    "users/-ada/USER.md",
    `users/${"a".repeat(129)}/USER.md`,
    "users/a.b/USER.md",
    "memory/notes.txt",
    "memory/notes.MD",
    "Memory/notes.md",
  ]) {
    test(`${name} is not memory, so it is untrusted`, async () => {
      await write(name);
      assert.equal(await origin(name, { records: async () => ({ originClass: "agent" }) }), "untrusted");
    });
  }

  test("a missing file, the workspace itself and its parent are untrusted", async () => {
    for (const name of ["MEMORY.md", "", ".", "..", "../MEMORY.md"]) {
      assert.equal(await origin(name), "untrusted", name);
    }
  });

  test("a missing workspace is untrusted", async () => {
    assert.equal(await origin("MEMORY.md", { workspaceDir: path.join(root, "gone") }), "untrusted");
  });

  test("a path that leaves the workspace and returns is the file it names", async () => {
    await write("MEMORY.md");
    assert.equal(await origin(`../${path.basename(workspace)}/MEMORY.md`), "agent");
    assert.equal(await origin(`${path.join(workspace, "MEMORY.md")}`), "agent");
  });

  test("a folder whose name begins with two dots is inside", async () => {
    await write("..notes/MEMORY.md");
    assert.equal(await origin("..notes/MEMORY.md"), "untrusted");
    await symlink(await write("memory/real.md"), path.join(workspace, "..link"));
    assert.equal(await origin("..link"), "agent");
  });

  test("every path is answered, in order", async () => {
    await write("MEMORY.md");
    await write("DREAMS.md");
    const relativePaths = ["DREAMS.md", "USER.md", "MEMORY.md"];
    const rows = await classifyWorkspaceMemoryPaths({ workspaceDir: workspace, relativePaths }, noRecords);
    assert.deepEqual(rows, [
      { relativePath: "DREAMS.md", originClass: "system" },
      { relativePath: "USER.md", originClass: "untrusted" },
      { relativePath: "MEMORY.md", originClass: "agent" },
    ]);
  });
});

describe("links", () => {
  test("a link takes the origin of what it points to", async () => {
    await symlink(await write("memory/curated.md"), path.join(workspace, "MEMORY.md"));
    await symlink(await write("notes/profile.md"), path.join(workspace, "USER.md"));
    assert.equal(await origin("MEMORY.md"), "agent");
    assert.equal(await origin("USER.md"), "untrusted");
  });

  test("a link to a file outside is untrusted", async () => {
    await symlink(await outside("MEMORY.md"), path.join(workspace, "MEMORY.md"));
    assert.equal(await origin("MEMORY.md"), "untrusted");
  });

  test("a link to a dream is the system's", async () => {
    await symlink(await write("memory/dreaming/deep.md"), path.join(workspace, "MEMORY.md"));
    assert.equal(await origin("MEMORY.md"), "system");
  });

  test("a linked folder is followed: inside it counts, outside it doesn't", async () => {
    await write("archive/2026.md");
    await mkdir(path.join(workspace, "memory"));
    await symlink(path.dirname(await outside("note.md")), path.join(workspace, "memory", "shared"));
    await symlink(path.join(workspace, "memory"), path.join(workspace, "users"));
    await write("memory/ada/USER.md");
    await symlink(path.join(workspace, "archive"), path.join(workspace, "memory", "archive"));
    assert.equal(await origin("memory/shared/note.md"), "untrusted");
    assert.equal(await origin("memory/archive/2026.md"), "untrusted");
    assert.equal(await origin("users/ada/USER.md"), "agent");
  });

  test("a linked workspace is its real one", async () => {
    await write("MEMORY.md");
    const linked = path.join(root, "linked");
    await symlink(workspace, linked);
    assert.equal(await origin("MEMORY.md", { workspaceDir: linked }), "agent");
  });

  test("a broken link is untrusted", async () => {
    await symlink(path.join(workspace, "gone.md"), path.join(workspace, "MEMORY.md"));
    assert.equal(await origin("MEMORY.md"), "untrusted");
  });

  test("a hard link is a file of its own name", async () => {
    await link(await outside("MEMORY.md"), path.join(workspace, "MEMORY.md"));
    await link(await write("MEMORY.copy"), path.join(workspace, "USER.md"));
    assert.equal(await origin("MEMORY.md"), "agent");
    assert.equal(await origin("USER.md"), "agent");
  });
});

describe("records of OpenClaw's file tools", () => {
  for (const originClass of ["untrusted", "agent", "owner", "system"]) {
    test(`a record says ${originClass}`, async () => {
      await write("MEMORY.md");
      assert.equal(await origin("MEMORY.md", { records: async () => ({ originClass }) }), originClass);
    });
  }

  test("they are looked up under the real path", async () => {
    await symlink(await write("memory/curated.md"), path.join(workspace, "MEMORY.md"));
    const asked = [];
    await origin("MEMORY.md", { records: async (file) => void asked.push(file) });
    assert.deepEqual(asked, [{ workspaceDir: workspace, relativePath: "memory/curated.md" }]);
  });

  test("if they can't be read, OpenClaw gets an error and leaves every file out", async () => {
    await write("MEMORY.md");
    const records = () => Promise.reject(new Error("state database is locked"));
    await assert.rejects(origin("MEMORY.md", { records }), /state database is locked/);
  });
});

describe("a workspace on another machine", () => {
  const remote = (canonicalRelativePath, records = noRecords) =>
    origin("MEMORY.md", { readSources: [{ relativePath: "MEMORY.md", canonicalRelativePath }], records });

  test("the path its host resolved decides, and the local disk doesn't", async () => {
    assert.equal(await remote("MEMORY.md"), "agent");
    assert.equal(await remote("memory/curated.md"), "agent");
    assert.equal(await remote("memory/dreaming/deep.md"), "system");
    assert.equal(await remote("notes/MEMORY.md"), "untrusted");
    assert.equal(await remote("MEMORY.md", async () => ({ originClass: "untrusted" })), "untrusted");
  });

  for (const source of [
    undefined,
    "",
    ".",
    "..",
    "../MEMORY.md",
    "/MEMORY.md",
    "C:/MEMORY.md",
    "memory\\note.md",
    "memory/\0.md",
    "./MEMORY.md",
    "memory//note.md",
    "memory/../MEMORY.md",
  ]) {
    test(`a source of ${JSON.stringify(source)} is untrusted`, async () => {
      await write("MEMORY.md");
      assert.equal(await remote(source), "untrusted");
    });
  }

  test("a file whose source is missing is untrusted", async () => {
    await write("MEMORY.md");
    assert.equal(await origin("MEMORY.md", { readSources: [] }), "untrusted");
  });
});

describe("the reader of records", () => {
  const file = { workspaceDir: "/workspace", relativePath: "MEMORY.md" };

  test("it asks OpenClaw's function", async () => {
    const host = new FakeHost();
    const read = provenanceReader(host.logger, async () => ({
      readMemoryArtifactProvenance: async (asked) => ({ originClass: asked === file ? "owner" : "untrusted" }),
    }));
    assert.deepEqual(await read(file), { originClass: "owner" });
    assert.deepEqual(host.said, []);
  });

  for (const [what, load] of [
    ["module", () => Promise.reject(new Error("Cannot find package"))],
    ["function", async () => ({})],
  ]) {
    test(`without the ${what} every file is untrusted, and one warning says what to do`, async () => {
      const host = new FakeHost();
      const read = provenanceReader(host.logger, load);
      assert.deepEqual(await read(file), { originClass: "untrusted" });
      assert.deepEqual(await read(file), { originClass: "untrusted" });
      assert.equal(host.said.length, 1);
      assert.match(host.said[0], /^warn: memd: agents run WITHOUT their MEMORY\.md and USER\.md/);
      assert.match(host.said[0], /plugins\.slots\.memory/);
    });
  }
});

test("the plugin's runtime classifies with the daemon hung, and fails closed outside OpenClaw", async () => {
  await write("MEMORY.md");
  await write("DREAMS.md");
  const client = new FakeClient({ status: () => new Promise(() => {}) });
  const host = await register(new FakeHost(), client, { provenance: loadProvenance });
  const { runtime } = host.capability;

  const request = { cfg: {}, agentId: "main", workspaceDir: workspace, relativePaths: ["MEMORY.md", "DREAMS.md"] };
  const rows = await runtime.classifyWorkspaceMemoryPaths(request);

  assert.equal(runtime.supportsWorkspaceMemoryReadSources, true);
  assert.deepEqual(
    rows.map((row) => row.originClass),
    ["untrusted", "system"],
  );
  assert.deepEqual(client.asked, []);
  assert.equal(host.said.filter((line) => line.includes("WITHOUT their MEMORY.md")).length, 1);
});
