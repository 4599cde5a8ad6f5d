/** The shapes of what the page holds. Those of replies are in docs/protocol.md; here is what is used of them. */

export interface RequestFailure { code: string; message: string; hint: string }
export interface Problem { code: string; message: string; hint: string }
export interface Degradation { code: string; reason: string; since_ms: number; hint: string }
export interface Fallback { provider: string; code: string; reason: string; since_ms: number }
export interface FillProgress { provider: string; model: string; done: number; total: number; eta_s: number | null; tokens: number }

export interface Explain {
  reasons: string[];
  words: { word: string; matched: boolean; chunks: number; weight: number; corrections?: string[] }[];
  exact: string[];
  cosine: number | null;
  bm25: number | null;
  steps: Record<string, number>;
  chunk_lines: [number, number];
}

/** A conversation and its program. */
export interface Session { program: string; id: string; title: string; project: string; branch: string; date: string; open: string; deleted: boolean }
export interface Message { number: number; line: number; speaker: string; text: string; time_ms: number | null }
export interface ConversationReply { path: string; session: Session; messages: Message[]; total: number }

/** A conversation in a list; times are epoch milliseconds. */
export interface ListedConversation { path: string; session: Session; messages: number; started_ms: number | null; updated_ms: number }
/** The conversations of a source or a project. */
export interface Group { name: string; title: string; conversations: number; newest_ms: number }
export interface ConversationsReply { conversations: ListedConversation[]; total: number; sources: Group[]; projects: Group[]; oldest_ms: number | null }
/** The sources and projects of an agent's conversations, and the time of the oldest. */
export interface Groups { sources: Group[]; projects: Group[]; oldest_ms: number | null }
/** What a list is limited to: a source, a project by its path, and a span or a month; empty: anything. */
export interface Filter { source: string; project: string; time: string; origin: string }

export interface Source {
  name: string; title: string; kind: string; agent: string; locations: string[]; files: number; bytes: number; sessions: number; messages: number;
  redactions: number; unknown: number; excluded: Record<string, number>; newest_ms: number | null; keep: boolean; retained: number;
  retained_bytes: number; problems: Problem[];
}
/** A program that may be given memory. */
export interface ConnectedProgram { program: string; title: string; way: string; state: string; path: string; agents: string[]; problem: string }
export interface SourcesReply { sources: Source[]; found: Source[]; removed: Source[]; excluded: string[]; programs: ConnectedProgram[] }

/** The places in one file that match a query, in its order, and which of them is shown. */
export interface Matches { query: string; hits: Hit[]; at: number }

/** A later statement about the same subject with another value. */
export interface Supersession { path: string; start_line: number; end_line: number; citation: string; date: string }

/** Whether something that a hit names still holds. */
export interface Currency { verdict: string; text: string; name: string; commit: string; since: string }

export interface Hit {
  path: string; start_line: number; end_line: number; score: number; snippet: string; source: string;
  citation: string; copies: number; explain: Explain | null; agent?: string | null; relevance: string; superseded_by: Supersession | null;
  session?: Session | null;
  /** Start and end of each matched term in `snippet`, in characters. */
  spans: [number, number][];
  date: string; heading: string; is_cut_above: boolean; is_cut_below: boolean; currency?: Currency | null; origin: string; origin_reason: string;
}

/** Why there are no hits. */
export interface EmptyResult { code: string; message: string; hint: string }

export interface PendingChanges { files: number; chunks: number }

/** One agent's part in a search of all. */
export interface SearchedAgent {
  agent: string; mode: string; degraded: Degradation | null; abstained: boolean; took_ms: number; empty?: EmptyResult | null;
  pending: PendingChanges | null; error: RequestFailure | null;
}

export interface SearchAgentsReply { hits: Hit[]; agents: SearchedAgent[]; took_ms: number }

export interface SearchReply {
  hits: Hit[]; mode: string; degraded: Degradation | null; abstained: boolean; took_ms: number; provider: string; model: string;
  filling: FillProgress | null; fallback: Fallback | null; partial: boolean;
  pending: { files: number; chunks: number; oldest_ms: number };
  empty?: EmptyResult | null;
  timings: { scan_ms: number; keyword_ms: number; vector_ms: number; ranking_ms: number } | null;
}

/** What a search found, of one agent or of all. */
export interface Found {
  hits: Hit[]; modes: string[]; model: string; took_ms: number; abstained: boolean;
  pending: PendingChanges;
  notices: { title: string; text: string; hint: string; bad: boolean }[];
  empty: EmptyResult[];
}

export interface NoteFile { path: string; source: string; mtime_ms: number; size_bytes: number; chunks: number; title: string; date: string | null }
export interface Fact { id: string; text: string; importance: number; category: string; created_ms: number | null; score: number; path: string; line: number }

export interface Remote {
  url: string; machine: string; state: string; files: number; ahead: number; is_behind: boolean; last_sync_ms: number | null;
  machines: { name: string; is_local: boolean; behind: number; at_ms: number | null }[];
  conflicts: { path: string; note: string; machine: string; date: string }[];
  problem: Problem | null;
}

export interface AgentStatus {
  agent: string; workspace: string; index_path: string; enabled: boolean; sources: string[]; files: number; chunks: number; vectors: number;
  files_pending: number; chunks_pending: number; oldest_pending_ms: number; provider: string; model: string; dims: number;
  filling: FillProgress | null; waits_for: string; fallback: Fallback | null;
  jobs: { id: string; state: string; texts: number; done: number }[];
  rejected: { path: string; start_line: number; end_line: number; reason: string }[];
  vector_path: string; vector_path_reason: string; last_sync_ms: number | null; syncing: boolean; watch: string; watch_reason: string;
  sessions: { transcripts: number; messages: number; redactions: number } | null;
  generation: number; index_bytes: number; degraded: Degradation | null; skipped: { path: string; reason: string }[];
  added: Source[];
  problems: Problem[]; checks: { name: string; ok: boolean; detail: string }[];
  remote?: Remote | null;
}

export interface Status {
  version: string; uptime_ms: number; rss_bytes: number; agents: AgentStatus[]; problems: Problem[];
  models: { model: string; state: string; rss_bytes: number; problem: string }[];
  downloads: { ref: string; state: string; done: number; total: number; problem: string }[];
  accounts: { provider: string; state: string; calls_today: number; tokens_today: number; reason: string; until_ms: number }[];
  tokens_today: number; token_budget: number;
  memory: {
    vectors_bytes: number; vectors_budget: number; models_bytes: number; models_budget: number;
    pages_bytes: number; pages_budget: number; total_budget: number; on_battery: boolean;
  };
}

export interface Metrics {
  bounds: number[];
  metrics: { name: string; histograms: { labels: Record<string, string>; counts: number[]; p50: number; p95: number }[] }[];
}

export interface Reader {
  agent: string;
  path: string; title: string; source: string;
  /** The lines of the hit; null if a whole note was opened. */
  found: { start: number; end: number } | null;
  evidence: ((text: string) => [number, number][]) | null;
  /** What is shown of a conversation; null for a file, and until it has come. */
  talk: { session: Session; messages: Message[] } | null;
  matches: Matches | null;
  /** Numbers of long messages that are shown as a whole. */
  whole: Set<number>;
  from: number; lines: string[]; total: number; truncated: boolean; error: RequestFailure | null; loading: boolean;
  /** What was asked for last, whether or not it has come. */
  wanted: { from: number; lines: number };
  /** What to focus when the reader closes. */
  opener: string;
}

/** Recalls of one program on one day, by one way. */
export interface RecallDay { day: string; program: string; way: string; recalls: number; strong: number; judged: number; likely_used: number }

export interface UsageReport {
  is_on: boolean; recalls: number; since_ms: number; days: RecallDay[];
  often: { agent: string; path: string; recalls: number; likely_used: number; last_ms: number }[];
  never: { agent: string; file: NoteFile }[]; never_total: number;
  unanswered: { query: string; count: number; programs: string[]; last_ms: number }[];
}

export interface Excerpt { mtime: number; lines: string[]; whole: boolean }

export interface State {
  session: { agent: string | null; agents: string[]; version: string };
  agent: string;
  view: string;
  live: "opening" | "open" | "waiting" | "closed";
  status: Status | null;
  statusError: RequestFailure | null;
  metrics: Metrics | null;
  deep: "" | "checking" | "syncing";
  notes: { files: NoteFile[]; skipped: { path: string; reason: string }[]; total: number; excerpts: Map<string, Excerpt>; loaded: boolean; error: RequestFailure | null };
  search: {
    query: string; scope: "agent" | "all"; filter: Filter; anything: boolean; more: boolean; reply: Found | null; asking: boolean; error: RequestFailure | null;
    /** Hits that are explained, and those whose lines are all shown. */
    open: Set<string>; unfolded: Set<string>;
  };
  conversations: { rows: ListedConversation[]; total: number; title: string; filter: Filter; loaded: boolean; asking: boolean; error: RequestFailure | null };
  /** By agent. */
  groups: Map<string, Groups>;
  /** What other programs have and are given; null until Health was opened. */
  sources: SourcesReply | null;
  sourcesError: RequestFailure | null;
  facts: {
    rows: Fact[]; total: number; query: string; loaded: boolean; error: RequestFailure | null;
    editing: { id: string; was: string; text: string; problem: RequestFailure | null } | null; forgetting: string; busy: boolean;
  };
  usage: { agent: string; report: UsageReport | null; error: RequestFailure | null };
  reader: Reader | null;
  /** How files are shown; empty until the user chooses. */
  reading: "" | "rendered" | "source";
  toast: { text: string; tone: "good" | "bad" } | null;
  help: boolean;
}
