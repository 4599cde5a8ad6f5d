// Made by `scripts/generate` from the Python client: don't edit.

/**
 * @typedef {object} Shape
 * @property {string[]} [needs]
 * @property {Record<string, unknown>} [defaults]
 * @property {Record<string, [string, boolean]>} [holds]
 */

/**
 * For each record its required fields, the defaults of its optional fields, and its fields of nested
 * records: their name, and whether the field is a list of them.
 * @type {Record<string, Shape>}
 */
export const SHAPES = {
  HelloReply: {
    needs: ["protocol", "version", "pid", "capabilities", "limits"],
    defaults: {"state_dir": ""},
  },
  ModelStatus: {
    needs: ["model", "path", "state", "pid", "rss_bytes", "queued", "restarts"],
    defaults: {"problem": "", "engine": "", "has_gpu": null, "gpu_layers": null},
  },
  FillProgress: {
    needs: ["provider", "model", "space", "done", "total", "eta_s", "tokens"],
  },
  Fallback: {
    needs: ["provider", "code", "reason", "since_ms"],
  },
  BulkJob: {
    needs: ["id", "state", "texts", "done", "submitted_ms"],
  },
  RejectedText: {
    needs: ["path", "start_line", "end_line", "reason"],
  },
  SessionsStatus: {
    defaults: {"transcripts": 0, "messages": 0, "redactions": 0, "stores": {}, "excluded": {}},
  },
  UnknownType: {
    needs: ["name"],
    defaults: {"records": 0, "release": ""},
  },
  Problem: {
    needs: ["code", "message", "hint"],
  },
  SourceStatus: {
    needs: ["name", "title", "kind"],
    defaults: {"agent": "", "locations": [], "files": 0, "bytes": 0, "sessions": 0, "messages": 0, "redactions": 0, "unknown": 0, "unknown_types": [], "excluded": {}, "newest_ms": null, "oldest_ms": null, "keep": false, "retained": 0, "retained_bytes": 0, "problems": [], "commands": 0, "file_steps": 0, "work_bytes": 0},
    holds: {"unknown_types": ["UnknownType", true], "problems": ["Problem", true]},
  },
  MachineStatus: {
    needs: ["name"],
    defaults: {"is_local": false, "behind": -1, "at_ms": null},
  },
  MemoryConflict: {
    needs: ["path", "note", "machine", "date"],
  },
  SkippedFile: {
    needs: ["path", "reason"],
  },
  RemoteStatus: {
    needs: ["agent", "url", "machine", "state"],
    defaults: {"files": 0, "ahead": 0, "is_behind": false, "last_sync_ms": null, "next_sync_ms": null, "machines": [], "conflicts": [], "waiting": [], "excluded": [], "problem": null},
    holds: {"machines": ["MachineStatus", true], "conflicts": ["MemoryConflict", true], "waiting": ["SkippedFile", true], "excluded": ["SkippedFile", true], "problem": ["Problem", false]},
  },
  Degradation: {
    needs: ["code", "reason", "since_ms", "hint"],
  },
  Check: {
    needs: ["name", "ok", "detail"],
  },
  AgentStatus: {
    needs: ["agent"],
    defaults: {"workspace": "", "index_path": "", "enabled": true, "sources": [], "files": 0, "chunks": 0, "vectors": 0, "files_pending": 0, "chunks_pending": 0, "oldest_pending_ms": 0, "provider": "none", "model": "", "dims": 0, "space": "", "filling": null, "waits_for": "", "fallback": null, "jobs": [], "rejected": [], "outside": 0, "vector_path": "none", "vector_path_reason": "the index is not open", "last_sync_ms": null, "syncing": false, "watch": "off", "watch_reason": "", "interval_minutes": 0, "sessions": null, "added": [], "remote": null, "generation": 0, "index_bytes": 0, "degraded": null, "skipped": [], "problems": [], "checks": []},
    holds: {"filling": ["FillProgress", false], "fallback": ["Fallback", false], "jobs": ["BulkJob", true], "rejected": ["RejectedText", true], "sessions": ["SessionsStatus", false], "added": ["SourceStatus", true], "remote": ["RemoteStatus", false], "degraded": ["Degradation", false], "skipped": ["SkippedFile", true], "problems": ["Problem", true], "checks": ["Check", true]},
  },
  DownloadStatus: {
    needs: ["ref", "state", "stage", "done", "total"],
    defaults: {"problem": ""},
  },
  AccountStatus: {
    needs: ["provider", "state", "calls_today", "tokens_today"],
    defaults: {"code": "", "reason": "", "since_ms": 0, "until_ms": 0},
  },
  MemoryStatus: {
    defaults: {"vectors_bytes": 0, "vectors_budget": 0, "models_bytes": 0, "models_budget": 0, "pages_bytes": 0, "pages_budget": 0, "total_budget": 0, "on_battery": false},
  },
  StatusReply: {
    needs: ["version", "pid", "uptime_ms", "socket", "state_dir", "config_path", "rss_bytes", "connections", "sqlite_vec", "models", "agents", "problems"],
    defaults: {"downloads": [], "accounts": [], "tokens_today": 0, "token_budget": 0, "memory": {}, "installation": null},
    holds: {"models": ["ModelStatus", true], "agents": ["AgentStatus", true], "problems": ["Problem", true], "downloads": ["DownloadStatus", true], "accounts": ["AccountStatus", true], "memory": ["MemoryStatus", false]},
  },
  Sample: {
    needs: ["labels", "value"],
  },
  Histogram: {
    needs: ["labels", "counts", "sum", "p50", "p95", "p99"],
  },
  Metric: {
    needs: ["name", "kind", "help"],
    defaults: {"samples": [], "histograms": []},
    holds: {"samples": ["Sample", true], "histograms": ["Histogram", true]},
  },
  MetricsReply: {
    needs: ["version", "pid", "uptime_ms", "bounds", "metrics"],
    holds: {"metrics": ["Metric", true]},
  },
  Supersession: {
    needs: ["path", "start_line", "end_line", "citation", "date", "outdated_date"],
  },
  SessionInfo: {
    needs: ["program", "id"],
    defaults: {"title": "", "project": "", "branch": "", "date": "", "speakers": [], "open": "", "deleted": false, "commands": 0, "files": 0},
  },
  Currency: {
    needs: ["verdict", "text", "name"],
    defaults: {"commit": "", "since": ""},
  },
  Hit: {
    needs: ["path", "start_line", "end_line", "score", "vector_score", "text_score", "snippet", "source", "citation"],
    defaults: {"copies": 1, "explain": null, "annotations": null, "agent": null, "relevance": "strong", "superseded_by": null, "session": null, "spans": [], "date": "", "heading": "", "is_cut_above": false, "is_cut_below": false, "currency": null, "origin": "agent", "origin_reason": ""},
    holds: {"superseded_by": ["Supersession", false], "session": ["SessionInfo", false], "currency": ["Currency", false]},
  },
  PendingChanges: {
    defaults: {"files": 0, "chunks": 0, "oldest_ms": 0},
  },
  EmptyResult: {
    needs: ["code", "message", "hint"],
  },
  SearchReply: {
    needs: ["agent", "hits", "mode", "degraded", "abstained", "took_ms", "provider", "model", "generation", "pending"],
    defaults: {"partial": false, "space": "", "filling": null, "fallback": null, "timings": null, "empty": null},
    holds: {"hits": ["Hit", true], "degraded": ["Degradation", false], "pending": ["PendingChanges", false], "filling": ["FillProgress", false], "fallback": ["Fallback", false], "empty": ["EmptyResult", false]},
  },
  SearchedAgent: {
    needs: ["agent"],
    defaults: {"mode": "", "degraded": null, "abstained": false, "took_ms": 0.0, "pending": null, "partial": false, "fallback": null, "provider": "none", "model": "", "empty": null, "error": null},
    holds: {"degraded": ["Degradation", false], "pending": ["PendingChanges", false], "fallback": ["Fallback", false], "empty": ["EmptyResult", false], "error": ["Problem", false]},
  },
  SearchAgentsReply: {
    needs: ["hits", "agents", "took_ms"],
    holds: {"hits": ["Hit", true], "agents": ["SearchedAgent", true]},
  },
  OriginLines: {
    needs: ["start_line", "end_line", "origin"],
    defaults: {"reason": ""},
  },
  GetReply: {
    needs: ["agent", "path", "text", "from_line", "lines", "total_lines"],
    defaults: {"truncated": false, "line_numbers": [], "origins": []},
    holds: {"origins": ["OriginLines", true]},
  },
  FileEntry: {
    needs: ["path", "source", "mtime_ms", "size_bytes", "chunks"],
    defaults: {"title": "", "date": null},
  },
  FilesReply: {
    needs: ["agent", "files", "total"],
    defaults: {"skipped": []},
    holds: {"files": ["FileEntry", true], "skipped": ["SkippedFile", true]},
  },
  IndexedAgent: {
    needs: ["agent", "files", "chunks", "files_changed", "files_removed", "embedded", "reused", "took_ms"],
    defaults: {"degraded": null, "skipped": [], "error": null},
    holds: {"degraded": ["Degradation", false], "skipped": ["SkippedFile", true], "error": ["Problem", false]},
  },
  IndexReply: {
    needs: ["agents"],
    holds: {"agents": ["IndexedAgent", true]},
  },
  ResetReply: {
    needs: ["agents"],
    holds: {"agents": ["IndexedAgent", true]},
  },
  VacuumedAgent: {
    needs: ["agent", "bytes_before", "bytes_after", "vectors_removed", "took_ms"],
    defaults: {"error": null},
    holds: {"error": ["Problem", false]},
  },
  VacuumReply: {
    needs: ["agents"],
    holds: {"agents": ["VacuumedAgent", true]},
  },
  EmbedReply: {
    needs: ["provider", "model", "count", "dims", "vectors"],
  },
  ModelFile: {
    needs: ["ref", "path", "size_bytes"],
    defaults: {"used_by": [], "loaded": false, "ram_bytes": 0},
  },
  ModelInfo: {
    needs: ["downloaded", "architecture", "layers", "dims", "vocabulary", "trained_tokens", "context_tokens", "chunk_tokens", "windows", "ram_bytes", "peak_bytes"],
    defaults: {"engine": "", "has_gpu": null, "gpu_layers": null},
  },
  ModelReply: {
    needs: ["ref", "path", "size_bytes"],
    defaults: {"models": [], "info": null},
    holds: {"models": ["ModelFile", true], "info": ["ModelInfo", false]},
  },
  ToolsReply: {
    needs: ["agent", "shape", "tools"],
  },
  CallToolReply: {
    needs: ["agent", "name", "ok", "result", "text"],
  },
  PromptSectionReply: {
    needs: ["agent", "text", "citations"],
  },
  ContextFile: {
    needs: ["path", "characters", "total_characters"],
    defaults: {"cut": false},
  },
  SessionStartedReply: {
    needs: ["agent", "syncing"],
    defaults: {"kind": "", "date": "", "context": "", "files": []},
    holds: {"files": ["ContextFile", true]},
  },
  SessionEndedReply: {
    needs: ["agent", "path", "messages", "slug", "slug_from", "reason"],
  },
  FlushCheckReply: {
    needs: ["agent", "run", "reason", "message", "threshold_tokens", "compaction_count"],
    defaults: {"system_prompt": "", "prompt": "", "path": ""},
  },
  FlushDoneReply: {
    needs: ["agent", "syncing", "compaction_count"],
  },
  CompactionDoneReply: {
    needs: ["agent", "syncing"],
    defaults: {"compaction_count": 0},
  },
  HookReply: {
    needs: ["text", "decision", "hits"],
  },
  HookLogEntry: {
    needs: ["time_ms", "program", "session_id", "event", "decision", "chars"],
    defaults: {"places": [], "prompt": "", "candidate": "", "lacks": ""},
  },
  HookLogReply: {
    defaults: {"entries": []},
    holds: {"entries": ["HookLogEntry", true]},
  },
  RecallDay: {
    needs: ["day", "program", "way", "recalls", "strong"],
    defaults: {"judged": 0, "likely_used": 0},
  },
  RecalledFile: {
    needs: ["agent", "path", "recalls", "likely_used", "last_ms"],
  },
  NeverRecalled: {
    needs: ["agent", "file"],
    holds: {"file": ["FileEntry", false]},
  },
  UnansweredQuery: {
    needs: ["query", "count", "programs", "last_ms"],
  },
  UsageReply: {
    defaults: {"is_on": true, "recalls": 0, "since_ms": 0, "days": [], "often": [], "never": [], "never_total": 0, "unanswered": [], "cleared": 0},
    holds: {"days": ["RecallDay", true], "often": ["RecalledFile", true], "never": ["NeverRecalled", true], "unanswered": ["UnansweredQuery", true]},
  },
  WithheldLine: {
    needs: ["path", "line", "reason", "text", "time_ms"],
  },
  TrustReply: {
    needs: ["agent", "lines"],
    defaults: {"released": {}},
    holds: {"lines": ["WithheldLine", true]},
  },
  AppendNoteReply: {
    needs: ["agent", "path", "start_line", "end_line", "appended"],
  },
  FactRow: {
    needs: ["id", "text", "importance", "category", "created_ms", "score", "path", "line"],
    defaults: {"origin": "agent", "origin_reason": ""},
  },
  MemoryStoreReply: {
    needs: ["agent", "id", "stored", "category", "path", "line", "compared"],
    defaults: {"duplicate_of": null, "duplicate_text": "", "similarity": null, "reason": "", "vector_used": false, "supersedes": null, "origin": "agent", "origin_reason": ""},
    holds: {"supersedes": ["FactRow", false]},
  },
  MemoryRecallReply: {
    needs: ["agent", "facts", "compared", "total"],
    defaults: {"without_vectors": 0, "reason": ""},
    holds: {"facts": ["FactRow", true]},
  },
  MemoryEditReply: {
    needs: ["agent", "id", "stored", "category", "path", "line"],
    defaults: {"duplicate_of": null, "duplicate_text": ""},
  },
  MemoryForgetReply: {
    needs: ["agent", "forgotten"],
    defaults: {"candidates": [], "compared": "id"},
    holds: {"forgotten": ["FactRow", false], "candidates": ["FactRow", true]},
  },
  ForgetStatement: {
    needs: ["text"],
    defaults: {"citation": ""},
  },
  ForgetPlace: {
    needs: ["place", "agent", "location", "count"],
    defaults: {"state": "found", "reason": ""},
  },
  ForgetCheck: {
    needs: ["location", "sha256"],
    defaults: {"count": 0},
  },
  ForgetReceipt: {
    needs: ["id", "kind", "time_ms"],
    defaults: {"agents": [], "texts": 0, "state": "pending", "places": [], "checked": [], "unreachable": [], "trash_until_ms": 0},
    holds: {"places": ["ForgetPlace", true], "checked": ["ForgetCheck", true]},
  },
  ForgetReply: {
    defaults: {"kind": "", "statements": [], "places": [], "found_id": "", "receipts": []},
    holds: {"statements": ["ForgetStatement", true], "places": ["ForgetPlace", true], "receipts": ["ForgetReceipt", true]},
  },
  FactsReply: {
    needs: ["agent", "facts", "total"],
    holds: {"facts": ["FactRow", true]},
  },
  FactsForPromptReply: {
    needs: ["agent", "text"],
    defaults: {"reason": "", "facts": []},
    holds: {"facts": ["FactRow", true]},
  },
  CapturedMessage: {
    needs: ["index", "id", "text", "category", "path", "line"],
  },
  SkippedMessage: {
    needs: ["index", "reason"],
    defaults: {"duplicate_of": null},
  },
  CaptureFactsReply: {
    needs: ["agent", "stored", "skipped"],
    defaults: {"reason": ""},
    holds: {"stored": ["CapturedMessage", true], "skipped": ["SkippedMessage", true]},
  },
  ConnectedProgram: {
    needs: ["program", "title", "way", "state", "path"],
    defaults: {"agents": [], "problem": ""},
  },
  SourcesReply: {
    defaults: {"sources": [], "found": [], "deleted": 0, "removed": [], "excluded": [], "programs": []},
    holds: {"sources": ["SourceStatus", true], "found": ["SourceStatus", true], "removed": ["SourceStatus", true], "programs": ["ConnectedProgram", true]},
  },
  RemoteReply: {
    defaults: {"remotes": [], "resolved": [], "commits": 0, "purged": []},
    holds: {"remotes": ["RemoteStatus", true]},
  },
  ListedConversation: {
    needs: ["path", "session", "messages", "started_ms", "updated_ms"],
    holds: {"session": ["SessionInfo", false]},
  },
  ConversationGroup: {
    needs: ["name", "title", "conversations", "newest_ms"],
  },
  ConversationsReply: {
    needs: ["agent", "conversations", "total"],
    defaults: {"sources": [], "projects": [], "oldest_ms": null},
    holds: {"conversations": ["ListedConversation", true], "sources": ["ConversationGroup", true], "projects": ["ConversationGroup", true]},
  },
  Excerpt: {
    needs: ["line", "text", "date", "score"],
    defaults: {"origin": "agent", "origin_reason": ""},
  },
  FoundConversation: {
    needs: ["session", "path", "score", "relevance", "excerpts"],
    holds: {"session": ["SessionInfo", false], "excerpts": ["Excerpt", true]},
  },
  ConversationSearchReply: {
    needs: ["agent", "conversations", "took_ms", "mode"],
    defaults: {"degraded": null, "partial": false},
    holds: {"conversations": ["FoundConversation", true], "degraded": ["Degradation", false]},
  },
  SessionMessage: {
    needs: ["number", "line", "speaker", "text"],
    defaults: {"time_ms": null, "origin": "agent", "origin_reason": ""},
  },
  ConversationReadReply: {
    needs: ["agent", "path", "session", "messages", "total"],
    holds: {"session": ["SessionInfo", false], "messages": ["SessionMessage", true]},
  },
  SessionHandoffReply: {
    needs: ["agent", "path", "session", "text"],
    defaults: {"start": ""},
    holds: {"session": ["SessionInfo", false]},
  },
  KnownCommand: {
    needs: ["line", "folder", "status", "succeeded", "failed", "unknown", "sessions", "last_ms", "citation", "agent", "path", "start_line"],
    defaults: {"session": null, "origin": "program", "origin_reason": ""},
    holds: {"session": ["SessionInfo", false]},
  },
  HowReply: {
    needs: ["commands"],
    defaults: {"only_failed": 0, "searched": 0},
    holds: {"commands": ["KnownCommand", true]},
  },
  FixStep: {
    needs: ["action", "text"],
    defaults: {"old": "", "new": ""},
  },
  Fix: {
    needs: ["error", "command", "folder", "fixed_by", "is_same_command", "steps", "sessions", "has_held", "time_ms", "citation", "agent", "path", "start_line"],
    defaults: {"session": null, "origin": "program", "origin_reason": ""},
    holds: {"steps": ["FixStep", true], "session": ["SessionInfo", false]},
  },
  FixReply: {
    needs: ["fixes"],
    defaults: {"reruns": 0, "unfixed": 0, "searched": 0},
    holds: {"fixes": ["Fix", true]},
  },
  FileTouch: {
    needs: ["actions", "request", "decisions", "time_ms", "citation", "agent", "path", "start_line"],
    defaults: {"session": null},
    holds: {"session": ["SessionInfo", false]},
  },
  BlameReply: {
    needs: ["file", "names"],
    defaults: {"sessions": [], "matched": "file"},
    holds: {"sessions": ["FileTouch", true]},
  },
  TouchedFile: {
    needs: ["file", "edits", "reads", "sessions", "last_ms", "exists", "citation", "agent", "path", "start_line"],
    defaults: {"session": null},
    holds: {"session": ["SessionInfo", false]},
  },
  WorkFilesReply: {
    needs: ["files"],
    holds: {"files": ["TouchedFile", true]},
  },
  OpenPageReply: {
    needs: ["url", "agent", "expires_s"],
  },
  SubscribeReply: {
    needs: ["events", "dropped"],
  },
  CancelReply: {
    needs: ["cancelled"],
  },
  Progress: {
    needs: ["id", "stage", "done", "total"],
    defaults: {"detail": ""},
  },
  Event: {
    needs: ["id", "kind", "agent", "at_ms"],
    defaults: {"data": {}, "dropped": 0},
  },
};

/** The reply record of each request. @type {Record<string, string>} */
export const REPLIES = {
  hello: "HelloReply",
  status: "StatusReply",
  metrics: "MetricsReply",
  search: "SearchReply",
  search_agents: "SearchAgentsReply",
  get: "GetReply",
  files: "FilesReply",
  index: "IndexReply",
  reset: "ResetReply",
  vacuum: "VacuumReply",
  embed: "EmbedReply",
  model: "ModelReply",
  tools: "ToolsReply",
  call_tool: "CallToolReply",
  prompt_section: "PromptSectionReply",
  session_started: "SessionStartedReply",
  session_ended: "SessionEndedReply",
  flush_check: "FlushCheckReply",
  flush_done: "FlushDoneReply",
  compaction_done: "CompactionDoneReply",
  hook: "HookReply",
  hook_log: "HookLogReply",
  usage: "UsageReply",
  trust: "TrustReply",
  append_note: "AppendNoteReply",
  memory_store: "MemoryStoreReply",
  memory_recall: "MemoryRecallReply",
  memory_edit: "MemoryEditReply",
  memory_forget: "MemoryForgetReply",
  forget: "ForgetReply",
  facts: "FactsReply",
  facts_for_prompt: "FactsForPromptReply",
  capture_facts: "CaptureFactsReply",
  sources: "SourcesReply",
  remote: "RemoteReply",
  conversations: "ConversationsReply",
  conversation_search: "ConversationSearchReply",
  conversation_read: "ConversationReadReply",
  session_handoff: "SessionHandoffReply",
  how: "HowReply",
  fix: "FixReply",
  blame: "BlameReply",
  work_files: "WorkFilesReply",
  open_page: "OpenPageReply",
  subscribe: "SubscribeReply",
  cancel: "CancelReply",
};

/** The parameters of each request. @type {Record<string, string[]>} */
export const PARAMS = {
  hello: ["protocol", "client", "version", "state_dir"],
  status: ["agent", "deep"],
  metrics: [],
  search: ["query", "agent", "max_results", "min_score", "sources", "path", "deadline_ms", "explain", "lexical_only", "active_projects", "exclude_session", "max_chars", "include_weak", "project", "since", "limit_weak", "caller", "until", "kinds", "origins"],
  search_agents: ["query", "agents", "max_results", "min_score", "sources", "path", "deadline_ms", "explain", "lexical_only", "active_projects", "exclude_session", "max_chars", "include_weak", "project", "since", "limit_weak", "caller", "until", "kinds", "origins"],
  get: ["path", "agent", "from_line", "lines", "include_conversations"],
  files: ["agent", "sources", "offset", "limit"],
  index: ["agent", "force"],
  reset: ["agent", "delete_vectors"],
  vacuum: ["agent"],
  embed: ["texts", "agent", "kind", "keep"],
  model: ["ref", "action", "force"],
  tools: ["agent", "shape", "include"],
  call_tool: ["name", "arguments", "agent", "session_kind", "session_key", "deadline_ms", "active_projects", "recall", "include_conversations", "caller"],
  prompt_section: ["agent", "tools", "citations", "session_kind", "session_key"],
  session_started: ["session_key", "agent", "kind", "max_file_characters", "max_characters"],
  session_ended: ["session_key", "agent", "session_id", "transcript", "slug", "channel", "reason", "next_session_id", "ended_ms", "private"],
  flush_check: ["session_key", "agent", "total_tokens", "context_window", "next_input_tokens", "transcript_bytes", "compaction_count", "session_id", "kind", "cli_provider", "workspace_access"],
  flush_done: ["session_key", "agent", "compaction_count", "session_id"],
  compaction_done: ["session_key", "agent", "compaction_count", "session_id"],
  hook: ["program", "event", "session_id", "cwd", "prompt", "reason", "transcript_path", "tool", "command", "file", "error", "agent"],
  hook_log: ["limit", "session_id"],
  usage: ["action", "since", "agent", "limit"],
  trust: ["path", "agent", "release", "limit"],
  append_note: ["text", "agent", "date", "key"],
  memory_store: ["text", "agent", "importance", "category", "id", "created_ms", "vector", "vector_model"],
  memory_recall: ["query", "agent", "limit", "min_score"],
  memory_edit: ["id", "text", "agent", "expected_text", "importance", "category"],
  memory_forget: ["id", "query", "agent"],
  forget: ["action", "target", "agent", "everywhere", "confirmed", "receipt"],
  facts: ["agent", "offset", "limit"],
  facts_for_prompt: ["prompt", "agent", "force"],
  capture_facts: ["messages", "agent", "force"],
  sources: ["action", "name", "session", "agent"],
  remote: ["action", "agent", "url", "path", "paths", "accept_rewrite", "missing", "confirmed"],
  conversations: ["agent", "sources", "project", "since", "until", "title", "offset", "limit"],
  conversation_search: ["query", "agent", "max_results", "sources", "project", "since", "exclude_session", "deadline_ms", "caller", "origins"],
  conversation_read: ["session", "agent", "line", "first", "messages"],
  session_handoff: ["session", "project", "to", "agent", "exclude_session"],
  how: ["command", "agent", "project", "include_failed", "limit"],
  fix: ["error", "agent", "project", "limit"],
  blame: ["file", "line", "agent", "limit"],
  work_files: ["topic", "agent", "project", "limit"],
  open_page: ["agent"],
  subscribe: ["agent", "kinds"],
  cancel: ["id"],
};
