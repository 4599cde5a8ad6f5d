/** OpenClaw's own modules, as far as the plugin imports them at run time. Each member may be missing in another version. */

declare module "openclaw/plugin-sdk/memory-core-host-runtime-core" {
  export const readMemoryArtifactProvenance: import("./types.js").ProvenanceReader | undefined;
  export function listMemoryCorpusSupplements(): Array<{
    pluginId: string;
    supplement: import("./types.js").Supplement;
  }>;
}

declare module "openclaw/plugin-sdk/memory-core-host-engine-indexing" {
  export function stripMemoryAnnotationCarriers(text: string): string;
  export function chunkMarkdown(
    text: string,
    options: { tokens: number; overlap: number; perEntry: boolean },
  ): Array<{ startLine: number; endLine: number; text: string; entryStartLine?: number; entryEndLine?: number }>;
  export function extractCuratedEntryRecallMetadata(asked: {
    curatedRoot: boolean;
    projectScopeEligible: boolean;
    sourceLines: string[];
  }): { importance: number | null; triggers: string | null; projectKey: string | null };
}
