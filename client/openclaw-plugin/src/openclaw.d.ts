/** OpenClaw's own modules, as far as the plugin imports them at run time. Each member may be missing in another version. */

declare module "openclaw/plugin-sdk/memory-core-host-runtime-core" {
  export const readMemoryArtifactProvenance: import("./types.js").ProvenanceReader | undefined;
  export function listMemoryCorpusSupplements(): Array<{
    pluginId: string;
    supplement: import("./types.js").Supplement;
  }>;
}
