/** What the plugin uses of OpenClaw's interface (docs/plugins of the npm package `openclaw`), and its own few types. */

export interface Settings {
  readonly socketPath: string | undefined;
  readonly startDaemon: boolean;
  readonly daemonCommand: string[] | undefined;
  readonly toolDeadlineMs: number;
  readonly hookDeadlineMs: number;
  readonly factTools: boolean;
  readonly autoRecall: boolean;
  readonly autoCapture: boolean;
  readonly sessionNotes: boolean;
}

export interface MemdClient {
  request(
    method: string,
    params: Record<string, unknown>,
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<any>;
  close(): Promise<void>;
}

export type MakeClient = (options: {
  socketPath?: string;
  stateDir: string;
  autostart: boolean;
  daemonCommand?: string[];
  timeoutMs: number;
  clientName: string;
}) => MemdClient;

export interface Logger {
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
}

interface SearchSettings {
  enabled?: boolean;
}

interface AgentEntry {
  id?: string;
  memory?: { search?: SearchSettings };
  memorySearch?: SearchSettings;
}

/** Of openclaw.json, in its older and newer forms, what the plugin looks at. */
export interface HostConfig {
  agents?: {
    defaults?: {
      memorySearch?: SearchSettings;
      userTimezone?: string;
      sandbox?: { sessionToolsVisibility?: string };
      compaction?: Compaction;
    };
    entries?: Record<string, AgentEntry>;
    list?: AgentEntry[];
  };
  memory?: { search?: SearchSettings; citations?: string };
  tools?: { sessions?: { visibility?: unknown } };
  session?: { mainKey?: string };
  hooks?: { internal?: { enabled?: boolean; entries?: Record<string, { enabled?: boolean }> } };
  plugins?: { entries?: Record<string, PluginEntry> };
}

export interface Compaction {
  reserveTokensFloor?: number;
  memoryFlush?: {
    enabled?: boolean;
    softThresholdTokens?: number;
    forceFlushTranscriptBytes?: number | string;
    prompt?: string;
    systemPrompt?: string;
    model?: string;
  };
}

/** Memory settings in the plugin's config, as far as the plugin itself needs them. */
export interface OwnSettings {
  search?: SearchSettings;
  citations?: string;
  userTimezone?: string;
  compaction?: Compaction;
}

export interface PluginEntry {
  enabled?: boolean;
  hooks?: { allowConversationAccess?: boolean };
  config?: OwnSettings & { agents?: Record<string, OwnSettings> };
}

export interface SessionEntry {
  sessionId?: string;
  sessionFile?: string;
  spawnedBy?: string | null;
  parentSessionKey?: string | null;
  ownerSessionKey?: string | null;
  chatType?: string | null;
  delivery?: { kind?: string; origin?: { chatType?: string } };
}

/** For which conversation OpenClaw looks into others before a reply. */
export interface ConversationRecall {
  anchorSessionKey: string;
  scope: string;
  corpus: string;
}

export interface WikiRow {
  corpus: string;
  path: string;
  score: number;
  snippet: string;
  [key: string]: unknown;
}

export interface WikiPage {
  corpus: string;
  path: string;
  content: string;
  [key: string]: unknown;
}

/** What another plugin adds to memory. */
export interface Supplement {
  search(asked: Record<string, unknown>): Promise<WikiRow[]>;
  get(asked: Record<string, unknown>): Promise<WikiPage | null>;
}

export type ListSupplements = () => Promise<Array<{ pluginId: string; supplement: Supplement }>>;

/** What became of a corpus that was asked for. */
export interface CorpusOutcome {
  corpus: "memory" | "wiki";
  outcome: "ok" | "unavailable" | "not-registered";
  error?: string;
}

/** Lists the sessions of an agent. */
export type SessionEntries = (agentId: string) => Array<{ sessionKey: string; entry: SessionEntry }>;

/** Returns the folder of an agent's workspace. */
export type WorkspaceOf = (cfg: HostConfig, agentId: string) => string;

/** An entry of a note with what its comments say. */
export interface Annotated {
  path: string;
  start_line: number;
  end_line: number;
  text: string;
  importance: number | null;
  triggers: string[];
  projects: string[];
  mtime_ms: number;
}

/** Reads entries of notes in a workspace, the most important first. */
export type EntryReader = (
  workspaceDir: string,
  paths: string[],
  asked: { kind: "triggers" | "projects"; limit: number; activeProjects: string[] | undefined },
) => Promise<Annotated[]>;

/** What a session may see: a transcript by its path, and a conversation by the key of its session. */
export interface Visibility {
  seeTranscript(path: string): boolean;
  seeSession(key: string): boolean;
}

/** Who asks for hits. `entries` lists an agent's sessions, `noteSessions` the sessions of notes that keep a conversation. */
export interface Asker {
  cfg: HostConfig | undefined;
  agent: string | undefined;
  requester: string | undefined;
  sandboxed: boolean;
  entries: SessionEntries;
  noteSessions?: NoteSessions;
}

/** The key of the session whose conversation a note keeps, by the note's path. */
export type NoteSessions = ReadonlyMap<string, string | undefined>;

export interface Provenance {
  originClass: MemoryOrigin;
  sessionKind: "unknown";
  observedAt: number;
}

/** Whose conversation a note keeps, if any, and on whose behalf it was written. */
export interface NoteFacts {
  session: string | undefined;
  provenance: Provenance;
}

export type DescribeNotes = (workspaceDir: string, paths: string[]) => Promise<Map<string, NoteFacts>>;

export interface SearchRow {
  path: string;
  startLine: number;
  endLine: number;
  score: number;
  vectorScore?: number;
  textScore?: number;
  snippet: string;
  source: "memory" | "sessions";
  citation?: string;
  relevance?: "weak";
  supersededBy?: string;
  currency?: string;
  origin?: string;
  origin_reason?: string;
  importance?: number;
  triggers?: string;
  projectKey?: string;
  provenance?: Provenance;
}

export interface ToolResult {
  content: Array<{ type: "text"; text: string }>;
  details: Record<string, unknown>;
}

export interface ToolDefinition {
  name: string;
  label: string;
  description: string;
  parameters: Record<string, unknown>;
  catalogMode?: "direct-only";
}

export interface Tool extends ToolDefinition {
  execute(callId: string, given: unknown, signal?: AbortSignal): Promise<ToolResult>;
}

export interface ToolContext {
  config?: HostConfig;
  runtimeConfig?: HostConfig;
  getRuntimeConfig?: () => HostConfig | undefined;
  agentId?: string;
  sessionKey?: string;
  sandboxed?: boolean;
  activeProjectKeys?: readonly string[];
  conversationRecall?: ConversationRecall;
}

export interface FlushPlan {
  softThresholdTokens: number;
  forceFlushTranscriptBytes: number;
  reserveTokensFloor: number;
  model?: string;
  prompt: string;
  systemPrompt: string;
  relativePath: string;
}

export interface Artifact {
  kind: string;
  workspaceDir: string;
  relativePath: string;
  absolutePath: string;
  agentIds: string[];
  contentType: "markdown";
}

export interface ManagerStatus {
  backend: "builtin";
  provider: string;
  [key: string]: unknown;
}

export interface Probe {
  ok: boolean;
  error?: string;
  checked?: boolean;
}

export type ReadResult =
  | { status: "ok"; path: string; text: string; from?: number; lines?: number; truncated?: boolean; nextFrom?: number }
  | { status: "not_found"; path: string; text: "" };

export interface MemoryManager {
  search(query: string, options?: SearchOptions): Promise<SearchRow[]>;
  listTriggerCandidates(options?: { limit?: number; activeProjectKeys?: string[] }): Promise<SearchRow[]>;
  listCuratedProjectCandidates(options: { limit?: number; activeProjectKeys: string[] }): Promise<SearchRow[]>;
  readFile(asked: { relPath: string; from?: number; lines?: number }): Promise<ReadResult>;
  status(): ManagerStatus;
  sync(asked?: { force?: boolean }): Promise<void>;
  probeEmbeddingAvailability(): Promise<Probe>;
  probeVectorAvailability(): Promise<boolean>;
  close(): Promise<void>;
}

export interface SearchOptions {
  maxResults?: number;
  minScore?: number;
  sources?: string[];
  lexicalOnly?: boolean;
  activeProjectKeys?: string[];
  signal?: AbortSignal;
  onDebug?: (debug: Record<string, unknown>) => void;
}

export interface MemoryRuntime {
  getMemorySearchManager(asked: { cfg: HostConfig; agentId: string; purpose?: string }): Promise<{
    manager: MemoryManager | null;
    error?: string;
  }>;
  resolveMemoryBackendConfig(): { backend: "builtin" };
  authorizeSearchHits(asked: {
    cfg: HostConfig;
    agentId: string;
    requesterSessionKey: string | undefined;
    sandboxed: boolean;
    hits: SearchRow[];
  }): Promise<SearchRow[]>;
  supportsWorkspaceMemoryReadSources: true;
  classifyWorkspaceMemoryPaths(
    asked: WorkspacePathsRequest,
  ): Promise<{ relativePath: string; originClass: MemoryOrigin }[]>;
  closeMemorySearchManager(): Promise<void>;
  closeAllMemorySearchManagers(): Promise<void>;
}

/** On whose behalf a memory file was written. OpenClaw trusts `owner` and `agent`. */
export type MemoryOrigin = "owner" | "agent" | "untrusted" | "system";

/** OpenClaw's request for the origins of files. With `readSources` the workspace is on another machine. */
export interface WorkspacePathsRequest {
  workspaceDir: string;
  relativePaths: string[];
  readSources?: { relativePath: string; canonicalRelativePath?: string }[];
}

export type ProvenanceReader = (file: {
  workspaceDir: string;
  relativePath: string;
}) => Promise<{ originClass: MemoryOrigin } | undefined>;

export interface MemoryCapability {
  deterministicRecallToolName: string;
  supportsPrivateTranscriptRecall: boolean;
  promptBuilder(asked: {
    availableTools: Set<string>;
    citationsMode?: string;
    agentId?: string;
    agentSessionKey?: string;
  }): string[];
  flushPlanResolver(asked: { cfg?: HostConfig; nowMs?: number; contextWindowTokens?: number }): FlushPlan | null;
  runtime: MemoryRuntime;
  publicArtifacts: { listArtifacts(asked: { cfg: HostConfig }): Promise<Artifact[]> };
}

export interface SessionContext {
  agentId?: string;
  sessionId?: string;
  sessionKey?: string;
}

export interface AgentContext extends SessionContext {
  trigger?: string;
  inputProvenance?: { kind?: string };
}

export interface SessionStartEvent {
  sessionId: string;
  sessionKey?: string;
}

export interface SessionEndEvent extends SessionStartEvent {
  reason?: string;
  nextSessionId?: string;
}

export interface PromptEvent {
  prompt: string;
  currentUserMessage?: string;
}

export interface TurnEndEvent {
  messages: unknown[];
  success: boolean;
}

interface Events {
  session_start: (event: SessionStartEvent, context: SessionContext) => Promise<void>;
  session_end: (event: SessionEndEvent, context: SessionContext) => Promise<void>;
  after_compaction: (event: object, context: AgentContext) => Promise<void>;
  before_prompt_build: (event: PromptEvent, context: AgentContext) => Promise<{ prependContext: string } | undefined>;
  agent_end: (event: TurnEndEvent, context: AgentContext) => Promise<void>;
}

/** The used part of a command of commander. */
export interface Command {
  command(name: string): Command;
  description(text: string): Command;
  option(flags: string, text: string, read?: (value: string) => unknown): Command;
  action(handler: (...given: any[]) => Promise<void>): Command;
}

/** The used part of OpenClaw's plugin API. */
export interface Host {
  pluginConfig?: Partial<Settings>;
  config: HostConfig;
  registrationMode: string;
  logger: Logger;
  runtime: {
    config?: { current?: () => HostConfig };
    agent: {
      session: { listSessionEntries: (asked: { agentId: string }) => ReturnType<SessionEntries> };
      resolveAgentWorkspaceDir: WorkspaceOf;
    };
    state: { resolveStateDir: (environ: Record<string, string | undefined>) => string };
  };
  registerMemoryCapability(capability: MemoryCapability): void;
  registerTool(factory: (context: ToolContext) => Tool | null, options: { names: string[] }): void;
  registerCli(
    registrar: (asked: { program: Command }) => void,
    options: { descriptors: Array<{ name: string; description: string; hasSubcommands: boolean }> },
  ): void;
  registerService(service: { id: string; start(): void; stop(): Promise<void> }): void;
  on<Name extends keyof Events>(name: Name, handler: Events[Name], options?: { timeoutMs?: number }): void;
}
