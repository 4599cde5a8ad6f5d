// Made by `python -m tests.support.node_types` from the Python client: don't edit.
// docs/protocol.md of memd documents them under the same names.

/**
 * The first request of a connection.
 *
 * `state_dir` is the real path of the client's state folder; a daemon of another folder refuses it. Empty: any folder,
 * as a client on another machine has to leave the choice to that machine.
 */
export interface HelloParams {
  protocol?: number;
  client?: string;
  version?: string;
  state_dir?: string;
}

/**
 * The daemon's release, its process, the requests it knows (`capabilities`), its limits and its state folder.
 */
export interface HelloReply {
  protocol: number;
  version: string;
  pid: number;
  capabilities: string[];
  limits: Record<string, number>;
  state_dir: string;
}

/**
 * Which agent to report on (None: all); `deep` also probes embeddings, vectors and keyword index.
 */
export interface StatusParams {
  agent?: string | null;
  deep?: boolean;
}

/**
 * The local model and its process.
 */
export interface ModelStatus {
  model: string;
  path: string;
  state: string;
  pid: number | null;
  rss_bytes: number;
  queued: number;
  restarts: number;
  problem: string;
}

/**
 * A vector space that is being filled while another one is searched.
 *
 * `done` of `total` chunks have a vector. `eta_s` is None while the rate is unknown; `tokens` estimates the cost of
 * the missing chunks.
 */
export interface FillProgress {
  provider: string;
  model: string;
  space: string;
  done: number;
  total: number;
  eta_s: number | null;
  tokens: number;
}

/**
 * The configured provider that failed, why, and since when (epoch milliseconds).
 */
export interface Fallback {
  provider: string;
  code: string;
  reason: string;
  since_ms: number;
}

/**
 * A job at a provider's batch API.
 */
export interface BulkJob {
  id: string;
  state: string;
  texts: number;
  done: number;
  submitted_ms: number;
}

/**
 * A chunk that the provider rejects; only keyword search finds it.
 */
export interface RejectedText {
  path: string;
  start_line: number;
  end_line: number;
  reason: string;
}

/**
 * An agent's transcripts: how many are indexed, and how many there are of each file format era.
 *
 * `excluded` counts the sessions that are not indexed, by kind; `redactions` counts secrets removed from the index.
 */
export interface SessionsStatus {
  transcripts: number;
  messages: number;
  redactions: number;
  stores: Record<string, number>;
  excluded: Record<string, number>;
}

/**
 * A problem, and a hint what to do about it.
 */
export interface Problem {
  code: string;
  message: string;
  hint: string;
}

/**
 * A source of another program; `agent` is the one it belongs to, empty if none.
 *
 * `kind` is `transcripts` or `notes`. `files` and `bytes` count what is read in place, `sessions` and `messages` what
 * is indexed of it. `excluded` counts sessions that are not indexed, by kind; `unknown` counts records that no reader
 * knows. `retained` counts copies of sessions that the program deleted, in `retained_bytes`. `newest_ms` is None if
 * unknown.
 */
export interface SourceStatus {
  name: string;
  title: string;
  kind: string;
  agent: string;
  locations: string[];
  files: number;
  bytes: number;
  sessions: number;
  messages: number;
  redactions: number;
  unknown: number;
  excluded: Record<string, number>;
  newest_ms: number | null;
  keep: boolean;
  retained: number;
  retained_bytes: number;
  problems: Problem[];
}

/**
 * A machine that has an agent's memory.
 *
 * `behind` counts the commits that it has not received yet, as far as this machine knows; -1 if unknown. `at_ms` is
 * the time of the last commit it has, None if unknown.
 */
export interface MachineStatus {
  name: string;
  is_local: boolean;
  behind: number;
  at_ms: number | null;
}

/**
 * A file with lines of another machine that conflict with a note; `note` is the note's path if known.
 */
export interface MemoryConflict {
  path: string;
  note: string;
  machine: string;
  date: string;
}

/**
 * A file that is not in the index, and why.
 */
export interface SkippedFile {
  path: string;
  reason: string;
}

/**
 * An agent's memory on a remote.
 *
 * `state` is `ok`, `pending` (changes wait to be sent), `offline`, `refused` (the remote has what memd doesn't
 * accept, or doesn't accept our changes), `failed`, `held` (a folder lost most of its files, and memd asks before it
 * deletes them elsewhere), or `paused`. `ahead` counts commits that the remote lacks, `is_behind` tells whether it has
 * commits that are not here yet. `waiting` are files that wait for another program that writes to them, or for the
 * answer to a question, `excluded` files that are not replicated. `next_sync_ms` is None while paused.
 */
export interface RemoteStatus {
  agent: string;
  url: string;
  machine: string;
  state: string;
  files: number;
  ahead: number;
  is_behind: boolean;
  last_sync_ms: number | null;
  next_sync_ms: number | null;
  machines: MachineStatus[];
  conflicts: MemoryConflict[];
  waiting: SkippedFile[];
  excluded: SkippedFile[];
  problem: Problem | null;
}

/**
 * Why a reply is incomplete, and since when (epoch milliseconds).
 */
export interface Degradation {
  code: string;
  reason: string;
  since_ms: number;
  hint: string;
}

/**
 * One probe of a deep status.
 */
export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

/**
 * One agent's memory. The defaults are those of a memory that can't be opened.
 *
 * `waits_for` is set if chunks without a vector wait for something other than time or the provider.
 */
export interface AgentStatus {
  agent: string;
  workspace: string;
  index_path: string;
  enabled: boolean;
  sources: string[];
  files: number;
  chunks: number;
  vectors: number;
  files_pending: number;
  chunks_pending: number;
  oldest_pending_ms: number;
  provider: string;
  model: string;
  dims: number;
  space: string;
  filling: FillProgress | null;
  waits_for: string;
  fallback: Fallback | null;
  jobs: BulkJob[];
  rejected: RejectedText[];
  vector_path: string;
  vector_path_reason: string;
  last_sync_ms: number | null;
  syncing: boolean;
  watch: string;
  watch_reason: string;
  interval_minutes: number;
  sessions: SessionsStatus | null;
  added: SourceStatus[];
  remote: RemoteStatus | null;
  generation: number;
  index_bytes: number;
  degraded: Degradation | null;
  skipped: SkippedFile[];
  problems: Problem[];
  checks: Check[];
}

/**
 * A running or failed download of a model. Sizes are bytes; `total` is 0 if unknown.
 */
export interface DownloadStatus {
  ref: string;
  state: string;
  stage: string;
  done: number;
  total: number;
  problem: string;
}

/**
 * One account at a provider: its state, and today's calls and tokens.
 *
 * `state` is `ok` or `paused`; `code`, `reason`, `since_ms` and `until_ms` (epoch milliseconds) describe a pause.
 */
export interface AccountStatus {
  provider: string;
  state: string;
  calls_today: number;
  tokens_today: number;
  code: string;
  reason: string;
  since_ms: number;
  until_ms: number;
}

/**
 * RAM in use and its budgets, in bytes: vectors, model processes and SQLite's page caches.
 *
 * `total_budget` includes the daemon's own RAM. `on_battery`: the machine runs on battery power.
 */
export interface MemoryStatus {
  vectors_bytes: number;
  vectors_budget: number;
  models_bytes: number;
  models_budget: number;
  pages_bytes: number;
  pages_budget: number;
  total_budget: number;
  on_battery: boolean;
}

/**
 * The daemon and its agents. `token_budget` is the daily limit of tokens, 0 without one.
 *
 * `installation`, in a deep status of all agents, has the programs, settings and files that `memctl doctor` checks.
 */
export interface StatusReply {
  version: string;
  pid: number;
  uptime_ms: number;
  socket: string;
  state_dir: string;
  config_path: string;
  rss_bytes: number;
  connections: number;
  sqlite_vec: string;
  models: ModelStatus[];
  agents: AgentStatus[];
  problems: Problem[];
  downloads: DownloadStatus[];
  accounts: AccountStatus[];
  tokens_today: number;
  token_budget: number;
  memory: MemoryStatus;
  installation: Record<string, unknown> | null;
}

/**
 * No parameters.
 */
export interface MetricsParams {}

/**
 * One value of a metric; `labels` distinguish it from the other values.
 */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/**
 * Durations in seconds. `counts` has a value per bucket of `MetricsReply.bounds`, and one for longer durations.
 */
export interface Histogram {
  labels: Record<string, string>;
  counts: number[];
  sum: number;
  p50: number;
  p95: number;
  p99: number;
}

/**
 * A metric. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`).
 */
export interface Metric {
  name: string;
  kind: string;
  help: string;
  samples: Sample[];
  histograms: Histogram[];
}

/**
 * All metrics, and the upper bounds of the histograms' buckets in seconds.
 *
 * A changed `pid` or a smaller `uptime_ms` means that the counters restarted.
 */
export interface MetricsReply {
  version: string;
  pid: number;
  uptime_ms: number;
  bounds: number[];
  metrics: Metric[];
}

/**
 * A query to one agent's memory.
 *
 * `min_score` and `max_results` default to the agent's settings. `path` keeps hits whose path starts with it.
 * `deadline_ms` limits the whole request. `lexical_only` runs keyword search alone, without embedding the query.
 * `active_projects` are keys of the current projects: entries about them score higher, entries about other projects
 * lower. `exclude_session` is the key of the calling session: its conversation since the last reset is excluded.
 * `max_chars` limits the characters of all snippets together, instead of the number of hits; each snippet is then as
 * long as its evidence deserves. `include_weak` keeps hits that are hardly related to the query. `project` keeps
 * conversations held in a project, by its name or path. `since` keeps what was said or written since a day
 * (`2026-11-02`) or within a duration (`7d`).
 */
export interface SearchParams {
  query: string;
  agent?: string | null;
  max_results?: number | null;
  min_score?: number | null;
  sources?: string[] | null;
  path?: string | null;
  deadline_ms?: number | null;
  explain?: boolean;
  lexical_only?: boolean;
  active_projects?: string[] | null;
  exclude_session?: string | null;
  max_chars?: number | null;
  include_weak?: boolean;
  project?: string | null;
  since?: string | null;
}

/**
 * A later statement about the same subject with another value.
 *
 * `date` (YYYY-MM-DD) is that of the later statement, `outdated_date` that of the statement it supersedes.
 */
export interface Supersession {
  path: string;
  start_line: number;
  end_line: number;
  citation: string;
  date: string;
  outdated_date: string;
}

/**
 * The conversation that a hit is from.
 *
 * `program` is its source. `date` (YYYY-MM-DD) is that of the hit's last line, `speakers` says who speaks in the hit.
 * `open` is the command that opens the session in its program, empty without one. `deleted`: the program deleted the
 * session, and memd kept a copy.
 */
export interface SessionInfo {
  program: string;
  id: string;
  title: string;
  project: string;
  branch: string;
  date: string;
  speakers: string[];
  open: string;
  deleted: boolean;
}

/**
 * One search result; `snippet` is an exact slice of a file around the match.
 *
 * In a transcript (`source` is `sessions`) the lines are those of the transcript. `copies` counts the chunks with the
 * same text or a near duplicate of it. `annotations` are those of the entry's comments (`importance`, `triggers`,
 * `projects`), None without any. `agent` is filled in only in the reply to `search_agents`. `relevance` is `strong` or
 * `weak`. `superseded_by` is set if a later statement has another value. `session` is set if the hit is from a
 * conversation of another program.
 */
export interface Hit {
  path: string;
  start_line: number;
  end_line: number;
  score: number;
  vector_score: number | null;
  text_score: number | null;
  snippet: string;
  source: string;
  citation: string;
  copies: number;
  explain: Record<string, unknown> | null;
  annotations: Record<string, unknown> | null;
  agent: string | null;
  relevance: string;
  superseded_by: Supersession | null;
  session: SessionInfo | null;
}

/**
 * Changes that are not in the reply yet.
 *
 * `files` wait to be read, `chunks` to be embedded; `oldest_ms` is the longest wait among them.
 */
export interface PendingChanges {
  files: number;
  chunks: number;
  oldest_ms: number;
}

/**
 * Why a search has no hits, and what to do; `min_score` in the hint is the request's parameter.
 *
 * `code` is one of `source_unknown`, `sessions_not_indexed`, `no_transcripts`, `source_empty`, `workspace_missing`,
 * `no_notes`, `path_matches_nothing`, `indexing`, `remote_pending`, `project_unknown`,
 * `no_match`.
 */
export interface EmptyResult {
  code: string;
  message: string;
  hint: string;
}

/**
 * Hits, best first, and how they were found.
 *
 * `mode` is `hybrid`, `keyword` or `vector`; `abstained` is true if nothing relevant was found. `provider`, `model`
 * and `space` name the vector space that was searched, `filling` the one that is being filled. `empty` is the reason
 * for having no hits.
 */
export interface SearchReply {
  agent: string;
  hits: Hit[];
  mode: string;
  degraded: Degradation | null;
  abstained: boolean;
  took_ms: number;
  provider: string;
  model: string;
  generation: number;
  pending: PendingChanges;
  partial: boolean;
  space: string;
  filling: FillProgress | null;
  fallback: Fallback | null;
  timings: Record<string, number> | null;
  empty: EmptyResult | null;
}

/**
 * A query to the memory of several agents: the named ones, or all whose memory is on.
 *
 * The other parameters are those of `SearchParams`. `max_results` defaults to the default agent's setting. `max_chars`
 * and `deadline_ms` limit all agents together.
 */
export interface SearchAgentsParams {
  query: string;
  agents?: string[] | null;
  max_results?: number | null;
  min_score?: number | null;
  sources?: string[] | null;
  path?: string | null;
  deadline_ms?: number | null;
  explain?: boolean;
  lexical_only?: boolean;
  active_projects?: string[] | null;
  exclude_session?: string | null;
  max_chars?: number | null;
  include_weak?: boolean;
  project?: string | null;
  since?: string | null;
}

/**
 * How one agent's memory was searched, as in `SearchReply`; with `error`, why it was not (`mode` is empty).
 */
export interface SearchedAgent {
  agent: string;
  mode: string;
  degraded: Degradation | null;
  abstained: boolean;
  took_ms: number;
  pending: PendingChanges | null;
  partial: boolean;
  fallback: Fallback | null;
  provider: string;
  model: string;
  empty: EmptyResult | null;
  error: Problem | null;
}

/**
 * Hits of several agents, best first, each with its agent; and one row per agent searched.
 */
export interface SearchAgentsReply {
  hits: Hit[];
  agents: SearchedAgent[];
  took_ms: number;
}

/**
 * Which lines of a memory file to return; `lines` defaults to the rest of the file.
 *
 * With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
 * lines are those of the transcript, as in a hit.
 */
export interface GetParams {
  path: string;
  agent?: string | null;
  from_line?: number;
  lines?: number | null;
  include_conversations?: boolean;
}

/**
 * The requested lines, unchanged; `truncated` if the frame limit cut them off.
 *
 * For a conversation, `text` has a line for each message, with its speaker, and `line_numbers` has the line of the
 * transcript for each of them; `total_lines` is the last of all its messages. It is empty for a file.
 */
export interface GetReply {
  agent: string;
  path: string;
  text: string;
  from_line: number;
  lines: number;
  total_lines: number;
  truncated: boolean;
  line_numbers: number[];
}

/**
 * Which files to list, newest first: of some sources (None: of all), `limit` from `offset` on.
 */
export interface FilesParams {
  agent?: string | null;
  sources?: string[] | null;
  offset?: number;
  limit?: number;
}

/**
 * A memory file, in its present state on disk.
 *
 * `chunks` is its number of chunks in the index, 0 if it was not read yet. `title` is its first heading, or empty.
 * `date` is the day at the start of its name (YYYY-MM-DD), or None.
 */
export interface FileEntry {
  path: string;
  source: string;
  mtime_ms: number;
  size_bytes: number;
  chunks: number;
  title: string;
  date: string | null;
}

/**
 * Files, newest first. `total` counts all files; `skipped` lists those not indexed, each with its reason.
 */
export interface FilesReply {
  agent: string;
  files: FileEntry[];
  total: number;
  skipped: SkippedFile[];
}

/**
 * Which agent's index to update (None: all); `force` reads, chunks and embeds everything again.
 */
export interface IndexParams {
  agent?: string | null;
  force?: boolean;
}

/**
 * The result of one agent's sync.
 */
export interface IndexedAgent {
  agent: string;
  files: number;
  chunks: number;
  files_changed: number;
  files_removed: number;
  embedded: number;
  reused: number;
  took_ms: number;
  degraded: Degradation | null;
  skipped: SkippedFile[];
  error: Problem | null;
}

/**
 * One row per agent synced.
 */
export interface IndexReply {
  agents: IndexedAgent[];
}

/**
 * Which agent's index to rebuild (None: all); with `delete_vectors` all chunks are embedded again.
 */
export interface ResetParams {
  agent?: string | null;
  delete_vectors?: boolean;
}

/**
 * One row per agent.
 */
export interface ResetReply {
  agents: IndexedAgent[];
}

/**
 * Which agent's index to compact (None: all).
 */
export interface VacuumParams {
  agent?: string | null;
}

/**
 * The result of compacting one agent's index. Sizes are bytes, including the write-ahead log.
 */
export interface VacuumedAgent {
  agent: string;
  bytes_before: number;
  bytes_after: number;
  vectors_removed: number;
  took_ms: number;
  error: Problem | null;
}

/**
 * One row per agent.
 */
export interface VacuumReply {
  agents: VacuumedAgent[];
}

/**
 * Texts to embed; `kind` is `query` or `document`.
 *
 * With `keep`, vectors of documents are stored in the agent's cache, and cached vectors are reused.
 */
export interface EmbedParams {
  texts: string[];
  agent?: string | null;
  kind?: string;
  keep?: boolean;
}

/**
 * Vectors of unit length: `count` rows of `dims` numbers, as packed little-endian float32.
 */
export interface EmbedReply {
  provider: string;
  model: string;
  count: number;
  dims: number;
  vectors: Uint8Array;
}

/**
 * An action on the models on disk: `pull` or `remove` one, `list` them, or `info` on what one needs.
 *
 * `ref` is `minilm`, a path, or an `hf:` or `https:` reference; `list` needs none, and `info` without one is about the
 * default model. `force` removes a model that an agent uses.
 */
export interface ModelParams {
  ref?: string;
  action?: string;
  force?: boolean;
}

/**
 * A model on disk, the agents whose settings name it, whether it is loaded, and its estimated RAM then.
 */
export interface ModelFile {
  ref: string;
  path: string;
  size_bytes: number;
  used_by: string[];
  loaded: boolean;
  ram_bytes: number;
}

/**
 * What a model needs, estimated from the metadata of its file. Zero is unknown.
 *
 * `ram_bytes` is the RAM of its process while it embeds, `peak_bytes` that for an instant before. `context_tokens` are
 * embedded at once, and a full chunk with prompt has `chunk_tokens`, in `windows` parts.
 */
export interface ModelInfo {
  downloaded: boolean;
  architecture: string;
  layers: number;
  dims: number;
  vocabulary: number;
  trained_tokens: number;
  context_tokens: number;
  chunk_tokens: number;
  windows: number;
  ram_bytes: number;
  peak_bytes: number;
}

/**
 * The model file that was pulled or removed, or that `info` is about; for `list`, all model files.
 */
export interface ModelReply {
  ref: string;
  path: string;
  size_bytes: number;
  models: ModelFile[];
  info: ModelInfo | null;
}

/**
 * Which tools to define, and for which model interface: `plain`, `openai` or `anthropic`.
 *
 * `include` defaults to `memory_search` and `memory_get`.
 */
export interface ToolsParams {
  agent?: string | null;
  shape?: string;
  include?: string[] | null;
}

/**
 * Definitions for a model; empty if the agent's memory is turned off.
 */
export interface ToolsReply {
  agent: string;
  shape: string;
  tools: Record<string, unknown>[];
}

/**
 * A model's call of a tool. `arguments` are as the model wrote them: a map, or JSON as text.
 *
 * `session_kind` or `session_key` determine whether citations are added. `deadline_ms` limits a search;
 * `active_projects` are as in `SearchParams`. `recall` also searches transcripts that are indexed for OpenClaw's look
 * into other conversations alone. With `include_conversations`, `memory_get` also reads conversations, as in
 * `GetParams`: set it only for a model that may see all conversations of the agent.
 */
export interface CallToolParams {
  name: string;
  arguments?: unknown;
  agent?: string | null;
  session_kind?: string | null;
  session_key?: string;
  deadline_ms?: number | null;
  active_projects?: string[] | null;
  recall?: boolean;
  include_conversations?: boolean;
}

/**
 * The tool's result: `result` as data, `text` the same as JSON for the model.
 *
 * If `ok` is false, the result describes the mistake in the call: `error`, `expected`, `example`.
 */
export interface CallToolReply {
  agent: string;
  name: string;
  ok: boolean;
  result: Record<string, unknown>;
  text: string;
}

/**
 * Which tools the model has; by default, those of an agent with memory.
 *
 * `citations` defaults to the agent's setting. `session_kind` or `session_key` determine the meaning of `auto`.
 */
export interface PromptSectionParams {
  agent?: string | null;
  tools?: string[] | null;
  citations?: string | null;
  session_kind?: string | null;
  session_key?: string;
}

/**
 * A section for the system prompt, empty if there is no memory tool; `citations` is `on` or `off`.
 */
export interface PromptSectionReply {
  agent: string;
  text: string;
  citations: string;
}

/**
 * The start of a session; `session_key` is OpenClaw's name for the conversation.
 *
 * `kind` is derived from the key by default. `max_file_characters` and `max_characters` limit the start-up context,
 * for each file and for all; with `max_characters` 0 there is no context.
 */
export interface SessionStartedParams {
  session_key: string;
  agent?: string | null;
  kind?: string | null;
  max_file_characters?: number;
  max_characters?: number;
}

/**
 * A file of the start-up context: its characters in the context, all its characters, and whether it was truncated.
 *
 * Invisible characters are escaped in the context, and count there in their escaped form.
 */
export interface ContextFile {
  path: string;
  characters: number;
  total_characters: number;
  cut: boolean;
}

/**
 * The start-up context, and whether a sync was started (once per key, if the settings ask for it).
 *
 * `context` is one text of all `files`, empty if there are none. `kind` is the session's, `date` the user's day.
 */
export interface SessionStartedReply {
  agent: string;
  syncing: boolean;
  kind: string;
  date: string;
  context: string;
  files: ContextFile[];
}

/**
 * A session ended by `/new` or `/reset`: the end of its conversation is kept as a note.
 *
 * `session_id` or `transcript` (a file in the agent's sessions folder) selects the conversation; without both, the
 * newest is used. `slug` is the name of the note; without it, a model or the words of the conversation name it.
 * `channel` is the channel of the conversation. `reason` is `new` or `reset`. `next_session_id` is the session that
 * follows; the same id means that the transcript continues, and that the conversation ended at its last reset.
 * `ended_ms` is when it ended (Unix time in milliseconds; None: now), for a request that is sent later.
 * `private` writes the note to `memory/sessions/`, labelled with `session_key`: OpenClaw's plugin shows it only to
 * sessions that may see the conversation itself.
 */
export interface SessionEndedParams {
  session_key: string;
  agent?: string | null;
  session_id?: string | null;
  transcript?: string | null;
  slug?: string | null;
  channel?: string | null;
  reason?: string;
  next_session_id?: string | null;
  ended_ms?: number | null;
  private?: boolean;
}

/**
 * The note, made of `messages` messages; `path` is empty if there is none.
 *
 * `slug_from` is the origin of the note's name: `caller`, `model`, `words` (of the conversation) or `time`. `reason`
 * is `written`, `known` (the same note exists already), or why there is no note: `off` (in the settings),
 * `no_transcript`, `nothing_said`.
 */
export interface SessionEndedReply {
  agent: string;
  path: string;
  messages: number;
  slug: string;
  slug_from: string;
  reason: string;
}

/**
 * The fill level of a session's context; None means unknown.
 *
 * `total_tokens` are in the context, `next_input_tokens` are added by the next turn, `transcript_bytes` is the size of
 * the transcript. `compaction_count` defaults to the count of `compaction_done`; another `session_id` under the same
 * key restarts the count. `workspace_access` is the sandbox's: `rw`, `ro` or `none`.
 */
export interface FlushCheckParams {
  session_key: string;
  agent?: string | null;
  total_tokens?: number | null;
  context_window?: number | null;
  next_input_tokens?: number;
  transcript_bytes?: number | null;
  compaction_count?: number | null;
  session_id?: string;
  kind?: string | null;
  cli_provider?: boolean;
  workspace_access?: string;
}

/**
 * Whether to run a memory flush (a turn in which the model writes notes), and why; the prompts are empty if not.
 *
 * `reason` is a code, `message` its sentence. `path` is the note to append to. `threshold_tokens` is the number of
 * tokens at which a flush is due, 0 if the context is too small or its size is unknown.
 */
export interface FlushCheckReply {
  agent: string;
  run: boolean;
  reason: string;
  message: string;
  threshold_tokens: number;
  compaction_count: number;
  system_prompt: string;
  prompt: string;
  path: string;
}

/**
 * A memory flush has run, with or without notes. `compaction_count` is as in `flush_check`.
 */
export interface FlushDoneParams {
  session_key: string;
  agent?: string | null;
  compaction_count?: number | null;
  session_id?: string;
}

/**
 * The compaction cycle whose flush was recorded, and whether a sync was started.
 */
export interface FlushDoneReply {
  agent: string;
  syncing: boolean;
  compaction_count: number;
}

/**
 * An agent's context was compacted. `compaction_count` counts this session's; None: the daemon counts.
 */
export interface CompactionDoneParams {
  session_key?: string;
  agent?: string | null;
  compaction_count?: number | null;
  session_id?: string;
}

/**
 * Whether a sync was started, because a flush has usually written notes. The count is 0 without a session key.
 */
export interface CompactionDoneReply {
  agent: string;
  syncing: boolean;
  compaction_count: number;
}

/**
 * An event of a session in another program.
 *
 * `program` is the program's name as in `memctl hooks install`, `event` one of `EVENTS`, `session_id` the program's
 * own id. `cwd` is the session's folder, `prompt` the user's prompt. `reason` is in the program's words: why the
 * session started or ended, what started the compaction, or who wrote the prompt.
 */
export interface HookParams {
  program: string;
  event: string;
  session_id: string;
  cwd?: string;
  prompt?: string;
  reason?: string;
  transcript_path?: string;
  agent?: string | null;
}

/**
 * The text for the program's model, empty if there is none, the decision, and the number of hits in the text.
 */
export interface HookReply {
  text: string;
  decision: string;
  hits: number;
}

/**
 * How many of the newest entries to return.
 *
 * `session_id` keeps those of one session: its id, or the beginning of only one.
 */
export interface HookLogParams {
  limit?: number;
  session_id?: string | null;
}

/**
 * One event: its decision, the characters of the injected text, and the places of its hits.
 *
 * `prompt` is the start of the prompt, at most 60 characters on one line without secrets. If nothing was injected,
 * `candidate` is the place of the best candidate, and `lacks` says in English why it wasn't injected, or why there
 * is no answer; its wording may change. They are empty if they don't apply.
 */
export interface HookLogEntry {
  time_ms: number;
  program: string;
  session_id: string;
  event: string;
  decision: string;
  chars: number;
  places: string[];
  prompt: string;
  candidate: string;
  lacks: string;
}

/**
 * The entries, newest first.
 */
export interface HookLogReply {
  entries: HookLogEntry[];
}

/**
 * An entry for a daily note; `date` is YYYY-MM-DD and defaults to the user's today.
 *
 * A `key` makes the request repeatable: an entry with a key that the note has is not appended again.
 */
export interface AppendNoteParams {
  text: string;
  agent?: string | null;
  date?: string | null;
  key?: string | null;
}

/**
 * The lines of the entry; `appended` is false if it was there already.
 */
export interface AppendNoteReply {
  agent: string;
  path: string;
  start_line: number;
  end_line: number;
  appended: boolean;
}

/**
 * A fact to store.
 *
 * `importance` defaults to 0.7; `category` defaults to one derived from the text. `id` and `created_ms` are for facts
 * of another program: a fact whose id exists is not stored again. `vector` is the text's vector by `vector_model`
 * (packed little-endian float32): it is used if the agent's provider has that model.
 */
export interface MemoryStoreParams {
  text: string;
  agent?: string | null;
  importance?: number | null;
  category?: string | null;
  id?: string | null;
  created_ms?: number | null;
  vector?: Uint8Array | Float32Array | null;
  vector_model?: string;
}

/**
 * A fact. `created_ms` is None if its line has no date, as in a line written by hand.
 */
export interface FactRow {
  id: string;
  text: string;
  importance: number;
  category: string;
  created_ms: number | null;
  score: number;
  path: string;
  line: number;
}

/**
 * The stored fact, or (`stored` is false) the existing fact that duplicates it.
 *
 * `id`, `category`, `path` and `line` are of the stored fact or of its duplicate, whose id is `duplicate_of` and whose
 * text is `duplicate_text`. `compared` is `vectors`, `words` (without vectors, only a text of the same words is a
 * duplicate) or `id`; `reason` is the code of why there were no vectors. `vector_used`: the given vector was used.
 * `supersedes` is the earlier fact about the same subject with another value, if there is one; it stays.
 */
export interface MemoryStoreReply {
  agent: string;
  id: string;
  stored: boolean;
  category: string;
  path: string;
  line: number;
  compared: string;
  duplicate_of: string | null;
  duplicate_text: string;
  similarity: number | null;
  reason: string;
  vector_used: boolean;
  supersedes: FactRow | null;
}

/**
 * A query to the facts; a blank one lists them, newest first.
 */
export interface MemoryRecallParams {
  query: string;
  agent?: string | null;
  limit?: number;
  min_score?: number;
}

/**
 * Facts, best first.
 *
 * `compared` is `vectors`, `words` (`reason` is the code of why there were no vectors), or `none` for a list.
 * `without_vectors` counts facts without a vector yet, which were compared by their terms. `total` counts all facts.
 */
export interface MemoryRecallReply {
  agent: string;
  facts: FactRow[];
  compared: string;
  total: number;
  without_vectors: number;
  reason: string;
}

/**
 * A fact and its new text.
 *
 * `expected_text` is the text the caller expects: if the fact's text differs, nothing is changed. `importance` and
 * `category` default to the present ones.
 */
export interface MemoryEditParams {
  id: string;
  text: string;
  agent?: string | null;
  expected_text?: string | null;
  importance?: number | null;
  category?: string | null;
}

/**
 * The edited fact; its `id` changes if it was derived from the text.
 *
 * If `stored` is false, another fact, `duplicate_of`, has the same content in `duplicate_text`, and nothing was
 * changed; `id`, `category`, `path` and `line` are of the unchanged fact.
 */
export interface MemoryEditReply {
  agent: string;
  id: string;
  stored: boolean;
  category: string;
  path: string;
  line: number;
  duplicate_of: string | null;
  duplicate_text: string;
}

/**
 * Which fact to forget: the one with an id, or the only clear match of a query.
 */
export interface MemoryForgetParams {
  id?: string | null;
  query?: string | null;
  agent?: string | null;
}

/**
 * The forgotten fact, or None. `candidates` are the facts that an ambiguous query matches.
 */
export interface MemoryForgetReply {
  agent: string;
  forgotten: FactRow | null;
  candidates: FactRow[];
  compared: string;
}

/**
 * Which facts to list, newest first: `limit` from `offset` on.
 */
export interface FactsParams {
  agent?: string | null;
  offset?: number;
  limit?: number;
}

/**
 * Facts, newest first; their `score` is 0. `total` counts all facts.
 */
export interface FactsReply {
  agent: string;
  facts: FactRow[];
  total: number;
}

/**
 * A prompt to find facts for; `force` overrides the setting `autoRecall`.
 */
export interface FactsForPromptParams {
  prompt: string;
  agent?: string | null;
  force?: boolean;
}

/**
 * A block to put before the prompt, and the facts in it.
 *
 * If `text` is empty, `reason` is `off`, `blank` (the prompt is), `no_facts` or `nothing_near`.
 */
export interface FactsForPromptReply {
  agent: string;
  text: string;
  reason: string;
  facts: FactRow[];
}

/**
 * Messages of a conversation, each with `role` and `content`; `force` overrides the setting `autoCapture`.
 */
export interface CaptureFactsParams {
  messages: Record<string, unknown>[];
  agent?: string | null;
  force?: boolean;
}

/**
 * A message stored as a fact; `index` is its position in the request, from 0.
 */
export interface CapturedMessage {
  index: number;
  id: string;
  text: string;
  category: string;
  path: string;
  line: number;
}

/**
 * A message not stored as a fact, and why; `duplicate_of` is the fact with the same content.
 */
export interface SkippedMessage {
  index: number;
  reason: string;
  duplicate_of: string | null;
}

/**
 * The messages stored as facts, and the others with reasons. `reason` is `off` if no message was examined.
 */
export interface CaptureFactsReply {
  agent: string;
  stored: CapturedMessage[];
  skipped: SkippedMessage[];
  reason: string;
}

/**
 * What to do with sources: `list` them, or `forget` kept copies of deleted conversations.
 *
 * `name` is the source to forget copies of, `session` one session of it (empty: all).
 */
export interface SourcesParams {
  action?: string;
  name?: string;
  session?: string;
  agent?: string | null;
}

/**
 * Sources, or the result of `forget`.
 *
 * `sources` are those of agents, `found` those on this machine that no agent has. Of `removed` ones only copies of
 * conversations remain. `forgotten` is the number of deleted copies.
 */
export interface SourcesReply {
  sources: SourceStatus[];
  found: SourceStatus[];
  forgotten: number;
  removed: SourceStatus[];
}

/**
 * What to do with remotes.
 *
 * `action` is one of `status`, `add` (connect an agent to `url`), `clone` (connect all agents that `url` has memory
 * of, or one), `sync`, `pause`, `resume`, `remove`, `settle` (delete files of conflicts: `paths`, or all if empty) and
 * `purge` (remove earlier contents of the file or folder `path` from the history). `agent`: None means all agents with
 * a remote, for `add`, `settle`, `purge` and `missing` the default agent. `take_over` lets `sync` accept a rewritten
 * history. With `missing`, `resume` deletes the files that are missing (`delete`) or restores them (`restore`).
 * `confirmed` lets `clone` create more than 10 agents.
 */
export interface RemoteParams {
  action?: string;
  agent?: string | null;
  url?: string;
  path?: string;
  paths?: string[];
  take_over?: boolean;
  missing?: string;
  confirmed?: boolean;
}

/**
 * The remotes concerned, files of conflicts that were deleted, and how many commits were rewritten.
 *
 * `purged` are the files whose earlier contents were removed, with their earlier names.
 */
export interface RemoteReply {
  remotes: RemoteStatus[];
  settled: string[];
  commits: number;
  purged: string[];
}

/**
 * A query to the conversations of one agent. The parameters are those of `SearchParams`.
 *
 * `max_results` limits the sessions. `exclude_session` is the id or key of the calling session.
 */
export interface ConversationSearchParams {
  query: string;
  agent?: string | null;
  max_results?: number | null;
  sources?: string[] | null;
  project?: string | null;
  since?: string | null;
  exclude_session?: string | null;
  deadline_ms?: number | null;
}

/**
 * Lines of a conversation that match; `line` is the place of the best one, for `conversation_read`.
 */
export interface Excerpt {
  line: number;
  text: string;
  date: string;
  score: number;
}

/**
 * A session with the lines that match best; `path` is its path in the index.
 */
export interface FoundConversation {
  session: SessionInfo;
  path: string;
  score: number;
  relevance: string;
  excerpts: Excerpt[];
}

/**
 * Sessions, best first. `partial`: changes of the last moment are not included.
 */
export interface ConversationSearchReply {
  agent: string;
  conversations: FoundConversation[];
  took_ms: number;
  mode: string;
  degraded: Degradation | null;
  partial: boolean;
}

/**
 * Which messages of a session to return.
 *
 * `session` is its id, or its path in the index. Messages around the place `line` are returned, or from message
 * `first` (from 1); without either the last ones.
 */
export interface ConversationReadParams {
  session: string;
  agent?: string | null;
  line?: number | null;
  first?: number | null;
  messages?: number;
}

/**
 * One message on one line: its number in the session from 1, its place in the transcript, and who says it.
 *
 * `time_ms` is None if unknown.
 */
export interface SessionMessage {
  number: number;
  line: number;
  speaker: string;
  text: string;
  time_ms: number | null;
}

/**
 * Messages of a session, in order; `total` counts all of them.
 */
export interface ConversationReadReply {
  agent: string;
  path: string;
  session: SessionInfo;
  messages: SessionMessage[];
  total: number;
}

/**
 * Which memory the page shows: only that of one agent, or (None) that of all agents.
 */
export interface OpenPageParams {
  agent?: string | null;
}

/**
 * The address of the page. `url` works once, within `expires_s` seconds.
 */
export interface OpenPageReply {
  url: string;
  agent: string | null;
  expires_s: number;
}

/**
 * Which events to send: of one agent (None: of all) and of some kinds (None: of all).
 */
export interface SubscribeParams {
  agent?: string | null;
  kinds?: string[] | null;
}

/**
 * The reply when the daemon ends a subscription: events sent, and events dropped for a slow client.
 */
export interface SubscribeReply {
  events: number;
  dropped: number;
}

/**
 * The id of the request to cancel, on the same connection.
 */
export interface CancelParams {
  id: number;
}

/**
 * Whether that request was still running.
 */
export interface CancelReply {
  cancelled: boolean;
}

/**
 * The progress of a request. `stage` names the current step; `total` is 0 if unknown.
 */
export interface Progress {
  id: number;
  stage: string;
  done: number;
  total: number;
  detail: string;
}

/**
 * An event of the daemon. `id` is the subscription's request; the contents of `data` depend on `kind`.
 *
 * `dropped` counts the events before it that were dropped because this client was too slow.
 */
export interface Event {
  id: number;
  kind: string;
  agent: string;
  at_ms: number;
  data: Record<string, unknown>;
  dropped: number;
}

/** The parameters and the reply of each request, by name. */
export interface Requests {
  hello: { params: HelloParams; reply: HelloReply };
  status: { params: StatusParams; reply: StatusReply };
  metrics: { params: MetricsParams; reply: MetricsReply };
  search: { params: SearchParams; reply: SearchReply };
  search_agents: { params: SearchAgentsParams; reply: SearchAgentsReply };
  get: { params: GetParams; reply: GetReply };
  files: { params: FilesParams; reply: FilesReply };
  index: { params: IndexParams; reply: IndexReply };
  reset: { params: ResetParams; reply: ResetReply };
  vacuum: { params: VacuumParams; reply: VacuumReply };
  embed: { params: EmbedParams; reply: EmbedReply };
  model: { params: ModelParams; reply: ModelReply };
  tools: { params: ToolsParams; reply: ToolsReply };
  call_tool: { params: CallToolParams; reply: CallToolReply };
  prompt_section: { params: PromptSectionParams; reply: PromptSectionReply };
  session_started: { params: SessionStartedParams; reply: SessionStartedReply };
  session_ended: { params: SessionEndedParams; reply: SessionEndedReply };
  flush_check: { params: FlushCheckParams; reply: FlushCheckReply };
  flush_done: { params: FlushDoneParams; reply: FlushDoneReply };
  compaction_done: { params: CompactionDoneParams; reply: CompactionDoneReply };
  hook: { params: HookParams; reply: HookReply };
  hook_log: { params: HookLogParams; reply: HookLogReply };
  append_note: { params: AppendNoteParams; reply: AppendNoteReply };
  memory_store: { params: MemoryStoreParams; reply: MemoryStoreReply };
  memory_recall: { params: MemoryRecallParams; reply: MemoryRecallReply };
  memory_edit: { params: MemoryEditParams; reply: MemoryEditReply };
  memory_forget: { params: MemoryForgetParams; reply: MemoryForgetReply };
  facts: { params: FactsParams; reply: FactsReply };
  facts_for_prompt: { params: FactsForPromptParams; reply: FactsForPromptReply };
  capture_facts: { params: CaptureFactsParams; reply: CaptureFactsReply };
  sources: { params: SourcesParams; reply: SourcesReply };
  remote: { params: RemoteParams; reply: RemoteReply };
  conversation_search: { params: ConversationSearchParams; reply: ConversationSearchReply };
  conversation_read: { params: ConversationReadParams; reply: ConversationReadReply };
  open_page: { params: OpenPageParams; reply: OpenPageReply };
  subscribe: { params: SubscribeParams; reply: SubscribeReply };
  cancel: { params: CancelParams; reply: CancelReply };
}

/** All error codes. */
export type ErrorCode =
  | "internal"
  | "provider_unavailable"
  | "provider_failed"
  | "provider_unreachable"
  | "provider_reply_invalid"
  | "provider_rate_limited"
  | "provider_quota_exhausted"
  | "provider_auth"
  | "provider_model_unknown"
  | "text_refused"
  | "token_budget_exhausted"
  | "local_extra_missing"
  | "model_missing"
  | "model_invalid"
  | "model_child"
  | "download_failed"
  | "checksum_mismatch"
  | "dimensions_changed"
  | "git_missing"
  | "git_failed"
  | "remote_unknown"
  | "remote_exists"
  | "remote_unreachable"
  | "remote_refused"
  | "remote_rewritten"
  | "frame_too_big"
  | "frame_invalid"
  | "hello_required"
  | "protocol_mismatch"
  | "method_unknown"
  | "bad_params"
  | "too_many_connections"
  | "too_many_requests"
  | "daemon_busy"
  | "idle_timeout"
  | "peer_refused"
  | "cancelled"
  | "deadline_exceeded"
  | "shutting_down"
  | "agent_reloading"
  | "connection_lost"
  | "daemon_unreachable"
  | "host_unreachable"
  | "host_auth"
  | "host_command_failed"
  | "daemon_start_failed"
  | "daemon_running"
  | "state_dir_mismatch"
  | "service_unavailable"
  | "service_failed"
  | "socket_path_invalid"
  | "agent_unknown"
  | "memory_disabled"
  | "config_invalid"
  | "query_empty"
  | "path_refused"
  | "file_missing"
  | "file_unreadable"
  | "note_unwritable"
  | "fact_missing"
  | "fact_changed"
  | "page_unavailable"
  | "log_unavailable"
  | "index_closed"
  | "index_lost"
  | "index_corrupt"
  | "index_newer"
  | "index_io"
  | "vector_extension";
