// Made by `scripts/generate` from the Python client: don't edit.
// docs/protocol.md of memd documents them under the same names.

/**
 * Return the daemon's release and capabilities: the cheapest check of it.
 */
export interface HelloParams {
  /** Version that the client speaks; must be the daemon's. */
  protocol?: number;
  /** Name of the client, for the log. */
  client?: string;
  /** Release of the client. */
  version?: string;
  /** Real path of the client's state directory; a daemon of another directory refuses the client. Empty: any directory.
   * */
  state_dir?: string;
}

/**
 * The daemon's release, its process, the requests it knows (`capabilities`), its limits and its state folder.
 */
export interface HelloReply {
  /** Version that the daemon speaks. */
  protocol: number;
  /** Release of the daemon. */
  version: string;
  /** Process id of the daemon. */
  pid: number;
  /** Names of the requests that the daemon knows. */
  capabilities: string[];
  /** Numbers by name: `frame_bytes`, `requests_per_connection`, `idle_s`. */
  limits: Record<string, number>;
  /** State directory that the daemon serves. */
  state_dir: string;
}

/**
 * Return the state of the daemon and of its agents.
 */
export interface StatusParams {
  /** Only this agent; null: all agents. */
  agent?: string | null;
  /** Also probe embeddings, vectors, keyword index and file access of each agent, and report on the installation. */
  deep?: boolean;
}

/**
 * The local model and its process.
 */
export interface ModelStatus {
  /** Name of the model. */
  model: string;
  /** Path of the model file. */
  path: string;
  /** `idle`, `waiting` (for RAM), `loading`, `ready`, `restarting` or `failed`. */
  state: string;
  /** Process id of the model's process; null: none. */
  pid: number | null;
  /** RAM of the model's process. */
  rss_bytes: number;
  /** Texts waiting for the model. */
  queued: number;
  /** How often its process was restarted after a failure. */
  restarts: number;
  /** The last failure, why it has no RAM, why its engine or its GPU isn't used, or empty. */
  problem: string;
  /** The package whose llama.cpp it uses; empty until it is loaded. */
  engine: string;
  /** Whether the engine was built for a GPU; null until the model is loaded. */
  has_gpu: boolean | null;
  /** Layers that a GPU computes; null until the model is loaded. */
  gpu_layers: number | null;
}

/**
 * A vector space that is being filled while another one is searched.
 */
export interface FillProgress {
  /** Name of the embedding provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /** The vector space that is being filled. */
  space: string;
  /** Chunks that have their vector. */
  done: number;
  /** All chunks; at `done` = `total` the next search uses this space. */
  total: number;
  /** Estimated seconds left; null: not known yet. */
  eta_s: number | null;
  /** Estimated tokens that the missing vectors cost. */
  tokens: number;
}

/**
 * The configured provider that failed, why, and since when (epoch milliseconds).
 */
export interface Fallback {
  /** The configured provider that cannot be used. */
  provider: string;
  /** An error code. */
  code: string;
  /** Why, as a sentence. */
  reason: string;
  /** Since when, epoch ms. */
  since_ms: number;
}

/**
 * A job at a provider's batch API.
 */
export interface BulkJob {
  /** The provider's id of the job. */
  id: string;
  /** The provider's word for its state. */
  state: string;
  /** Texts in the job. */
  texts: number;
  /** Texts completed. */
  done: number;
  /** When it was submitted, epoch ms. */
  submitted_ms: number;
}

/**
 * A chunk that the provider rejects; only keyword search finds it.
 */
export interface RejectedText {
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** First line. */
  start_line: number;
  /** Last line. */
  end_line: number;
  /** Why the provider refuses the text. */
  reason: string;
}

/**
 * An agent's transcripts: how many are indexed, and how many there are of each file format era.
 */
export interface SessionsStatus {
  /** Transcripts in the index. */
  transcripts: number;
  /** Messages in the index. */
  messages: number;
  /** Secrets replaced in the index. */
  redactions: number;
  /** Transcripts by kind: `jsonl` files, `sqlite` (OpenClaw's database). */
  stores: Record<string, number>;
  /** Sessions that are not memory, by kind: cron, heartbeat, subagent, …. */
  excluded: Record<string, number>;
}

/**
 * A type of records in a program's transcripts that memd doesn't know, so that it skips them.
 */
export interface UnknownType {
  /** Name of the type; empty for records without one. */
  name: string;
  /** Number of such records. */
  records: number;
  /** The newest release of the program that wrote one, or empty. */
  release: string;
}

/**
 * A problem, and a hint what to do about it.
 */
export interface Problem {
  /** An error code. */
  code: string;
  /** What is wrong, on which object. */
  message: string;
  /** What to do. */
  hint: string;
}

/**
 * A source of another program; `agent` is the one it belongs to, empty if none.
 */
export interface SourceStatus {
  /** Name of the source. */
  name: string;
  /** Name of the program. */
  title: string;
  /** `transcripts` or `notes`. */
  kind: string;
  /** The agent it belongs to, or empty. */
  agent: string;
  /** Its folders or databases. */
  locations: string[];
  /** Files or sessions found. */
  files: number;
  /** Their size. */
  bytes: number;
  /** Sessions in the index. */
  sessions: number;
  /** Messages in the index. */
  messages: number;
  /** Secrets replaced in the index. */
  redactions: number;
  /** Records that no reader knows, and broken ones. */
  unknown: number;
  /** Types of the records that no reader knows, the most frequent first. */
  unknown_types: UnknownType[];
  /** Sessions that are not indexed, by kind: subagent, machine. */
  excluded: Record<string, number>;
  /** Last change, epoch ms; null: unknown. */
  newest_ms: number | null;
  /** Change of the file that changed longest ago, epoch ms; null: unknown. */
  oldest_ms: number | null;
  /** Conversations stay when the program deletes them. */
  keep: boolean;
  /** Deleted conversations that are kept. */
  retained: number;
  /** Size of their copies. */
  retained_bytes: number;
  /** Problems of the source. */
  problems: Problem[];
  /** Commands of agents in the index; 0 if the source's `work` is off. */
  commands: number;
  /** Files that agents read or changed, counted each time. */
  file_steps: number;
  /** Size of what is stored of them. */
  work_bytes: number;
}

/**
 * A machine that has an agent's memory.
 */
export interface MachineStatus {
  /** Name of the machine. */
  name: string;
  /** Whether it is this one. */
  is_local: boolean;
  /** Commits that it has not received, as far as this machine knows; -1: unknown. */
  behind: number;
  /** Time of the last commit that it has, epoch ms; null: unknown. */
  at_ms: number | null;
}

/**
 * A file with lines of another machine that conflict with a note; `note` is the note's path if known.
 */
export interface MemoryConflict {
  /** The file with the other machine's lines. */
  path: string;
  /** The note they conflict with. */
  note: string;
  /** The machine that wrote them. */
  machine: string;
  /** Day of the conflict, YYYY-MM-DD. */
  date: string;
}

/**
 * A file that is not in the index, and why.
 */
export interface SkippedFile {
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** Why it is not indexed, or how much of it is. */
  reason: string;
}

/**
 * An agent's memory on a remote.
 */
export interface RemoteStatus {
  /** The agent's id. */
  agent: string;
  /** Address of the repository, without a password. */
  url: string;
  /** Name of this machine. */
  machine: string;
  /** `ok`, `pending` (changes wait to be sent), `offline`, `refused`, `failed`, `held` (files are missing, and memd
   * asks before it deletes them elsewhere) or `paused`. */
  state: string;
  /** Replicated files. */
  files: number;
  /** Commits that the remote lacks. */
  ahead: number;
  /** Whether the remote has commits that were not received yet. */
  is_behind: boolean;
  /** When the last exchange succeeded, epoch ms; null: not since the start. */
  last_sync_ms: number | null;
  /** When the next one is due, epoch ms; null while paused. */
  next_sync_ms: number | null;
  /** Machines that have this memory. */
  machines: MachineStatus[];
  /** Files with lines that conflict with a note. */
  conflicts: MemoryConflict[];
  /** Received files that another program is writing to, and why. */
  waiting: SkippedFile[];
  /** Files that are not replicated, and why. */
  excluded: SkippedFile[];
  /** null, or why the last exchange failed. */
  problem: Problem | null;
}

/**
 * Why a reply is incomplete, and since when (epoch milliseconds).
 */
export interface Degradation {
  /** An error code. */
  code: string;
  /** Why, as a sentence. */
  reason: string;
  /** Since when, epoch ms. */
  since_ms: number;
  /** What to do. */
  hint: string;
}

/**
 * One probe of a deep status.
 */
export interface Check {
  /** What was probed. */
  name: string;
  /** Whether it works. */
  ok: boolean;
  /** What was found. */
  detail: string;
}

/**
 * One agent's memory. The defaults are those of a memory that can't be opened.
 */
export interface AgentStatus {
  /** The agent's id. */
  agent: string;
  /** Folder of the notes. */
  workspace: string;
  /** Path of the index file. */
  index_path: string;
  /** False: settings turn memory off. */
  enabled: boolean;
  /** What is memory: `memory`, `sessions`, and names of sources. */
  sources: string[];
  /** Files in the index. */
  files: number;
  /** Chunks in the index. */
  chunks: number;
  /** Vectors in the vector space in use. */
  vectors: number;
  /** Changed files to read, counted on disk during this request: 0 means up to date. */
  files_pending: number;
  /** Chunks without a vector. */
  chunks_pending: number;
  /** Age of the oldest pending change. */
  oldest_pending_ms: number;
  /** Provider of the vectors in use; `none` without vectors. */
  provider: string;
  /** Model of the vectors in use. */
  model: string;
  /** Dimensions of a vector. */
  dims: number;
  /** Vector space in use: 16 hex digits, equal for vectors that can be compared. */
  space: string;
  /** null, or the vector space being filled. */
  filling: FillProgress | null;
  /** What chunks without a vector wait for, such as `mains power`; or empty. */
  waits_for: string;
  /** null, or the configured provider that the fallback replaces. */
  fallback: Fallback | null;
  /** Jobs at a provider's batch API. */
  jobs: BulkJob[];
  /** Chunks whose text the provider refuses; keyword search finds them. */
  rejected: RejectedText[];
  /** Files with lines of other people, which hooks withhold. */
  outside: number;
  /** How vectors are compared: `memory`, `sqlite-vec`, `scan` or `none`. The hits are the same. */
  vector_path: string;
  /** Why that way. */
  vector_path_reason: string;
  /** Start of the last sync, epoch ms; null: none yet. */
  last_sync_ms: number | null;
  /** A sync is running. */
  syncing: boolean;
  /** How changes are detected between searches: `events`, `polling` or `off`. */
  watch: string;
  /** Why polling. */
  watch_reason: string;
  /** `sync.intervalMinutes`. */
  interval_minutes: number;
  /** null, or transcripts in the index. */
  sessions: SessionsStatus | null;
  /** Sources of other programs. */
  added: SourceStatus[];
  /** The agent's remote, or null. */
  remote: RemoteStatus | null;
  /** Grows with every published change of the index. */
  generation: number;
  /** Size of the index file. */
  index_bytes: number;
  /** null, or why searches return less than they could. */
  degraded: Degradation | null;
  /** Files that are not indexed, or only in part. */
  skipped: SkippedFile[];
  /** Problems of this agent. */
  problems: Problem[];
  /** With `deep`, the result of each probe. */
  checks: Check[];
}

/**
 * A running or failed download of a model. Sizes are bytes; `total` is 0 if unknown.
 */
export interface DownloadStatus {
  /** Reference of the model. */
  ref: string;
  /** `running`, `waiting` (for its next try) or `failed`. */
  state: string;
  /** As in the progress of `model`. */
  stage: string;
  /** Bytes downloaded. */
  done: number;
  /** Bytes in all; 0: not known. */
  total: number;
  /** The last failure, or empty. */
  problem: string;
}

/**
 * One account at a provider: its state, and today's calls and tokens.
 */
export interface AccountStatus {
  /** Name of the embedding provider. */
  provider: string;
  /** `ok`, or `paused`: its circuit breaker is open. */
  state: string;
  /** Calls since midnight UTC. */
  calls_today: number;
  /** Tokens bought since midnight UTC. */
  tokens_today: number;
  /** Why it is paused, an error code; or empty. */
  code: string;
  /** Why, as a sentence. */
  reason: string;
  /** Since when, epoch ms. */
  since_ms: number;
  /** When it is tried again, epoch ms. */
  until_ms: number;
}

/**
 * RAM in use and its budgets, in bytes: vectors, model processes and SQLite's page caches.
 */
export interface MemoryStatus {
  /** Vectors of all agents in RAM. */
  vectors_bytes: number;
  /** Limit for `vectors_bytes`. */
  vectors_budget: number;
  /** RAM of the processes of local models. */
  models_bytes: number;
  /** Limit for `models_bytes`. */
  models_budget: number;
  /** SQLite's page caches. */
  pages_bytes: number;
  /** Limit for `pages_bytes`. */
  pages_budget: number;
  /** All limits, and RAM for the daemon itself. */
  total_budget: number;
  /** The machine runs on its battery. */
  on_battery: boolean;
}

/**
 * The daemon and its agents. `token_budget` is the daily limit of tokens, 0 without one.
 */
export interface StatusReply {
  /** Release of the daemon. */
  version: string;
  /** Process id of the daemon. */
  pid: number;
  /** Time since the start. */
  uptime_ms: number;
  /** Path of the socket. */
  socket: string;
  /** OpenClaw's state directory. */
  state_dir: string;
  /** Path of `openclaw.json`. */
  config_path: string;
  /** RAM of the daemon, without models. */
  rss_bytes: number;
  /** Open connections. */
  connections: number;
  /** Version of sqlite-vec, or why it is not loaded. */
  sqlite_vec: string;
  /** Local models. */
  models: ModelStatus[];
  /** A row per agent. */
  agents: AgentStatus[];
  /** Problems of the daemon as a whole. */
  problems: Problem[];
  /** Models that are being downloaded, or whose download failed. */
  downloads: DownloadStatus[];
  /** Provider accounts: a key at an address, shared by all agents that use it. Neither is part of the reply. */
  accounts: AccountStatus[];
  /** Tokens bought from remote providers since midnight UTC. */
  tokens_today: number;
  /** `daily_token_budget`; 0: no limit. */
  token_budget: number;
  /** RAM in use and its budgets. */
  memory: MemoryStatus;
  /** In a deep status of all agents, what `memctl doctor` shows: `version, findings, daemon_config, agents`, whose
   * content may change between releases; null in any other status, and if the disk takes longer than 5 s. */
  installation: Record<string, unknown> | null;
}

/**
 * Return the daemon's counters, gauges and histograms since its start.
 */
export interface MetricsParams {}

/**
 * One value of a metric; `labels` distinguish it from the other values.
 */
export interface Sample {
  /** Label values by label. */
  labels: Record<string, string>;
  /** The value. */
  value: number;
}

/**
 * Durations in seconds. `counts` has a value per bucket of `MetricsReply.bounds`, and one for longer durations.
 */
export interface Histogram {
  /** Label values by label. */
  labels: Record<string, string>;
  /** Durations in each bucket alone; the last number counts those above the last bound. */
  counts: number[];
  /** Exact sum of all durations, in seconds. */
  sum: number;
  /** Median in seconds, estimated from the buckets, usually within a few percent. */
  p50: number;
  /** 95th percentile, likewise. */
  p95: number;
  /** 99th percentile, likewise. */
  p99: number;
}

/**
 * A metric. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`).
 */
export interface Metric {
  /** Name of the metric. */
  name: string;
  /** `counter`, `gauge` or `histogram`. */
  kind: string;
  /** Meaning. */
  help: string;
  /** Values of a counter or gauge. */
  samples: Sample[];
  /** Values of a histogram. */
  histograms: Histogram[];
}

/**
 * All metrics, and the upper bounds of the histograms' buckets in seconds.
 *
 * A changed `pid` or a smaller `uptime_ms` means that the counters restarted.
 */
export interface MetricsReply {
  /** Release of the daemon. */
  version: string;
  /** Process id of the daemon. */
  pid: number;
  /** Time since the start. */
  uptime_ms: number;
  /** Upper bounds of all histograms' buckets, in seconds, ascending. */
  bounds: number[];
  /** The metrics. */
  metrics: Metric[];
}

/**
 * Search an agent's memory by keywords and vectors, as the files are now.
 */
export interface SearchParams {
  /** Any text with at least one word, at most 8,000 characters; keyword search uses the first 2,000. Search syntax has
   * no meaning. */
  query: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The most hits, 1 to 1,000; null: the agent's `query.maxResults`, or 60 with `max_chars`. */
  max_results?: number | null;
  /** Leave out hits with a lower score (0 to 1); null: see relevance; 0 or less: no relevance check. */
  min_score?: number | null;
  /** Only hits of these sources: `memory` (notes), `sessions` (transcripts), or names of sources; null: all. */
  sources?: string[] | null;
  /** Only hits whose path starts with it. */
  path?: string | null;
  /** Limits the whole request, in milliseconds; what is not found by then is missing (`partial`), and 200 ms later the
   * error is `deadline_exceeded`. */
  deadline_ms?: number | null;
  /** Add `explain` to each hit and `timings` to the reply. */
  explain?: boolean;
  /** Keyword search only: no text is embedded, `mode` is `keyword`, and the reply is not `degraded` for it. */
  lexical_only?: boolean;
  /** Keys of the current projects: their entries score higher, those of other projects lower; see comments in notes. */
  active_projects?: string[] | null;
  /** Key or id of the session that searches: its conversation since the last reset is excluded. A key without a
   * transcript excludes nothing. */
  exclude_session?: string | null;
  /** The most characters of all hits as `memctl search` shows them, 1 to 100,000; see characters instead of a number.
   * */
  max_chars?: number | null;
  /** Keep hits that are hardly related to the query; their `relevance` is `weak`. */
  include_weak?: boolean;
  /** Only conversations held in this project, by its name or path. */
  project?: string | null;
  /** Only what was said or written since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`, `6m`, `1y`). */
  since?: string | null;
  /** Leave out weak hits beyond the first two, or the first three if no hit is strong; not with `include_weak` or a
   * `min_score` of 0 or less. */
  limit_weak?: boolean;
  /** The program that asks, for the log of recalls; empty: the client's name in `hello`. */
  caller?: string;
  /** Only what was said or written up to the end of a day (`2026-11-30`), or before a duration (`7d`). */
  until?: string | null;
  /** Only `notes`, `conversations`, or both; or `work` alone: commands that agents ran and files that they read or
   * changed, by keywords; null: notes and conversations. */
  kinds?: string[] | null;
  /** Only text of these origins: `user`, `agent`, `program`, `outside`; null: all. */
  origins?: string[] | null;
}

/**
 * A later statement about the same subject with another value.
 */
export interface Supersession {
  /** The file of the later statement. */
  path: string;
  /** Its first line. */
  start_line: number;
  /** Its last line. */
  end_line: number;
  /** Its place as `path#L3-L9`. */
  citation: string;
  /** Its date, YYYY-MM-DD. */
  date: string;
  /** The date of the hit's own statement, YYYY-MM-DD. */
  outdated_date: string;
}

/**
 * The conversation that a hit is from.
 */
export interface SessionInfo {
  /** Name of the source. */
  program: string;
  /** The program's id of the session. */
  id: string;
  /** Title, or empty. */
  title: string;
  /** Root of the repository, or working directory. */
  project: string;
  /** Branch of the repository, or empty. */
  branch: string;
  /** Day (UTC) of the last line of the hit, YYYY-MM-DD. */
  date: string;
  /** Who speaks in the hit: `user`, `assistant`. */
  speakers: string[];
  /** Shell command that opens the session in its program, from any folder, or empty. */
  open: string;
  /** The program deleted the session; memd kept a copy. */
  deleted: boolean;
  /** Commands that the agent ran in it. */
  commands: number;
  /** Files that the agent changed in it. */
  files: number;
}

/**
 * Whether something that a hit names still holds in its git repository.
 */
export interface Currency {
  /** `missing`: the name is gone; `changed`: it changed since the day of the hit; `holds`: the lines that the hit
   * quotes are unchanged. */
  verdict: string;
  /** The verdict in words, such as `src/queue.py changed in 3 commits since, last on 2026-11-20`. */
  text: string;
  /** What the hit names: a file relative to its repository, a function, a target, a commit or a branch. */
  name: string;
  /** The last commit that changed or removed it, or empty. */
  commit: string;
  /** The day of that commit, YYYY-MM-DD, or empty. */
  since: string;
}

/**
 * One search result; `snippet` is an exact slice of a file around the match.
 *
 * In a transcript (`source` is `sessions`) the lines are those of the transcript.
 */
export interface Hit {
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** First line. */
  start_line: number;
  /** Last line. */
  end_line: number;
  /** 0 to 1; never higher than the score of the hit before it. */
  score: number;
  /** Cosine; null: not found by vector search. */
  vector_score: number | null;
  /** Negated BM25, or its form from 0 to 1 with `fusion: "weighted"`; null: not found by keyword search. */
  text_score: number | null;
  /** An exact slice of the file at these lines without comments, at most 695 characters. */
  snippet: string;
  /** `memory` or `sessions`. */
  source: string;
  /** The place as `path#L3-L9`. */
  citation: string;
  /** How many places of the memory searched have this text or a near duplicate, this one included. */
  copies: number;
  /** With `explain`, why it has this score. */
  explain: Record<string, unknown> | null;
  /** null, or `importance`, `triggers` and `projects` of its entry. */
  annotations: Record<string, unknown> | null;
  /** In a reply to `search_agents`, the agent whose memory it is in; else null. */
  agent: string | null;
  /** `strong`, or `weak` if it is hardly related to the query. */
  relevance: string;
  /** null, or the later statement that makes this one outdated. */
  superseded_by: Supersession | null;
  /** null, or the conversation of another program that it is from. */
  session: SessionInfo | null;
  /** Matched terms in `snippet` as [start, end): characters from 0, ascending, at most 64. */
  spans: number[][];
  /** Its day, YYYY-MM-DD: of the message, or by the note's name, the heading above it or its frontmatter, or else the
   * day of the file's last change. */
  date: string;
  /** The headings above it, such as `Deploy > Rollback`; empty if it starts with one. */
  heading: string;
  /** It starts inside a sentence or a list item. */
  is_cut_above: boolean;
  /** It ends inside a sentence or a list item. */
  is_cut_below: boolean;
  /** null, or whether something that it names still holds. */
  currency: Currency | null;
  /** Whose words it is: `user`, `agent` (also if the author is unknown), `program` (output of tools, work) or `outside`
   * (fetched pages, mail, text of other people); of several lines the least trusted. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * Changes that are not in the reply yet.
 */
export interface PendingChanges {
  /** Changed files to read. */
  files: number;
  /** Chunks to embed. */
  chunks: number;
  /** How long the oldest change has waited. */
  oldest_ms: number;
}

/**
 * Why a search has no hits, and what to do; `min_score` in the hint is the request's parameter.
 */
export interface EmptyResult {
  /** See no hits. */
  code: string;
  /** Why, as a sentence. */
  message: string;
  /** What to do. */
  hint: string;
}

/**
 * Hits, best first, and how they were found.
 */
export interface SearchReply {
  /** The agent searched. */
  agent: string;
  /** Hits, best first. */
  hits: Hit[];
  /** `hybrid`, `keyword` or `vector`. */
  mode: string;
  /** null, or why the reply is incomplete, for example because embedding failed. */
  degraded: Degradation | null;
  /** There are no hits: see relevance. */
  abstained: boolean;
  /** Duration in ms. */
  took_ms: number;
  /** Provider of the vectors compared. */
  provider: string;
  /** Model of the vectors compared. */
  model: string;
  /** Grows with every published change of the index. */
  generation: number;
  /** Changes that this reply does not include yet. */
  pending: PendingChanges;
  /** The time limit was reached before changes that this search waited for were indexed. */
  partial: boolean;
  /** Vector space of the vectors compared: the earlier one while another is being filled. */
  space: string;
  /** null, or the vector space being filled. */
  filling: FillProgress | null;
  /** null, or the configured provider that the fallback replaces. */
  fallback: Fallback | null;
  /** With `explain`, milliseconds by part. */
  timings: Record<string, number> | null;
  /** null, or why there are no hits. */
  empty: EmptyResult | null;
}

/**
 * Search the memory of several agents and return their hits in one list.
 */
export interface SearchAgentsParams {
  /** As in `search`. */
  query: string;
  /** The agents to search; null: all whose memory is on. */
  agents?: string[] | null;
  /** The most hits of all agents together, 1 to 1,000; null: `query.maxResults` of the default agent, or 60 with
   * `max_chars`. */
  max_results?: number | null;
  /** As in `search`, for each agent. */
  min_score?: number | null;
  /** As in `search`. */
  sources?: string[] | null;
  /** As in `search`. */
  path?: string | null;
  /** Limit for the searches of all agents together, in ms; null: 20 s for each agent. */
  deadline_ms?: number | null;
  /** As in `search`. */
  explain?: boolean;
  /** As in `search`. */
  lexical_only?: boolean;
  /** As in `search`. */
  active_projects?: string[] | null;
  /** As in `search`. */
  exclude_session?: string | null;
  /** The most characters of the hits of all agents together, 1 to 100,000; else as in `search`. */
  max_chars?: number | null;
  /** As in `search`. */
  include_weak?: boolean;
  /** As in `search`. */
  project?: string | null;
  /** As in `search`. */
  since?: string | null;
  /** As in `search`, for the hits of all agents together. */
  limit_weak?: boolean;
  /** As in `search`. */
  caller?: string;
  /** As in `search`. */
  until?: string | null;
  /** As in `search`. */
  kinds?: string[] | null;
  /** As in `search`. */
  origins?: string[] | null;
}

/**
 * How one agent's memory was searched, as in `SearchReply`; with `error`, why it was not (`mode` is empty).
 */
export interface SearchedAgent {
  /** The agent's id. */
  agent: string;
  /** As in the reply to `search`; empty with `error`. */
  mode: string;
  /** As in the reply to `search`. */
  degraded: Degradation | null;
  /** As in the reply to `search`. */
  abstained: boolean;
  /** Duration in ms. */
  took_ms: number;
  /** As in the reply to `search`. */
  pending: PendingChanges | null;
  /** As in the reply to `search`. */
  partial: boolean;
  /** As in the reply to `search`. */
  fallback: Fallback | null;
  /** Name of the embedding provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /** As in the reply to `search`. */
  empty: EmptyResult | null;
  /** null, or why this agent's part failed. */
  error: Problem | null;
}

/**
 * Hits of several agents, best first, each with its agent; and one row per agent searched.
 */
export interface SearchAgentsReply {
  /** Hits of all agents, best first. */
  hits: Hit[];
  /** A row per agent searched. */
  agents: SearchedAgent[];
  /** Duration in ms. */
  took_ms: number;
}

/**
 * Return lines of a memory file, unchanged, or messages of a conversation.
 *
 * With `include_conversations`, `path` may also be a conversation: the path of its hits, or its session's id. Its
 * lines are those of the transcript, as in a hit.
 */
export interface GetParams {
  /** The file, as in a hit. Absolute paths, `..`, links, files other than Markdown and files outside of memory are
   * refused: `path_refused`. */
  path: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The first line, from 1. */
  from_line?: number;
  /** How many lines; null: to the end. */
  lines?: number | null;
  /** Whether `path` may also be a conversation: the path of its hits, or the id of its session. Set it only for a
   * caller that may read all conversations of the agent. */
  include_conversations?: boolean;
}

/**
 * Lines of one origin.
 */
export interface OriginLines {
  /** First line; in a transcript, of the transcript. */
  start_line: number;
  /** Last line. */
  end_line: number;
  /** Whose words they are: `user`, `agent`, `program` or `outside`, as in a hit. */
  origin: string;
  /** Why they are `outside`; empty if they are not. */
  reason: string;
}

/**
 * The requested lines, unchanged; `truncated` if the frame limit cut them off.
 *
 * For a conversation, `text` has a line for each message, with its speaker, and `line_numbers` has the line of the
 * transcript for each of them; `total_lines` is the last of all its messages. It is empty for a file.
 */
export interface GetReply {
  /** The agent's id. */
  agent: string;
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** The lines; empty if `from_line` is beyond the end. Of a conversation: one line per message, `User: …` or
   * `Assistant: …`, without secrets. */
  text: string;
  /** First line returned. */
  from_line: number;
  /** Number of lines returned; of a conversation, of messages. */
  lines: number;
  /** Number of lines of the file; of a conversation, the line of its last message. */
  total_lines: number;
  /** The text was cut to fit a frame. */
  truncated: boolean;
  /** For each line of a conversation, its line in the transcript; empty for a file. */
  line_numbers: number[];
  /** Whose words the lines are, in order. */
  origins: OriginLines[];
}

/**
 * List the files of an agent's memory as they are on disk, newest first.
 */
export interface FilesParams {
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Only files of these sources: `memory`, `sessions`, or names of sources; null: all. */
  sources?: string[] | null;
  /** How many of the newest to skip. */
  offset?: number;
  /** How many to list, 1 to 1,000. */
  limit?: number;
}

/**
 * A memory file, in its present state on disk.
 */
export interface FileEntry {
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** `memory` (readable with `get`) or `sessions`. */
  source: string;
  /** Last change, epoch ms. */
  mtime_ms: number;
  /** Size. */
  size_bytes: number;
  /** Chunks in the index; 0: not read yet, or empty. */
  chunks: number;
  /** First heading, or empty. */
  title: string;
  /** The day that its name begins with, YYYY-MM-DD; or null. */
  date: string | null;
}

/**
 * Files, newest first. `total` counts all files; `skipped` lists those not indexed, each with its reason.
 */
export interface FilesReply {
  /** The agent's id. */
  agent: string;
  /** Files, newest first. */
  files: FileEntry[];
  /** Number of all, in all pages. */
  total: number;
  /** Files that are not indexed, or only in part. */
  skipped: SkippedFile[];
}

/**
 * Update an agent's index now; a search does so too, for recent changes.
 */
export interface IndexParams {
  /** Only this agent; null: all agents. */
  agent?: string | null;
  /** Read, chunk and embed everything again. */
  force?: boolean;
}

/**
 * The result of one agent's sync.
 */
export interface IndexedAgent {
  /** The agent's id. */
  agent: string;
  /** Files in the index. */
  files: number;
  /** Chunks in the index. */
  chunks: number;
  /** Files read again. */
  files_changed: number;
  /** Files removed from the index. */
  files_removed: number;
  /** Chunks embedded now. */
  embedded: number;
  /** Chunks whose vector existed. */
  reused: number;
  /** Duration in ms. */
  took_ms: number;
  /** null, or why vectors are missing. */
  degraded: Degradation | null;
  /** Files that are not indexed, or only in part. */
  skipped: SkippedFile[];
  /** null, or why this agent's part failed. */
  error: Problem | null;
}

/**
 * One row per agent synced.
 */
export interface IndexReply {
  /** A row per agent. */
  agents: IndexedAgent[];
}

/**
 * Drop an agent's index and rebuild it from its files.
 */
export interface ResetParams {
  /** Only this agent; null: all agents. */
  agent?: string | null;
  /** Delete the vectors too, so that every chunk is embedded again. */
  delete_vectors?: boolean;
}

/**
 * One row per agent.
 */
export interface ResetReply {
  /** A row per agent. */
  agents: IndexedAgent[];
}

/**
 * Remove unneeded vectors from an agent's index and free their disk space.
 */
export interface VacuumParams {
  /** Only this agent; null: all agents. */
  agent?: string | null;
}

/**
 * The result of compacting one agent's index. Sizes are bytes, including the write-ahead log.
 */
export interface VacuumedAgent {
  /** The agent's id. */
  agent: string;
  /** Size on disk before, write-ahead log included. */
  bytes_before: number;
  /** Size on disk after. */
  bytes_after: number;
  /** Vectors removed. */
  vectors_removed: number;
  /** Duration in ms. */
  took_ms: number;
  /** null, or why this agent's part failed. */
  error: Problem | null;
}

/**
 * One row per agent.
 */
export interface VacuumReply {
  /** A row per agent. */
  agents: VacuumedAgent[];
}

/**
 * Return the vectors of texts by an agent's embedding provider.
 */
export interface EmbedParams {
  /** At most 10,000 texts of 4,000,000 characters in all. */
  texts: string[];
  /** The agent whose provider is used; null: the default agent. */
  agent?: string | null;
  /** `document` or `query`: some models embed them differently. */
  kind?: string;
  /** Store vectors of documents in the agent's cache, and use those that are there. */
  keep?: boolean;
}

/**
 * Vectors of unit length: `count` rows of `dims` numbers, as packed little-endian float32.
 */
export interface EmbedReply {
  /** Name of the embedding provider. */
  provider: string;
  /** Name of the model. */
  model: string;
  /** Number of vectors. */
  count: number;
  /** Dimensions of a vector. */
  dims: number;
  /** `count` × `dims` little-endian float32, unit length. */
  vectors: Uint8Array;
}

/**
 * Download, describe or remove a local embedding model, or list those on disk.
 */
export interface ModelParams {
  /** `minilm`, `e5`, a path, `hf:owner/repo/file.gguf` or `https://…`; not needed for `list`; empty for `info`: the
   * default model of `provider = "local"`. */
  ref?: string;
  /** `pull`, `list`, `info` or `remove`. */
  action?: string;
  /** Remove a model although an agent's settings name it; else that is `bad_params`. */
  force?: boolean;
}

/**
 * A model on disk, the agents whose settings name it, whether it is loaded, and its estimated RAM then.
 */
export interface ModelFile {
  /** Reference of the model. */
  ref: string;
  /** Path of its file. */
  path: string;
  /** Size of its file. */
  size_bytes: number;
  /** Agents whose settings name it. */
  used_by: string[];
  /** A process has it loaded. */
  loaded: boolean;
  /** Estimated RAM of its process while it embeds; 0 if unknown. */
  ram_bytes: number;
}

/**
 * What a model needs, estimated from the metadata of its file. Zero is unknown.
 */
export interface ModelInfo {
  /** The file is on disk. */
  downloaded: boolean;
  /** Architecture of the network. */
  architecture: string;
  /** Its layers. */
  layers: number;
  /** Dimensions of a vector. */
  dims: number;
  /** Tokens that the model distinguishes. */
  vocabulary: number;
  /** Longest text that the model was trained for, in tokens. */
  trained_tokens: number;
  /** Tokens that memd embeds at once; longer texts are split into windows. */
  context_tokens: number;
  /** Tokens of a full chunk with prompt, start and end. */
  chunk_tokens: number;
  /** Parts that such a chunk is embedded in. */
  windows: number;
  /** Estimated RAM of the model process while it embeds. */
  ram_bytes: number;
  /** Estimated RAM for an instant, at the first long text. */
  peak_bytes: number;
  /** The package whose llama.cpp loads it; empty: none is installed. */
  engine: string;
  /** Whether the engine was built for a GPU; null: not known until a model is loaded. */
  has_gpu: boolean | null;
  /** Layers that a GPU computes; null until the model is loaded. */
  gpu_layers: number | null;
}

/**
 * The model file that was pulled or removed, or that `info` is about; for `list`, all model files.
 */
export interface ModelReply {
  /** Reference of the model; empty for `list`. */
  ref: string;
  /** Its file, for `info` also before the download; for `list` the model directory. */
  path: string;
  /** Its size; for `list` the size of all. */
  size_bytes: number;
  /** For `list`, a row per model. */
  models: ModelFile[];
  /** For `info`, what the model needs. */
  info: ModelInfo | null;
}

/**
 * Return the definitions of the memory tools for a model.
 */
export interface ToolsParams {
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** `plain` (`{name, description, parameters}`), `openai` (`{type: "function", function: {…}}`) or `anthropic`
   * (`{name, description, input_schema}`). */
  shape?: string;
  /** `memory_search`, `memory_get`, `memory_store`, `memory_recall`, `memory_forget`; null: the first two. */
  include?: string[] | null;
}

/**
 * Definitions for a model; empty if the agent's memory is turned off.
 */
export interface ToolsReply {
  /** The agent. */
  agent: string;
  /** As requested. */
  shape: string;
  /** Definitions; empty if the agent's memory is off. */
  tools: Record<string, unknown>[];
}

/**
 * Execute a model's call of a memory tool; mistakes in it are returned.
 */
export interface CallToolParams {
  /** The tool, as the model wrote it. */
  name: string;
  /** The arguments as the model wrote them: a map, or JSON as text. Numbers may be text; a null counts as omitted. A
   * text in them has at most 8,000 characters. */
  arguments?: unknown;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Decides about citations, as `kind` in `session_started`; null: derived from `session_key`. */
  session_kind?: string | null;
  /** OpenClaw's name for the conversation, which is excluded from searches. */
  session_key?: string;
  /** Limits a search, in milliseconds. */
  deadline_ms?: number | null;
  /** As in `search`. */
  active_projects?: string[] | null;
  /** True: `memory_search` also searches transcripts that are indexed for recall alone. */
  recall?: boolean;
  /** Whether `memory_get` also reads conversations, as in `get`; set it only for a model that may read all of the
   * agent. */
  include_conversations?: boolean;
  /** As in `search`. */
  caller?: string;
}

/**
 * The tool's result: `result` as data, `text` the same as JSON for the model.
 *
 * If `ok` is false, the result describes the mistake in the call: `error`, `expected`, `example`.
 */
export interface CallToolReply {
  /** The agent. */
  agent: string;
  /** The tool. */
  name: string;
  /** False: the call was invalid. */
  ok: boolean;
  /** The result as data. */
  result: Record<string, unknown>;
  /** `result` as JSON for the model; invisible and direction-changing characters are written as `‮`. */
  text: string;
}

/**
 * Return the section of a system prompt that describes a model's memory tools.
 */
export interface PromptSectionParams {
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Names of the model's tools; `sessions_search` and `sessions_history` get a sentence too, other tools are ignored.
   * null: `memory_search` and `memory_get`. */
  tools?: string[] | null;
  /** `auto`, `on` or `off`; null: the agent's setting. */
  citations?: string | null;
  /** Decides what `auto` means, as in `call_tool`. */
  session_kind?: string | null;
  /** OpenClaw's name for the conversation. */
  session_key?: string;
}

/**
 * A section for the system prompt, empty if there is no memory tool; `citations` is `on` or `off`.
 */
export interface PromptSectionReply {
  /** The agent. */
  agent: string;
  /** Fewer than 1,200 characters; empty if the model has no memory tool or the agent's memory is off. */
  text: string;
  /** `on` or `off`. */
  citations: string;
}

/**
 * Report the start of a session: start a sync and return the start-up context.
 */
export interface SessionStartedParams {
  /** OpenClaw's name for the conversation; not blank. */
  session_key: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** `main`, `direct`, `group`, `channel`, `subagent`, `cron` or `heartbeat`; null: derived from the key
   * (`agent:main:main` is main; `…:group:…`, `…:channel:…`, `…:subagent:…`). */
  kind?: string | null;
  /** Limits each file in the context, 1 to 1,000,000. */
  max_file_characters?: number;
  /** Limits all files together, up to 1,000,000; 0: no context. */
  max_characters?: number;
}

/**
 * A file of the start-up context: its characters in the context, all its characters, and whether it was truncated.
 *
 * Invisible characters are escaped in the context, and count there in their escaped form.
 */
export interface ContextFile {
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** Its characters in `context`. */
  characters: number;
  /** Characters of the file; invisible ones count as they are written out. */
  total_characters: number;
  /** The file was cut. */
  cut: boolean;
}

/**
 * The start-up context, and whether a sync was started (once per key, if the settings ask for it).
 */
export interface SessionStartedReply {
  /** The agent's id. */
  agent: string;
  /** A sync was started: for the first start of each key, if `sync.onSessionStart` is on. */
  syncing: boolean;
  /** Kind of the session. */
  kind: string;
  /** The user's day. */
  date: string;
  /** The notes that the session starts with, or empty. */
  context: string;
  /** The files in `context`. */
  files: ContextFile[];
}

/**
 * Report the end of a session and write the end of its conversation to a note.
 */
export interface SessionEndedParams {
  /** OpenClaw's name for the conversation; not blank. */
  session_key: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The session that ended. */
  session_id?: string | null;
  /** Its file, directly in the agent's folder `sessions`: a path or a name. */
  transcript?: string | null;
  /** Name for the note; it is cleaned. */
  slug?: string | null;
  /** Channel of the conversation, such as `telegram`. */
  channel?: string | null;
  /** `new` or `reset`. */
  reason?: string;
  /** The session that follows; the same as `session_id` if the transcript continues after a reset. */
  next_session_id?: string | null;
  /** When it ended, as Unix time in milliseconds: the note gets that day and hour, and of several resets the nearest
   * counts; null: now. */
  ended_ms?: number | null;
  /** True: the note goes to `memory/sessions/` and is labelled with `session_key`. */
  private?: boolean;
}

/**
 * The note, made of `messages` messages; `path` is empty if there is none.
 */
export interface SessionEndedReply {
  /** The agent's id. */
  agent: string;
  /** The note; empty: none. */
  path: string;
  /** Messages in the note. */
  messages: number;
  /** Name of the note. */
  slug: string;
  /** Source of the slug: `caller`, `model`, `words` or `time`. */
  slug_from: string;
  /** `written`, `known` (this note existed), or why there is none: `off` (in the settings), `no_transcript`,
   * `nothing_said`. */
  reason: string;
}

/**
 * Return whether a session nears compaction and should run a memory flush.
 */
export interface FlushCheckParams {
  /** OpenClaw's name for the conversation. */
  session_key: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Tokens in the context; null or 0: not known, so tokens never make a flush due. */
  total_tokens?: number | null;
  /** Tokens that fit into the context. */
  context_window?: number | null;
  /** Tokens that the next turn adds. */
  next_input_tokens?: number;
  /** Size of the transcript; a flush is due from `forceFlushTranscriptBytes` on, whatever the tokens are. */
  transcript_bytes?: number | null;
  /** How often the session was compacted; null: counted by `compaction_done`. */
  compaction_count?: number | null;
  /** Id of the session; another id under the same key starts again. */
  session_id?: string;
  /** As in `session_started`. */
  kind?: string | null;
  /** The model runs behind a command line that keeps its own context. */
  cli_provider?: boolean;
  /** Access of the sandbox: `rw`, `ro` or `none`. */
  workspace_access?: string;
}

/**
 * Whether to run a memory flush (a turn in which the model writes notes), and why; the prompts are empty if not.
 */
export interface FlushCheckReply {
  /** The agent's id. */
  agent: string;
  /** True: a flush is due. */
  run: boolean;
  /** `tokens` or `transcript_size` if due; else `off`, `heartbeat`, `cli_provider`, `no_workspace`,
   * `workspace_read_only`, `flushed_already`, `tokens_unknown`, `window_unknown`, `window_too_small` or
   * `below_threshold`. */
  reason: string;
  /** The reason as a sentence. */
  message: string;
  /** Tokens at which a flush is due; 0: never. */
  threshold_tokens: number;
  /** How often the session was compacted. */
  compaction_count: number;
  /** System prompt for the flush; empty if `run` is false. */
  system_prompt: string;
  /** Prompt for the flush; empty if `run` is false. */
  prompt: string;
  /** The note to append to, by the user's date. */
  path: string;
}

/**
 * Report that the flush requested by `flush_check` has run, with or without notes.
 */
export interface FlushDoneParams {
  /** OpenClaw's name for the conversation. */
  session_key: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** As in `flush_check`. */
  compaction_count?: number | null;
  /** As in `flush_check`. */
  session_id?: string;
}

/**
 * The compaction cycle whose flush was recorded, and whether a sync was started.
 */
export interface FlushDoneReply {
  /** The agent's id. */
  agent: string;
  /** A sync was started; false if the agent's memory is off. */
  syncing: boolean;
  /** The cycle recorded. */
  compaction_count: number;
}

/**
 * Report that an agent's context was compacted; a sync is started.
 */
export interface CompactionDoneParams {
  /** OpenClaw's name for the conversation; empty: only start the sync. */
  session_key?: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** How often so far; null: one more than before. */
  compaction_count?: number | null;
  /** As in `flush_check`. */
  session_id?: string;
}

/**
 * Whether a sync was started, because a flush has usually written notes. The count is 0 without a session key.
 */
export interface CompactionDoneReply {
  /** The agent's id. */
  agent: string;
  /** A sync was started. */
  syncing: boolean;
  /** The count; 0 without a key. */
  compaction_count: number;
}

/**
 * Report an event of another program's session, and return text for its model.
 */
export interface HookParams {
  /** The program of `memctl hooks install`: `claude-code`, `codex`, `gemini`, `qwen`, `cursor`, `copilot`. */
  program: string;
  /** `session_start`, `prompt`, `compaction`, `session_end`; `before_tool` (before a command or an edit), `after_tool`
   * or `after_failure` (after a command that failed). */
  event: string;
  /** The program's id of the session; not blank. */
  session_id: string;
  /** Folder of the session. */
  cwd?: string;
  /** The user's prompt; only with the event `prompt`. */
  prompt?: string;
  /** Why the session started or ended, what started the compaction, or who wrote the prompt, in the program's words. */
  reason?: string;
  /** The session's transcript, or empty. */
  transcript_path?: string;
  /** The program's name of the tool; this and the next three only with `before_tool`, `after_tool` and `after_failure`.
   * */
  tool?: string;
  /** The command line, or the patch. */
  command?: string;
  /** The file that is edited; empty for commands and patches. */
  file?: string;
  /** The output of the command that failed. */
  error?: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
}

/**
 * The text for the program's model, empty if there is none, the decision, and the number of hits in the text.
 */
export interface HookReply {
  /** Text for the program's model, or empty. */
  text: string;
  /** `injected`; `related` (one line names where the answer may be, because the hits are not sure enough to quote); or
   * why there is no text: `empty` (nothing was found), `machine_prompt` (not a person's prompt), `not_sure` (the hits
   * are weak), `already_shown` (in this session), `nothing_new`, `withheld` (only text of other people answers),
   * `indexed` (the session is being indexed), `off` (in the settings), `excluded` (the folder is, by the setting
   * `exclude`) or `gave_up` (the search was too slow, the caller left, or memory failed). */
  decision: string;
  /** Hits in the text. */
  hits: number;
}

/**
 * Return the newest decisions of `hook`.
 */
export interface HookLogParams {
  /** How many, 1 to 1,000. */
  limit?: number;
  /** Only this session: its id, or the beginning of only one; null: all. */
  session_id?: string | null;
}

/**
 * One event: its decision, the characters of the added text, and the places of its hits.
 *
 * If nothing was added, `candidate` is the place of the best candidate, and `lacks` explains in English why it wasn't
 * added, or why there is no answer; its wording may change. They are empty if they don't apply.
 */
export interface HookLogEntry {
  /** When the decision was made. */
  time_ms: number;
  /** As in `hook`. */
  program: string;
  /** The program's id of the session. */
  session_id: string;
  /** As in `hook`. */
  event: string;
  /** As in `hook`. */
  decision: string;
  /** Characters of the text. */
  chars: number;
  /** Places of its hits. */
  places: string[];
  /** The first words of the prompt, the command or the file on one line, at most 60 characters, without secrets. */
  prompt: string;
  /** If nothing was added, the place of the best candidate, or empty. */
  candidate: string;
  /** What the candidate lacks, or why there is no answer, in English, for people; the wording may change. */
  lacks: string;
}

/**
 * The entries, newest first.
 */
export interface HookLogReply {
  /** The entries, newest first. */
  entries: HookLogEntry[];
}

/**
 * Return what was recalled and what was not found, or clear the log of it.
 */
export interface UsageParams {
  /** `show`, or `clear`: delete all entries of the log, or those of `agent`. */
  action?: string;
  /** Only recalls since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`); null: all that are logged. */
  since?: string | null;
  /** Only recalls of this agent's memory; null: all agents. */
  agent?: string | null;
  /** The most rows of each list, 1 to 100. */
  limit?: number;
}

/**
 * The recalls of one program on one day (UTC), by one way.
 */
export interface RecallDay {
  /** YYYY-MM-DD. */
  day: string;
  /** The program, as it names itself. */
  program: string;
  /** `search`, `tool` (a model's tool call), `mcp`, `prompt` (added to a prompt), `start` (start-up context) or
   * `action` (added at a command or an edit). */
  way: string;
  /** Number of recalls. */
  recalls: number;
  /** Of these, recalls with a strong hit or an added text. */
  strong: number;
  /** Of these, recalls whose conversation memd has read. */
  judged: number;
  /** Of these, recalls whose text the next answer likely used. */
  likely_used: number;
}

/**
 * A note or a conversation that was recalled.
 */
export interface RecalledFile {
  /** The agent in whose memory it is. */
  agent: string;
  /** Its path, as in a hit. */
  path: string;
  /** How many recalls showed it. */
  recalls: number;
  /** After how many of them the next answer likely used it. */
  likely_used: number;
  /** The last of them, epoch ms. */
  last_ms: number;
}

/**
 * A note or a conversation that no logged recall has shown.
 */
export interface NeverRecalled {
  /** The agent in whose memory it is. */
  agent: string;
  /** The file. */
  file: FileEntry;
}

/**
 * Similar queries without a strong hit.
 */
export interface UnansweredQuery {
  /** The newest of them, without secrets. */
  query: string;
  /** How many there were. */
  count: number;
  /** The programs that sent them. */
  programs: string[];
  /** When the newest was sent, epoch ms. */
  last_ms: number;
}

/**
 * What was recalled. `since_ms` is the first logged recall, or the start of the requested time if that is later.
 */
export interface UsageReply {
  /** Whether recalls are logged: the setting `recall_log`. */
  is_on: boolean;
  /** Number of recalls. */
  recalls: number;
  /** Since when they are counted, epoch ms; 0: no recall is logged. */
  since_ms: number;
  /** Recalls by day, program and way, the newest day first. */
  days: RecallDay[];
  /** Notes and conversations that were recalled most often. */
  often: RecalledFile[];
  /** The largest notes and conversations that were never recalled. */
  never: NeverRecalled[];
  /** How many were never recalled. */
  never_total: number;
  /** Queries without a strong hit, the most frequent first. */
  unanswered: UnansweredQuery[];
  /** Entries deleted by `clear`. */
  cleared: number;
}

/**
 * List withheld lines, or change which lines of a file are released.
 */
export interface TrustParams {
  /** Only lines of this file; null: of all files. */
  path?: string | null;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Texts of lines of the file to release; an empty list takes back all its releases; null: change nothing. */
  release?: string[] | null;
  /** The most lines to return, 1 to 100,000. */
  limit?: number;
}

/**
 * A line that no hook and no start-up context shows.
 */
export interface WithheldLine {
  /** Path of its file. */
  path: string;
  /** Its number in the file. */
  line: number;
  /** Why it is outside. */
  reason: string;
  /** The line; text of other people. */
  text: string;
  /** When the file changed last. */
  time_ms: number;
}

/**
 * The withheld lines of an agent's memory.
 */
export interface TrustReply {
  /** The agent's id. */
  agent: string;
  /** The lines, those of the newest file first. */
  lines: WithheldLine[];
  /** The number of released lines by path. */
  released: Record<string, number>;
}

/**
 * Append an entry to a daily note, and wait until it is on disk.
 */
export interface AppendNoteParams {
  /** The entry, Markdown of at most 64 KiB. */
  text: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The day as YYYY-MM-DD; null: today in the user's time zone. */
  date?: string | null;
  /** Makes the request repeatable: an entry with a key that the note has is not appended again. 1 to 128 of `A-Z a-z
   * 0-9 . _ : -`. */
  key?: string | null;
}

/**
 * The lines of the entry; `appended` is false if it was there already.
 */
export interface AppendNoteReply {
  /** The agent's id. */
  agent: string;
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** First line. */
  start_line: number;
  /** Last line. */
  end_line: number;
  /** False: the entry with this key existed. */
  appended: boolean;
}

/**
 * Store a fact in `memory/facts.md`, unless it duplicates an existing fact.
 */
export interface MemoryStoreParams {
  /** One fact, 1 to 4,000 characters; it becomes one line. */
  text: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** 0 to 1; null: 0.7. */
  importance?: number | null;
  /** `preference`, `fact`, `decision`, `entity` or `other`; null: derived from the text. */
  category?: string | null;
  /** The fact's id in another program, 1 to 64 letters, digits, `-`, `_`; an existing one is not stored again. null: a
   * new one. */
  id?: string | null;
  /** When it was created, epoch ms; null: now. */
  created_ms?: number | null;
  /** A vector of the text, little-endian float32. */
  vector?: Uint8Array | Float32Array | null;
  /** The model of `vector`, which is used if the agent's provider has this model. */
  vector_model?: string;
}

/**
 * A fact. `created_ms` is None if its line has no date, as in a line written by hand.
 */
export interface FactRow {
  /** Id of the fact. */
  id: string;
  /** The fact. */
  text: string;
  /** 0 to 1. */
  importance: number;
  /** `preference`, `fact`, `decision`, `entity` or `other`. */
  category: string;
  /** When it was stored, epoch ms; null: not known. */
  created_ms: number | null;
  /** 0 to 1; 0 in a list. */
  score: number;
  /** Path relative to the workspace, as in a hit. */
  path: string;
  /** Its line. */
  line: number;
  /** Whose words it is, as in a hit. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * The stored fact, or (`stored` is false) the existing fact that duplicates it.
 */
export interface MemoryStoreReply {
  /** The agent's id. */
  agent: string;
  /** Of the fact, or of its duplicate. */
  id: string;
  /** False: there is a duplicate. */
  stored: boolean;
  /** Of the fact, or of its duplicate. */
  category: string;
  /** File of the fact, or of its duplicate. */
  path: string;
  /** Line of the fact, or of its duplicate. */
  line: number;
  /** What was compared: `vectors`, `words` or `id`. */
  compared: string;
  /** Id of the duplicate, or null. */
  duplicate_of: string | null;
  /** Text of the duplicate, or empty. */
  duplicate_text: string;
  /** Cosine of the duplicate, or null. */
  similarity: number | null;
  /** Error code of the missing vectors, or empty. */
  reason: string;
  /** `vector` was used. */
  vector_used: boolean;
  /** The earlier fact about the same subject with another value, or null. */
  supersedes: FactRow | null;
  /** Whose words the duplicate is, as in a hit. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * Return the facts nearest to a query, best first.
 */
export interface MemoryRecallParams {
  /** Any text; the first 2,000 characters count. Blank: list all facts, newest first. */
  query: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The most facts, 1 to 10,000. */
  limit?: number;
  /** Leave out facts with a lower score, 0 to 1. */
  min_score?: number;
}

/**
 * Facts, best first.
 */
export interface MemoryRecallReply {
  /** The agent's id. */
  agent: string;
  /** Facts, best first. */
  facts: FactRow[];
  /** `vectors`, `words`, or `none` for a list. */
  compared: string;
  /** Number of facts. */
  total: number;
  /** Facts without a vector yet, compared by their words; a later recall has their vectors. */
  without_vectors: number;
  /** Error code of the missing vectors, or empty. */
  reason: string;
}

/**
 * Change the text of a fact, on its line; all other lines stay unchanged.
 */
export interface MemoryEditParams {
  /** The fact's id. */
  id: string;
  /** Its new text, 1 to 4,000 characters; it becomes one line. */
  text: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The text that the caller knows; if it differs from the file's, the error is `fact_changed`. */
  expected_text?: string | null;
  /** 0 to 1; null: unchanged. */
  importance?: number | null;
  /** As in `memory_store`; null: unchanged. */
  category?: string | null;
}

/**
 * The edited fact; its `id` changes if it was derived from the text.
 *
 * If `stored` is false, another fact, `duplicate_of`, has the same content in `duplicate_text`, and nothing was
 * changed; `id`, `category`, `path` and `line` are of the unchanged fact.
 */
export interface MemoryEditReply {
  /** The agent's id. */
  agent: string;
  /** Id of the fact after the edit. */
  id: string;
  /** False: another fact has the same words, and nothing was changed. Vectors are not compared. */
  stored: boolean;
  /** Of the fact. */
  category: string;
  /** File of the fact. */
  path: string;
  /** Line of the fact. */
  line: number;
  /** Id of the fact with the same words, or null. */
  duplicate_of: string | null;
  /** Its text, or empty. */
  duplicate_text: string;
}

/**
 * Remove a fact: the one with an id, or the only clear match of a query.
 */
export interface MemoryForgetParams {
  /** The fact's id. */
  id?: string | null;
  /** A text that clearly means one fact; give either this or `id`. */
  query?: string | null;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
}

/**
 * The forgotten fact, or None. `candidates` are the facts that an ambiguous query matches.
 */
export interface MemoryForgetReply {
  /** The agent's id. */
  agent: string;
  /** The fact removed, or null. */
  forgotten: FactRow | null;
  /** If none was removed, up to five facts that `query` may mean. */
  candidates: FactRow[];
  /** `vectors`, `words` or `id`. */
  compared: string;
}

/**
 * Find what would be forgotten, forget it, list receipts, or undo.
 */
export interface ForgetParams {
  /** `find` changes nothing; `forget` needs `confirmed`; `receipts` lists receipts; `undo` takes back `receipt`. */
  action?: string;
  /** The id of a fact, the path of a note, the path or id of a conversation, an exact text, or a query. A text in
   * double quotes is exact, however short it is. */
  target?: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** All agents of this machine, their remotes and other machines. */
  everywhere?: boolean;
  /** The `found_id` of a reply to `find` that the user has confirmed. */
  confirmed?: string;
  /** The id of a receipt; empty: the newest. */
  receipt?: string;
}

/**
 * A text that would be forgotten.
 */
export interface ForgetStatement {
  /** The text. */
  text: string;
  /** Where it was found; empty for a text that was passed. */
  citation: string;
}

/**
 * What one place contains of a text, or contained before it was forgotten.
 */
export interface ForgetPlace {
  /** `notes`, `facts`, `conversations`, `retained copies`, `index`, `recall log`, `trash` or another place. */
  place: string;
  /** The agent; empty if the place belongs to all agents. */
  agent: string;
  /** The file. */
  location: string;
  /** Number of occurrences. */
  count: number;
  /** `found`; afterwards `erased`, `retained` (it is part of another note), `hidden` (memd can't change the file, and
   * masks the text when it reads it) or `failed`. */
  state: string;
  /** Why it wasn't erased. */
  reason: string;
}

/**
 * A file whose bytes were searched afterwards.
 */
export interface ForgetCheck {
  /** The file. */
  location: string;
  /** The hash of its bytes. */
  sha256: string;
  /** How often they contain a forgotten text, as far as is known; 0 if all is gone. */
  count: number;
}

/**
 * What was forgotten, without the text.
 */
export interface ForgetReceipt {
  /** Its id. */
  id: string;
  /** `text`, `fact`, `note` or `conversation`. */
  kind: string;
  /** When it was confirmed. */
  time_ms: number;
  /** The agents; empty: all. */
  agents: string[];
  /** Number of different texts. */
  texts: number;
  /** `pending` until all places were erased and checked, then `done`; `undone` after `undo`. */
  state: string;
  /** What was in which place. */
  places: ForgetPlace[];
  /** The files that were searched afterwards. */
  checked: ForgetCheck[];
  /** What may still contain the text, because memd can't or must not change it. */
  unreachable: string[];
  /** When removed notes leave the trash; 0: nothing is in it. */
  trash_until_ms: number;
}

/**
 * What would be forgotten, or receipts.
 */
export interface ForgetReply {
  /** What the target is: `text`, `fact`, `note` or `conversation`. */
  kind: string;
  /** The texts that would be forgotten. */
  statements: ForgetStatement[];
  /** Where they are. */
  places: ForgetPlace[];
  /** Confirms exactly this in a request `forget`. */
  found_id: string;
  /** The receipt of what was forgotten or undone, or all of them, the newest first. */
  receipts: ForgetReceipt[];
}

/**
 * List the facts of an agent, newest first.
 */
export interface FactsParams {
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** How many of the newest to skip. */
  offset?: number;
  /** How many to list, 1 to 1,000. */
  limit?: number;
}

/**
 * Facts, newest first; their `score` is 0. `total` counts all facts.
 */
export interface FactsReply {
  /** The agent's id. */
  agent: string;
  /** Facts, newest first; their `score` is 0. */
  facts: FactRow[];
  /** Number of all, in all pages. */
  total: number;
}

/**
 * Return the facts nearest to a prompt, as a block of text to put before it.
 */
export interface FactsForPromptParams {
  /** The user's message. Channel headers and injected blocks in its first 200,000 characters are removed; of the rest
   * the first 2,000 count. */
  prompt: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Recall facts even if the setting `autoRecall` is off. */
  force?: boolean;
}

/**
 * A block to put before the prompt, and the facts in it.
 *
 * If `text` is empty, `reason` is `off`, `blank` (the prompt is), `no_facts` or `nothing_near`.
 */
export interface FactsForPromptReply {
  /** The agent's id. */
  agent: string;
  /** The block, or empty. */
  text: string;
  /** Why it is empty: `off`, `blank`, `no_facts` or `nothing_near`. */
  reason: string;
  /** The facts in the block. */
  facts: FactRow[];
}

/**
 * Store lasting statements of the user as facts, at most three per request.
 */
export interface CaptureFactsParams {
  /** At most 1,000 maps with `role` and `content`: a text, or a list of parts (parts of type `text` count). */
  messages: Record<string, unknown>[];
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Capture facts even if the setting `autoCapture` is off. */
  force?: boolean;
}

/**
 * A message stored as a fact; `index` is its position in the request, from 0.
 */
export interface CapturedMessage {
  /** Position of the message in the request, from 0. */
  index: number;
  /** Id of the fact. */
  id: string;
  /** Text of the fact. */
  text: string;
  /** Category of the fact. */
  category: string;
  /** File of the fact. */
  path: string;
  /** Line of the fact. */
  line: number;
}

/**
 * A message not stored as a fact, and why; `duplicate_of` is the fact with the same content.
 */
export interface SkippedMessage {
  /** Position of the message in the request, from 0. */
  index: number;
  /** Why it was skipped. */
  reason: string;
  /** Id of the fact that says the same, or null. */
  duplicate_of: string | null;
}

/**
 * The messages stored as facts, and the others with reasons. `reason` is `off` if no message was examined.
 */
export interface CaptureFactsReply {
  /** The agent's id. */
  agent: string;
  /** Messages stored as facts. */
  stored: CapturedMessage[];
  /** Messages skipped. */
  skipped: SkippedMessage[];
  /** `off`: the setting is off; else empty. */
  reason: string;
}

/**
 * List the sources of other programs, or delete copies of deleted conversations.
 */
export interface SourcesParams {
  /** `list`, or `delete_copies` to delete copies of deleted conversations for good. */
  action?: string;
  /** With `delete_copies`, the source. */
  name?: string;
  /** With `delete_copies`, one session, by its id or the beginning of it; empty: all. */
  session?: string;
  /** The agent's id; null: all agents. */
  agent?: string | null;
}

/**
 * A program that may be given memory by memd's hooks or MCP server, by the program's own settings.
 */
export interface ConnectedProgram {
  /** Name of the program, such as `claude-code`. */
  program: string;
  /** Its title. */
  title: string;
  /** `hooks` or `mcp`. */
  way: string;
  /** `installed`, `not installed`, `incomplete` (hooks of another release), `command missing` or `unreadable`. */
  state: string;
  /** The program's settings file. */
  path: string;
  /** Agents whose memory it is given. */
  agents: string[];
  /** Why, if the state is `command missing` or `unreadable`. */
  problem: string;
}

/**
 * Sources, or the result of `delete_copies`.
 *
 * Of `removed` ones only copies of conversations remain.
 */
export interface SourcesReply {
  /** Sources of agents. */
  sources: SourceStatus[];
  /** Sources on this machine that no agent has. */
  found: SourceStatus[];
  /** Copies deleted. */
  deleted: number;
  /** Sources that were removed from their agent, but whose copies of conversations remain: `kept` of them in the folder
   * in `locations`. */
  removed: SourceStatus[];
  /** Folders, and names of projects, that are never indexed: the setting `exclude`. */
  excluded: string[];
  /** Programs on this machine that may be given memory by hooks or MCP. */
  programs: ConnectedProgram[];
}

/**
 * Replicate the Markdown of agents to other machines through a git remote.
 */
export interface RemoteParams {
  /** `status`; `add` to connect an agent to `url`; `clone` to connect all agents that `url` has memory of, or only
   * `agent`; `sync` now; `pause`, `resume` and `remove`; `resolve` to delete files of conflicts; `purge` to remove
   * earlier contents of the file or folder `path` from the history, here and on the remote, also under names that the
   * file had before. */
  action?: string;
  /** One agent; null: all that have a remote, for `add`, `remove`, `resolve`, `purge` and `missing` the default agent.
   * */
  agent?: string | null;
  /** With `add` and `clone`, the git repository; a folder as an absolute path. */
  url?: string;
  /** With `purge`, the file or folder whose earlier contents leave the history. */
  path?: string;
  /** With `resolve`, files of conflicts to delete; empty: all. */
  paths?: string[];
  /** With `sync`, accept a remote whose history was rewritten. */
  accept_rewrite?: boolean;
  /** With `resume`, `delete` deletes missing files on all machines, and `restore` restores them. */
  missing?: string;
  /** With `clone`, create more than 10 agents. */
  confirmed?: boolean;
}

/**
 * The remotes concerned, files of conflicts that were deleted, and how many commits were rewritten.
 */
export interface RemoteReply {
  /** The remotes concerned. */
  remotes: RemoteStatus[];
  /** Files of conflicts that were deleted. */
  resolved: string[];
  /** Commits of a purged history. */
  commits: number;
  /** Files whose earlier contents were removed, also under earlier names. */
  purged: string[];
}

/**
 * List an agent's indexed conversations, newest first, without subagents'.
 */
export interface ConversationsParams {
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** Only these sources of transcripts; null: all. */
  sources?: string[] | null;
  /** Only conversations held in this project, by its name or path. */
  project?: string | null;
  /** Only conversations that went on after a day began (`2026-11-02`) or within a duration (`12h`, `7d`). */
  since?: string | null;
  /** Only conversations that began before the end of a day (`2026-11-30`), or before a duration (`7d`). */
  until?: string | null;
  /** Only conversations whose title has all of these words, in any case; empty: all. */
  title?: string;
  /** How many of the newest to skip. */
  offset?: number;
  /** How many to list, 1 to 1,000. */
  limit?: number;
}

/**
 * An indexed conversation.
 */
export interface ListedConversation {
  /** Its path in the index, for `conversation_read`. */
  path: string;
  /** The session. */
  session: SessionInfo;
  /** Messages in it. */
  messages: number;
  /** Time of its first record, epoch ms; null: unknown. */
  started_ms: number | null;
  /** Time of its last record, or of the last change of its file, epoch ms. */
  updated_ms: number;
}

/**
 * The conversations of a source or project.
 */
export interface ConversationGroup {
  /** Name of the source, or path of the project. */
  name: string;
  /** Title of the program, or name of the project's folder. */
  title: string;
  /** Number of conversations. */
  conversations: number;
  /** Time of the last one, epoch ms. */
  newest_ms: number;
}

/**
 * Conversations, newest first. `total` counts all that match.
 */
export interface ConversationsReply {
  /** The agent's id. */
  agent: string;
  /** Conversations, newest first. */
  conversations: ListedConversation[];
  /** Number of all that match, in all pages. */
  total: number;
  /** Sources of all conversations of the agent, the most recent first. */
  sources: ConversationGroup[];
  /** Their projects, the most recent first, at most 500. */
  projects: ConversationGroup[];
  /** Time of the oldest conversation of the agent, epoch ms; null: there is none. */
  oldest_ms: number | null;
}

/**
 * Search conversations of all programs and return sessions with their best lines.
 */
export interface ConversationSearchParams {
  /** What to search for, as in `search`. */
  query: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** The most sessions, 1 to 50; null: 5. */
  max_results?: number | null;
  /** Only these sources of transcripts; null: all. */
  sources?: string[] | null;
  /** As in `search`. */
  project?: string | null;
  /** As in `search`. */
  since?: string | null;
  /** As in `search`. */
  exclude_session?: string | null;
  /** As in `search`. */
  deadline_ms?: number | null;
  /** As in `search`. */
  caller?: string;
  /** As in `search`. */
  origins?: string[] | null;
}

/**
 * Lines of a conversation that match; `line` is the place of the best one, for `conversation_read`.
 */
export interface Excerpt {
  /** Place of the line that matches best, for `conversation_read`. */
  line: number;
  /** The lines, `User: …` and `Assistant: …`. */
  text: string;
  /** Day of the last line, or empty. */
  date: string;
  /** 0 to 1. */
  score: number;
  /** Whose words the lines are, as in a hit; of several the least trusted. */
  origin: string;
  /** Why they are `outside`; empty if they are not. */
  origin_reason: string;
}

/**
 * A session with the lines that match best; `path` is its path in the index.
 */
export interface FoundConversation {
  /** The session. */
  session: SessionInfo;
  /** Its path in the index, for `conversation_read`. */
  path: string;
  /** 0 to 1: that of its best lines. */
  score: number;
  /** `strong` or `weak`. */
  relevance: string;
  /** Its best lines, at most three. */
  excerpts: Excerpt[];
}

/**
 * Sessions, best first. `partial`: changes of the last moment are not included.
 */
export interface ConversationSearchReply {
  /** The agent searched. */
  agent: string;
  /** Sessions, best first. */
  conversations: FoundConversation[];
  /** Duration in ms. */
  took_ms: number;
  /** As in the reply to `search`. */
  mode: string;
  /** As in the reply to `search`. */
  degraded: Degradation | null;
  /** As in the reply to `search`. */
  partial: boolean;
}

/**
 * Return messages of a session, as they are on disk now, without secrets.
 *
 * Messages around the place `line` are returned, or from message `first` (from 1); without either the last ones.
 */
export interface ConversationReadParams {
  /** Id of the session, its path in the index, or a citation such as `codex/0199#L12-L18`: then messages around its
   * first line. */
  session: string;
  /** The agent's id; null: the default agent. */
  agent?: string | null;
  /** A place as in a hit's `start_line` or an excerpt's `line`. */
  line?: number | null;
  /** Number of the first message, from 1; without it and `line`: the last messages. */
  first?: number | null;
  /** The most messages, 1 to 200. */
  messages?: number;
}

/**
 * One message on one line: its number in the session from 1, its place in the transcript, and who says it.
 */
export interface SessionMessage {
  /** Number in the session, from 1. */
  number: number;
  /** Place in the transcript. */
  line: number;
  /** `user` or `assistant`. */
  speaker: string;
  /** The message on one line. */
  text: string;
  /** When it was said, epoch ms; null: unknown. */
  time_ms: number | null;
  /** Whose words it is, as in a hit. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * Messages of a session, in order; `total` counts all of them.
 */
export interface ConversationReadReply {
  /** The agent's id. */
  agent: string;
  /** Its path in the index. */
  path: string;
  /** The session. */
  session: SessionInfo;
  /** Messages in order; fewer if they are long. */
  messages: SessionMessage[];
  /** Messages in the session. */
  total: number;
}

/**
 * Return a digest of a session, with which another program can continue it.
 *
 * Reading a digest changes nothing, so it can be read again, and by several programs.
 */
export interface SessionHandoffParams {
  /** Id of the session or the beginning of its id, or its path in the index; empty: the newest session of `project`
   * that has a request and an answer. */
  session?: string;
  /** Name of the project's folder, or a path in it; worktrees of a repository are one project. Empty: any. */
  project?: string;
  /** Name of the program that continues, for `start`; empty: none. */
  to?: string;
  /** The agent's id; null: the default agent and `shared`. */
  agent?: string | null;
  /** Id of a session that isn't chosen: the one that asks. */
  exclude_session?: string;
}

/**
 * A digest of a session, without secrets.
 */
export interface SessionHandoffReply {
  /** The agent whose memory has the session. */
  agent: string;
  /** Path of the session in the index. */
  path: string;
  /** The session. */
  session: SessionInfo;
  /** The digest as Markdown, at most 6,000 characters. */
  text: string;
  /** Shell command that starts the program `to` with the digest; empty without `to`. */
  start: string;
}

/**
 * Return how a command really runs here: invocations that succeeded, best first.
 */
export interface HowParams {
  /** A program (`pytest`), a program and its subcommand (`cargo test`), a whole command line, or a description such as
   * `run the integration tests`. */
  command: string;
  /** The agent's id; null: the default agent and `shared`. */
  agent?: string | null;
  /** Name of a project's folder, or a path in it, whose commands come first; empty: none is preferred. */
  project?: string;
  /** Whether invocations that only ever failed are returned too, after all others. */
  include_failed?: boolean;
  /** The most invocations, 1 to 100. */
  limit?: number;
}

/**
 * An invocation of a command in a folder, with all of its runs.
 */
export interface KnownCommand {
  /** The command line of the newest run that succeeded, else of the newest run. */
  line: string;
  /** The working directory; empty if unknown. */
  folder: string;
  /** `ok` if a run succeeded; `failed` if every run of known outcome failed; `unknown` if the outcome of none is
   * recorded. */
  status: string;
  /** Number of runs that succeeded. */
  succeeded: number;
  /** Number of runs that failed. */
  failed: number;
  /** Number of runs whose outcome isn't recorded. */
  unknown: number;
  /** Number of sessions that ran it. */
  sessions: number;
  /** Time of the newest run of that status, epoch ms; 0: unknown. */
  last_ms: number;
  /** Place of that run, for `get`. */
  citation: string;
  /** The agent whose memory has it. */
  agent: string;
  /** The conversation's path in the index. */
  path: string;
  /** Place of the run in the transcript. */
  start_line: number;
  /** The session of that run; null for one of OpenClaw's. */
  session: SessionInfo | null;
  /** `outside` if a part of it repeats text of other people that the session read; else `program`. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * Invocations of a command, best first.
 */
export interface HowReply {
  /** The invocations, best first. */
  commands: KnownCommand[];
  /** Number of matching invocations that only ever failed, whether or not they are returned. */
  only_failed: number;
  /** Number of recorded commands that were searched. */
  searched: number;
}

/**
 * Return what fixed an error before, best first.
 *
 * A fix is a failed command with its own next success, and the steps between them.
 */
export interface FixParams {
  /** The output of the failed command, its first lines, a stack trace, or a description of the error in any language.
   * */
  error: string;
  /** The agent's id; null: the default agent and `shared`. */
  agent?: string | null;
  /** Name of a project's folder, or a path in it, whose fixes come first; empty: none is preferred. */
  project?: string;
  /** The most fixes, 1 to 100. */
  limit?: number;
}

/**
 * A step between a failure and the success that followed it.
 */
export interface FixStep {
  /** `ran`, `edited`, `created` or `deleted`. */
  action: string;
  /** The command line, or the path of the file. */
  text: string;
  /** The replaced lines of an edit, cut; empty if unknown. */
  old: string;
  /** The new lines of an edit, cut; empty if unknown. */
  new: string;
}

/**
 * A failure and what fixed it.
 */
export interface Fix {
  /** The line that names the error. */
  error: string;
  /** The command line that failed. */
  command: string;
  /** Its working directory; empty if unknown. */
  folder: string;
  /** The command line that succeeded. */
  fixed_by: string;
  /** Whether `fixed_by` is the failed command again; else another invocation of the same program. */
  is_same_command: boolean;
  /** Edits and commands between the two, in order, at most 12. */
  steps: FixStep[];
  /** Number of sessions in which the same steps followed the same error. */
  sessions: number;
  /** Whether the error did not come back later in the session. */
  has_held: boolean;
  /** Time of the success, epoch ms; 0: unknown. */
  time_ms: number;
  /** Place of the failure and its fix, for `get`. */
  citation: string;
  /** The agent whose memory has it. */
  agent: string;
  /** The conversation's path in the index. */
  path: string;
  /** Place of the failure in the transcript. */
  start_line: number;
  /** The session; null for one of OpenClaw's. */
  session: SessionInfo | null;
  /** `outside` if a part of it repeats text of other people that the session read; else `program`. */
  origin: string;
  /** Why it is `outside`; empty if it is not. */
  origin_reason: string;
}

/**
 * Fixes of an error, best first.
 */
export interface FixReply {
  /** The fixes, best first. */
  fixes: Fix[];
  /** How often the error went away when the same command ran again without any change: it may be flaky. */
  reruns: number;
  /** Number of failures with this error after which no success of the command is recorded. */
  unfixed: number;
  /** Number of recorded failures that were searched. */
  searched: number;
}

/**
 * Return the sessions that touched a file, newest first.
 *
 * Each one has what the user requested, and what was decided about the file.
 */
export interface BlameParams {
  /** The file: an absolute path, or the end of a path such as `src/queue.py`. Renames are followed by git. */
  file: string;
  /** Only sessions that changed this line, from 1; null: the whole file. */
  line?: number | null;
  /** The agent's id; null: the default agent and `shared`. */
  agent?: string | null;
  /** The most sessions, 1 to 100. */
  limit?: number;
}

/**
 * A session that touched a file.
 */
export interface FileTouch {
  /** What it did with the file: `read`, `edited`, `created`, `deleted`, each once. */
  actions: string[];
  /** The user's request that led to the first change, or to the first read; empty if unknown. */
  request: string;
  /** Sentences of the session about the file that record a decision, without messages of other people. */
  decisions: string[];
  /** Time of the last of its steps, epoch ms; 0: unknown. */
  time_ms: number;
  /** Place of the change, for `get`. */
  citation: string;
  /** The agent whose memory has it. */
  agent: string;
  /** The conversation's path in the index. */
  path: string;
  /** Place of the first change, or of the first read, in the transcript. */
  start_line: number;
  /** The session; null for one of OpenClaw's. */
  session: SessionInfo | null;
}

/**
 * Sessions that touched a file, newest first.
 */
export interface BlameReply {
  /** The file, absolute if it is known. */
  file: string;
  /** All paths that the file has had, the present one first; of an unknown file the paths of all files with its name.
   * */
  names: string[];
  /** The sessions, newest first. */
  sessions: FileTouch[];
  /** What they were chosen by: `file`; with a line `line` or `near`, if they changed it or lines near it, else
   * `unknown`. */
  matched: string;
}

/**
 * Return the files that the work on a subject touched.
 *
 * `files` lists files of memory instead.
 */
export interface WorkFilesParams {
  /** The subject, as in `search`. */
  topic: string;
  /** The agent's id; null: the default agent and `shared`. */
  agent?: string | null;
  /** Only files of work in this project: the name of its folder, or a path in it; empty: any. */
  project?: string;
  /** The most files, 1 to 100. */
  limit?: number;
}

/**
 * A file that the work on a subject touched.
 */
export interface TouchedFile {
  /** Its path, absolute if the folder is known. */
  file: string;
  /** How often it was edited, created or deleted in that work. */
  edits: number;
  /** How often it was read. */
  reads: number;
  /** Number of sessions. */
  sessions: number;
  /** Time of the last step, epoch ms; 0: unknown. */
  last_ms: number;
  /** Whether it is on disk now. */
  exists: boolean;
  /** Place of the last change, or of the last read, for `get`. */
  citation: string;
  /** The agent whose memory has it. */
  agent: string;
  /** The conversation's path in the index. */
  path: string;
  /** That place in the transcript. */
  start_line: number;
  /** The session of that step; null for one of OpenClaw's. */
  session: SessionInfo | null;
}

/**
 * Files that the work on a subject touched, best first.
 */
export interface WorkFilesReply {
  /** The files, best first. */
  files: TouchedFile[];
}

/**
 * Open the web page that shows the memory of agents, and return its address.
 */
export interface OpenPageParams {
  /** Only this agent; null: all agents. */
  agent?: string | null;
}

/**
 * The address of the page. `url` works once, within `expires_s` seconds.
 */
export interface OpenPageReply {
  /** Address of the page: works once, within `expires_s` seconds. */
  url: string;
  /** The agent shown; null: all. */
  agent: string | null;
  /** Validity of `url` in seconds. */
  expires_s: number;
}

/**
 * Send events of the daemon from now on, until the request is cancelled.
 */
export interface SubscribeParams {
  /** Only events of this agent; null: of all. */
  agent?: string | null;
  /** Only events of these kinds, as listed in docs/protocol.md: `["sync", "note"]`; null: of all. */
  kinds?: string[] | null;
}

/**
 * The reply when the daemon ends a subscription: events sent, and events dropped for a slow client.
 */
export interface SubscribeReply {
  /** Events sent. */
  events: number;
  /** Events dropped. */
  dropped: number;
}

/**
 * Cancel a request of the same connection.
 */
export interface CancelParams {
  /** Id of the request to cancel. */
  id: number;
}

/**
 * Whether that request was still running.
 */
export interface CancelReply {
  /** False: the request had already ended. */
  cancelled: boolean;
}

/**
 * The progress of a request.
 */
export interface Progress {
  /** The request. */
  id: number;
  /** Name of the current step. */
  stage: string;
  /** Work that is done. */
  done: number;
  /** All work; 0: unknown. */
  total: number;
  /** More about the step, such as the name of a file; or empty. */
  detail: string;
}

/**
 * An event of the daemon.
 */
export interface Event {
  /** The request of the subscription. */
  id: number;
  /** Kind of the event. */
  kind: string;
  /** The agent's id. */
  agent: string;
  /** Time of the event. */
  at_ms: number;
  /** Facts about the event; which ones depends on its kind. */
  data: Record<string, unknown>;
  /** Events before this one that were dropped, because this client was too slow. */
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
  usage: { params: UsageParams; reply: UsageReply };
  trust: { params: TrustParams; reply: TrustReply };
  append_note: { params: AppendNoteParams; reply: AppendNoteReply };
  memory_store: { params: MemoryStoreParams; reply: MemoryStoreReply };
  memory_recall: { params: MemoryRecallParams; reply: MemoryRecallReply };
  memory_edit: { params: MemoryEditParams; reply: MemoryEditReply };
  memory_forget: { params: MemoryForgetParams; reply: MemoryForgetReply };
  forget: { params: ForgetParams; reply: ForgetReply };
  facts: { params: FactsParams; reply: FactsReply };
  facts_for_prompt: { params: FactsForPromptParams; reply: FactsForPromptReply };
  capture_facts: { params: CaptureFactsParams; reply: CaptureFactsReply };
  sources: { params: SourcesParams; reply: SourcesReply };
  remote: { params: RemoteParams; reply: RemoteReply };
  conversations: { params: ConversationsParams; reply: ConversationsReply };
  conversation_search: { params: ConversationSearchParams; reply: ConversationSearchReply };
  conversation_read: { params: ConversationReadParams; reply: ConversationReadReply };
  session_handoff: { params: SessionHandoffParams; reply: SessionHandoffReply };
  how: { params: HowParams; reply: HowReply };
  fix: { params: FixParams; reply: FixReply };
  blame: { params: BlameParams; reply: BlameReply };
  work_files: { params: WorkFilesParams; reply: WorkFilesReply };
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
