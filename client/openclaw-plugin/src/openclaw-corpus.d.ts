/** What the plugin imports of OpenClaw's interface for memory, which the npm package doesn't declare. */

declare module "openclaw/plugin-sdk/memory-core-host-runtime-core" {
  export function listMemoryCorpusSupplements(): Array<{
    pluginId: string;
    supplement: import("./types.js").Supplement;
  }>;
}
