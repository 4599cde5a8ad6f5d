// Made by `python -m tests.support.node_types` from the Python client: don't edit.
// What each means is in docs/protocol.md of memd, under the same names.

/**
 * First request of a connection.
 */
export interface HelloParams {
  protocol?: number;
  client?: string;
  version?: string;
}

/**
 * Who answers, and what it can do.
 */
export interface HelloReply {
  protocol: number;
  version: string;
  pid: number;
  capabilities: string[];
  limits: Record<string, number>;
}

/**
 * What to report on: one agent or all; `deep` also probes embeddings, vectors and keyword index.
 */
export interface StatusParams {
  agent?: string | null;
  deep?: boolean;
}

/**
 * The local model and the process that holds it.
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
 * A vector space that is being filled while another one answers.
 *
 * `done` of `total` texts have their vector. `eta_s` is None while the pace isn't known; `tokens` is about what the
 * missing texts cost.
 */
export interface Filling {
  provider: string;
  model: string;
  space: string;
  done: number;
  total: number;
  eta_s: number | null;
  tokens: number;
}

/**
 * The provider that was wanted and failed, why, and since when (epoch milliseconds).
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
 * A chunk no vector can be had for; it is found by its words.
 */
export interface RefusedText {
  path: string;
  start_line: number;
  end_line: number;
  reason: string;
}

/**
 * An agent's transcripts: how many are indexed, and how many of each era there are.
 *
 * `left_out` counts sessions that are no memory, by kind; `redactions` the secrets left out of the index.
 */
export interface SessionsStatus {
  transcripts: number;
  messages: number;
  redactions: number;
  eras: Record<string, number>;
  left_out: Record<string, number>;
}

/**
 * Why an answer is less than the whole, and since when (epoch milliseconds).
 */
export interface Degraded {
  code: string;
  reason: string;
  since_ms: number;
  hint: string;
}

/**
 * A file that is not in the index, and why.
 */
export interface Skipped {
  path: string;
  reason: string;
}

/**
 * Something that is wrong, and the way out.
 */
export interface Problem {
  code: string;
  message: string;
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
 * One agent's memory at a glance. The defaults are those of a memory that can't be opened.
 *
 * `waits_for`: what the texts without a vector wait for, where that is neither time nor the provider.
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
  filling: Filling | null;
  waits_for: string;
  fallback: Fallback | null;
  jobs: BulkJob[];
  refused: RefusedText[];
  vector_path: string;
  vector_path_reason: string;
  last_sync_ms: number | null;
  syncing: boolean;
  watch: string;
  watch_reason: string;
  interval_minutes: number;
  sessions: SessionsStatus | null;
  generation: number;
  index_bytes: number;
  degraded: Degraded | null;
  skipped: Skipped[];
  problems: Problem[];
  checks: Check[];
}

/**
 * A model being downloaded, or one whose download failed. Sizes are bytes; `total` is 0 where it isn't known.
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
 * One account at a provider: whether it may be asked, and what it was asked for today.
 *
 * `state` is `ok` or `paused`; a paused one says why, since when and until when (epoch milliseconds).
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
 * What the daemon holds in memory, and what it may: vectors, local models' processes, SQLite's caches. Bytes.
 *
 * `total_budget` is all of it and what the daemon itself takes. `on_battery`: the machine draws from its battery.
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
 * The daemon and its agents. `token_budget` is what may be bought in a day, 0 without a limit.
 *
 * `installation`: in a deep status of all agents, what `memctl doctor` needs of programs, settings, folders and files.
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
 * Everything that is counted; there is nothing to choose.
 */
export interface MetricsParams {}

/**
 * One figure; `labels` tell which of its metric.
 */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/**
 * Durations in seconds. `counts` holds each bucket's own, one more than `MetricsReply.bounds`: what was longer.
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
 * Figures of one name. `kind` is `counter`, `gauge` (both have `samples`) or `histogram` (has `histograms`).
 */
export interface Metric {
  name: string;
  kind: string;
  help: string;
  samples: Sample[];
  histograms: Histogram[];
}

/**
 * All figures, and the upper bounds of all histograms' buckets in seconds.
 *
 * `pid` and `uptime_ms` tell whether counters began anew since the last look.
 */
export interface MetricsReply {
  version: string;
  pid: number;
  uptime_ms: number;
  bounds: number[];
  metrics: Metric[];
}

/**
 * A question to one agent's memory.
 *
 * `min_score` and `max_results` left out take the agent's settings. `path` keeps hits whose path starts
 * with it. `deadline_ms` bounds the whole request. `lexical_only` searches by keyword alone: nothing is embedded.
 * `active_projects` are keys of the projects at work: entries about them count more, those about others less.
 * `exclude_session` is the key of the session that asks: its conversation since the last reset is no hit.
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
}

/**
 * One place in memory: an exact slice of a file around what matched.
 *
 * In a transcript (`source` is `sessions`) the lines are those of the transcript. `copies` is how many places
 * hold this text, or nearly this text. `annotations` is what comments say of its entry (`importance`, `triggers`,
 * `projects`), None without any. `agent` is whose memory it is, in the reply to `search_agents` alone.
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
}

/**
 * What is known to have changed and is not in the answer yet.
 *
 * `files` are to be read, `chunks` to be embedded; `oldest_ms` is how long the oldest of them has waited.
 */
export interface Pending {
  files: number;
  chunks: number;
  oldest_ms: number;
}

/**
 * Why a search has no hits, as sentences, and what to do: a `min_score` in the hint is the request's parameter.
 *
 * `code` is one of `sessions_not_indexed`, `no_transcripts`, `workspace_missing`, `no_notes`, `path_matches_nothing`,
 * `indexing`, `no_match`.
 */
export interface EmptyResult {
  code: string;
  message: string;
  hint: string;
}

/**
 * Hits, best first, and how they were found.
 *
 * `mode` is `hybrid`, `keyword` or `vector`; `abstained` says that nothing relevant was found. `provider`, `model`
 * and `space` name the vectors that were compared, `filling` those to come. `empty` says why there are no hits.
 */
export interface SearchReply {
  agent: string;
  hits: Hit[];
  mode: string;
  degraded: Degraded | null;
  abstained: boolean;
  took_ms: number;
  provider: string;
  model: string;
  generation: number;
  pending: Pending;
  partial: boolean;
  space: string;
  filling: Filling | null;
  fallback: Fallback | null;
  timings: Record<string, number> | null;
  empty: EmptyResult | null;
}

/**
 * A query to the memory of several agents: those named, or all whose memory is on if none is named.
 *
 * The other parameters are those of `SearchParams`. `max_results` left out takes the default agent's settings, and
 * `deadline_ms` bounds the searches of all agents together.
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
}

/**
 * How one agent's memory was searched, as in `SearchReply`; with `error` it was not, and `mode` is empty.
 */
export interface SearchedAgent {
  agent: string;
  mode: string;
  degraded: Degraded | null;
  abstained: boolean;
  took_ms: number;
  pending: Pending | null;
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
 * Lines of an allowed file; `lines` left out means to its end.
 */
export interface GetParams {
  path: string;
  agent?: string | null;
  from_line?: number;
  lines?: number | null;
}

/**
 * The lines asked for, unchanged; `truncated` where the frame limit cut them.
 */
export interface GetReply {
  agent: string;
  path: string;
  text: string;
  from_line: number;
  lines: number;
  total_lines: number;
  truncated: boolean;
}

/**
 * Which files to list, newest first: of some sources (all where none are named), `limit` from `offset` on.
 */
export interface FilesParams {
  agent?: string | null;
  sources?: string[] | null;
  offset?: number;
  limit?: number;
}

/**
 * A file of memory as it is on disk now.
 *
 * `chunks` is how many the index holds of it, 0 where it wasn't read yet. `title` is its first heading, or empty.
 * `date` is the day it is about (YYYY-MM-DD), None where its name begins with none.
 */
export interface FileRow {
  path: string;
  source: string;
  mtime_ms: number;
  size_bytes: number;
  chunks: number;
  title: string;
  date: string | null;
}

/**
 * Files, newest first. `total` is how many there are in all; `skipped` are those left out, each with its reason.
 */
export interface FilesReply {
  agent: string;
  files: FileRow[];
  total: number;
  skipped: Skipped[];
}

/**
 * Which entries of `MEMORY.md` and `USER.md` to list, the most important first.
 *
 * `kind` is `triggers` (entries with triggers) or `projects` (entries about projects that are all active).
 * `active_projects` are keys of the projects at work; entries about others are left out. Without it `triggers` lists
 * entries of all projects, and `projects` none. `limit` left out is 512 for `triggers` and 48 for `projects`. `paths`
 * lists entries of these notes alone.
 */
export interface CuratedEntriesParams {
  kind: string;
  agent?: string | null;
  active_projects?: string[] | null;
  limit?: number | null;
  paths?: string[] | null;
}

/**
 * An entry of a note, or a part of a long one: its text without comments, and what the comments say.
 *
 * `importance` is from 1 to 10, None if no comment gives one. `mtime_ms` is when the note last changed.
 */
export interface CuratedEntry {
  path: string;
  start_line: number;
  end_line: number;
  text: string;
  importance: number | null;
  triggers: string[];
  projects: string[];
  mtime_ms: number;
}

/**
 * Entries, the most important first.
 */
export interface CuratedEntriesReply {
  agent: string;
  entries: CuratedEntry[];
}

/**
 * Bring one agent (or all) up to date now; `force` reads, chunks and embeds everything again.
 */
export interface IndexParams {
  agent?: string | null;
  force?: boolean;
}

/**
 * What one agent's sync did.
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
  degraded: Degraded | null;
  skipped: Skipped[];
  error: Problem | null;
}

/**
 * One row per agent synced.
 */
export interface IndexReply {
  agents: IndexedAgent[];
}

/**
 * Which agent's index to build anew (all where none is named); with `vectors` everything is embedded again.
 */
export interface ResetParams {
  agent?: string | null;
  vectors?: boolean;
}

/**
 * One row an agent.
 */
export interface ResetReply {
  agents: IndexedAgent[];
}

/**
 * Which agent's index to make small; all where none is named.
 */
export interface VacuumParams {
  agent?: string | null;
}

/**
 * What making one agent's index small brought. Sizes are bytes, the log included.
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
 * One row an agent.
 */
export interface VacuumReply {
  agents: VacuumedAgent[];
}

/**
 * Texts for the warm model; `kind` is `query` or `document`.
 *
 * With `keep` vectors of documents are kept in the agent's cache, and taken from it where they are there.
 */
export interface EmbedParams {
  texts: string[];
  agent?: string | null;
  kind?: string;
  keep?: boolean;
}

/**
 * Unit vectors, packed little-endian float32, `count` rows of `dims`.
 */
export interface EmbedReply {
  provider: string;
  model: string;
  count: number;
  dims: number;
  vectors: Uint8Array;
}

/**
 * What to do with the models on disk: `pull` or `remove` one, or `list` them all.
 *
 * `ref` is `minilm`, a path, or an `hf:` or `https:` reference; `list` needs none. `force` removes a model that
 * an agent uses.
 */
export interface ModelParams {
  ref?: string;
  action?: string;
  force?: boolean;
}

/**
 * A model on disk, the agents whose settings name it, and whether a process has it loaded.
 */
export interface ModelFile {
  ref: string;
  path: string;
  size_bytes: number;
  used_by: string[];
  loaded: boolean;
}

/**
 * The model file that was pulled, checked, or removed; for `list` all there are.
 */
export interface ModelReply {
  ref: string;
  path: string;
  size_bytes: number;
  models: ModelFile[];
}

/**
 * Which definitions of tools are wanted, and for whose interface: `plain`, `openai` or `anthropic`.
 *
 * `include` left out means `memory_search` and `memory_get`.
 */
export interface ToolsParams {
  agent?: string | null;
  shape?: string;
  include?: string[] | null;
}

/**
 * Definitions ready to be handed to a model; none where the agent's memory is turned off.
 */
export interface ToolsReply {
  agent: string;
  shape: string;
  tools: Record<string, unknown>[];
}

/**
 * A model's call of a tool. `arguments` is what it wrote: a map, or JSON as text.
 *
 * `session_kind` or `session_key` tell where the answer will be read, which decides about citations.
 * `deadline_ms` bounds a search; `active_projects` are as in `SearchParams`.
 */
export interface CallToolParams {
  name: string;
  arguments?: unknown;
  agent?: string | null;
  session_kind?: string | null;
  session_key?: string;
  deadline_ms?: number | null;
  active_projects?: string[] | null;
}

/**
 * What the tool answers: `result` as data, `text` the same as JSON for the model.
 *
 * With `ok` false the result says what was wrong with the call: `error`, `expected`, `example`.
 */
export interface CallToolReply {
  agent: string;
  name: string;
  ok: boolean;
  result: Record<string, unknown>;
  text: string;
}

/**
 * Which tools the model has; left out, those an agent with memory is given.
 *
 * `citations` left out takes the agent's setting. `session_kind` or `session_key` decide what `auto` means.
 */
export interface PromptSectionParams {
  agent?: string | null;
  tools?: string[] | null;
  citations?: string | null;
  session_kind?: string | null;
  session_key?: string;
}

/**
 * A section for the system prompt, empty where there is no tool to tell of; `citations` is `on` or `off`.
 */
export interface PromptSectionReply {
  agent: string;
  text: string;
  citations: string;
}

/**
 * An agent's session begins; `session_key` is OpenClaw's name for the conversation.
 *
 * `kind` left out is read off the key. `max_file_characters` and `max_characters` bound what of each file, and of all
 * together, is given to start with; with `max_characters` 0 nothing is.
 */
export interface SessionStartedParams {
  session_key: string;
  agent?: string | null;
  kind?: string | null;
  max_file_characters?: number;
  max_characters?: number;
}

/**
 * A file of the start-up context: how many characters of it there are, how many it has, and whether it was cut.
 *
 * Unseen characters are written out in the context, and count there as they are written.
 */
export interface ContextFile {
  path: string;
  characters: number;
  total_characters: number;
  cut: boolean;
}

/**
 * What the session may begin with, and whether a sync was started: the first time for each key, where wanted.
 *
 * `context` is one text of all `files`, empty where there are none. `kind` is the session's, `date` the user's day.
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
 * A session has just ended, by `/new` or `/reset`: what was said last is kept as a note.
 *
 * `session_id` or `transcript` (a file in the agent's folder of sessions) say which conversation it was; without
 * both the newest is taken. `slug` names the note; without one it is named by a model or by what was talked about.
 * `source` is where the conversation took place. `reason` is `new` or `reset`. `next_session_id` is the session that
 * follows; the same id says that the transcript goes on, and that the conversation ended at its last reset.
 */
export interface SessionEndedParams {
  session_key: string;
  agent?: string | null;
  session_id?: string | null;
  transcript?: string | null;
  slug?: string | null;
  source?: string | null;
  reason?: string;
  next_session_id?: string | null;
}

/**
 * The note, of `messages` messages; an empty `path` where there is none.
 *
 * `slug_from` says what the note was named by: `caller`, `model`, `words` (of the conversation) or `time`. `reason`
 * is `written`, `known` (a note of just this stood there already), or why there is no note: `off` (in the settings),
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
 * How full a session's context is. What is left out is not known.
 *
 * `total_tokens` is what the context holds, `next_input_tokens` what the coming turn adds, `transcript_bytes` the size
 * of the transcript. `compaction_count` left out is what `compaction_done` counted; another `session_id` under
 * the same key begins anew. `workspace_access` is the sandbox's: `rw`, `ro` or `none`.
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
 * Whether to run the turn that writes down what should last, and why; the prompts are empty where not.
 *
 * `reason` is a code, `message` its sentence. `path` is the note to append to. `threshold_tokens` is where tokens make
 * it due: 0 where the context is too small for that, or its size unknown.
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
 * The turn was run, whether or not it wrote anything. `compaction_count` as in `flush_check`.
 */
export interface FlushDoneParams {
  session_key: string;
  agent?: string | null;
  compaction_count?: number | null;
  session_id?: string;
}

/**
 * The cycle that was recorded as done, and whether a sync was started.
 */
export interface FlushDoneReply {
  agent: string;
  syncing: boolean;
  compaction_count: number;
}

/**
 * An agent's context was compacted. `compaction_count` is how often in this session; left out it is counted.
 */
export interface CompactionDoneParams {
  session_key?: string;
  agent?: string | null;
  compaction_count?: number | null;
  session_id?: string;
}

/**
 * A sync was started, since a flush has usually just written notes. The count is 0 without a session's key.
 */
export interface CompactionDoneReply {
  agent: string;
  syncing: boolean;
  compaction_count: number;
}

/**
 * Something to keep in the note of a day; `date` is YYYY-MM-DD, the user's today where it is left out.
 *
 * A `key` makes it safe to ask twice: what was appended with it once is not appended again.
 */
export interface AppendNoteParams {
  text: string;
  agent?: string | null;
  date?: string | null;
  key?: string | null;
}

/**
 * Where it stands; `appended` is false where it stood there already.
 */
export interface AppendNoteReply {
  agent: string;
  path: string;
  start_line: number;
  end_line: number;
  appended: boolean;
}

/**
 * A fact to keep.
 *
 * `importance` left out is 0.7, `category` left out is told from the text. `id` and `created_ms` are for facts that
 * come from elsewhere: one whose id is known already is not stored again. `vector` is one that was made of the text by
 * `vector_model` (packed little-endian float32): it is used where the agent's provider has that model.
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
 * Where the fact stands, or which one says the same already; `vector_used` where one that came along was used.
 *
 * `id`, `category`, `path` and `line` are of the fact as it was stored; where `stored` is false, of its twin, whose
 * id is `duplicate_of` and whose text `duplicate_text`. `compared` is `vectors`, `words` (no vectors could be had:
 * only a text of the same words counts as a twin) or `id`; `reason` is the code of why there were no vectors.
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
}

/**
 * A question to the facts; a blank one lists them, newest first.
 */
export interface MemoryRecallParams {
  query: string;
  agent?: string | null;
  limit?: number;
  min_score?: number;
}

/**
 * A fact. `created_ms` is None where nobody wrote it down, as in a line written by hand.
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
 * Facts, best first.
 *
 * `compared` is `vectors`, `words` (with `reason`: why there were no vectors), or `none` of a list. `unread` facts
 * had no vector yet and were compared by their words. `total` is how many facts there are.
 */
export interface MemoryRecallReply {
  agent: string;
  facts: FactRow[];
  compared: string;
  total: number;
  unread: number;
  reason: string;
}

/**
 * A fact, and what it shall say.
 *
 * `was` is the text the caller knows it by: where it says something else by now, nothing is changed. `importance` and
 * `category` left out stay.
 */
export interface MemoryEditParams {
  id: string;
  text: string;
  agent?: string | null;
  was?: string | null;
  importance?: number | null;
  category?: string | null;
}

/**
 * Where the fact stands; its `id` is another one where nobody gave it one but its text.
 *
 * Where `stored` is false another fact, `duplicate_of`, says the same already in `duplicate_text`, and nothing was
 * changed; `id`, `category`, `path` and `line` are of the fact as it is.
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
 * What to forget: a fact by its id, or the one that a query clearly means.
 */
export interface MemoryForgetParams {
  id?: string | null;
  query?: string | null;
  agent?: string | null;
}

/**
 * The fact that was forgotten; None where none was. `candidates` are those a query may mean.
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
 * Facts, newest first; their `score` is 0. `total` is how many there are in all.
 */
export interface FactsReply {
  agent: string;
  facts: FactRow[];
  total: number;
}

/**
 * A prompt that facts are wanted for; `force` although the settings don't ask for it.
 */
export interface RecallForParams {
  prompt: string;
  agent?: string | null;
  force?: boolean;
}

/**
 * A block to put before the prompt, and the facts in it.
 *
 * Where `text` is empty, `reason` says why: `off`, `blank` (the prompt says nothing), `no_facts`, `nothing_near`.
 */
export interface RecallForReply {
  agent: string;
  text: string;
  reason: string;
  facts: FactRow[];
}

/**
 * Messages of a conversation, each with `role` and `content`; `force` although the settings don't ask for it.
 */
export interface CaptureFromParams {
  messages: Record<string, unknown>[];
  agent?: string | null;
  force?: boolean;
}

/**
 * A message that became a fact; `index` is its place in the request, from 0.
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
 * A message that became none, and why; `duplicate_of` is the fact that says the same.
 */
export interface PassedMessage {
  index: number;
  reason: string;
  duplicate_of: string | null;
}

/**
 * What was kept of a conversation, and why the rest was not. `reason` is `off` where nothing was looked at.
 */
export interface CaptureFromReply {
  agent: string;
  stored: CapturedMessage[];
  skipped: PassedMessage[];
  reason: string;
}

/**
 * Whose memory the page shows: one agent's, and nothing of any other; or all agents'.
 */
export interface ShowParams {
  agent?: string | null;
}

/**
 * Where the page is. `url` works once, within `expires_s` seconds.
 */
export interface ShowReply {
  url: string;
  agent: string | null;
  expires_s: number;
}

/**
 * Which events are wanted: of one agent (all where none is named), of some kinds (all where none are).
 */
export interface SubscribeParams {
  agent?: string | null;
  kinds?: string[] | null;
}

/**
 * How a subscription ended that the daemon ended: events sent, and those dropped as nobody read them.
 */
export interface SubscribeReply {
  events: number;
  dropped: number;
}

/**
 * The request of this connection to stop.
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
 * How far a request is. `stage` names the step; `total` is 0 where it isn't known.
 */
export interface Progress {
  id: number;
  stage: string;
  done: number;
  total: number;
  detail: string;
}

/**
 * Something happened. `id` is the subscription's request; what `data` holds depends on `kind`.
 *
 * `dropped` counts the events before it that this client was too slow for.
 */
export interface Event {
  id: number;
  kind: string;
  agent: string;
  at_ms: number;
  data: Record<string, unknown>;
  dropped: number;
}

/** Every request by its name: its parameters and its reply. */
export interface Requests {
  hello: { params: HelloParams; reply: HelloReply };
  status: { params: StatusParams; reply: StatusReply };
  metrics: { params: MetricsParams; reply: MetricsReply };
  search: { params: SearchParams; reply: SearchReply };
  search_agents: { params: SearchAgentsParams; reply: SearchAgentsReply };
  get: { params: GetParams; reply: GetReply };
  files: { params: FilesParams; reply: FilesReply };
  curated_entries: { params: CuratedEntriesParams; reply: CuratedEntriesReply };
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
  append_note: { params: AppendNoteParams; reply: AppendNoteReply };
  memory_store: { params: MemoryStoreParams; reply: MemoryStoreReply };
  memory_recall: { params: MemoryRecallParams; reply: MemoryRecallReply };
  memory_edit: { params: MemoryEditParams; reply: MemoryEditReply };
  memory_forget: { params: MemoryForgetParams; reply: MemoryForgetReply };
  facts: { params: FactsParams; reply: FactsReply };
  recall_for: { params: RecallForParams; reply: RecallForReply };
  capture_from: { params: CaptureFromParams; reply: CaptureFromReply };
  show: { params: ShowParams; reply: ShowReply };
  subscribe: { params: SubscribeParams; reply: SubscribeReply };
  cancel: { params: CancelParams; reply: CancelReply };
}

/** Every error code there is. */
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
  | "daemon_start_failed"
  | "daemon_running"
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
