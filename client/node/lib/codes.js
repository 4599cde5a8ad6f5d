// Made by `scripts/generate` from the Python client: don't edit.

/**
 * The default hint of each error code.
 * @type {Record<string, string>}
 */
export const HINTS = {
  internal:
    "report this defect of memd with the daemon's log",
  provider_unavailable:
    "run `memctl model pull minilm` for vector search; keyword search works without it",
  provider_failed:
    "see `memctl status`; memd retries after the back-off, and keyword search continues",
  provider_unreachable:
    "check the network, the proxy and endpoint.baseUrl; memd retries after the back-off",
  provider_reply_invalid:
    "check that endpoint.baseUrl is the provider's own address; keyword search continues",
  provider_rate_limited:
    "wait: memd retries when the provider's pause is over",
  provider_quota_exhausted:
    "add credit at the provider or choose another provider; memd retries after the back-off",
  provider_auth:
    "correct the key (endpoint.apiKey, models.providers, or the environment of the daemon)",
  provider_model_unknown:
    "correct search.model; for Ollama, run `ollama pull` with its name",
  text_refused:
    "shorten or split the text; keyword search finds it meanwhile",
  token_budget_exhausted:
    "raise daily_token_budget in memd.toml, or wait until midnight UTC",
  local_extra_missing:
    "install llama.cpp for the daemon; `memctl doctor` prints the command",
  model_missing:
    "pull a model with `memctl model pull minilm`, or correct local.modelPath",
  model_invalid:
    "use a GGUF file of an embedding model; `memctl model pull minilm` downloads a small one",
  model_child:
    "see the daemon's log if it keeps failing; memd restarts the process",
  download_failed:
    "check the network, then try again to resume the download",
  checksum_mismatch:
    "download it again; the file was removed",
  dimensions_changed:
    "run `memctl index --force`: the model behind the provider changed",
  git_missing:
    "install git 2.38 or later, then run `memctl service restart`",
  git_failed:
    "free disk space if it is full; memd tries again, and the notes in the workspace are unaffected",
  remote_unknown:
    "connect one with `memctl remote add URL`",
  remote_exists:
    "run `memctl remote remove` first; the notes stay",
  remote_unreachable:
    "check the network and the address; memd tries again, and local notes are unaffected",
  remote_refused:
    "remove them from the remote with git; memd then continues",
  remote_rewritten:
    "if that was intended, run `memctl remote sync --accept-rewrite` to accept the new history",
  frame_too_big:
    "request less at once: fewer texts, fewer results or fewer lines",
  frame_invalid:
    "follow docs/protocol.md; the connection was closed",
  hello_required:
    "send `hello` as the first request of a connection",
  protocol_mismatch:
    "upgrade the older one of client and daemon, then run `memctl service restart`",
  method_unknown:
    "check `capabilities` in the reply to `hello`; the daemon may be older than the client",
  bad_params:
    "compare the parameters with docs/protocol.md",
  too_many_connections:
    "close idle clients, or keep one connection per process",
  too_many_requests:
    "wait for replies before sending more",
  daemon_busy:
    "try again in a moment; `memctl status` shows how many clients are connected",
  idle_timeout:
    "connect again; memd's own clients do so automatically",
  peer_refused:
    "start a daemon of your own with `memctl status`",
  cancelled:
    "send the request again if it is still needed",
  deadline_exceeded:
    "allow more time, or see what the daemon is busy with: `memctl status`",
  shutting_down:
    "try again in a moment; a service manager restarts it",
  agent_reloading:
    "try again in a moment; `memctl status` shows the agent's state",
  connection_lost:
    "try again: the client reconnects; if it happens again, see the daemon's log",
  daemon_unreachable:
    "start the daemon with `memd`; `memctl` starts it automatically unless MEMD_AUTOSTART is 0",
  host_unreachable:
    "run `ssh` with the host's name to see why; memd uses the same settings",
  host_auth:
    "make `ssh -oBatchMode=yes` with the host's name succeed: it must not ask for anything",
  host_command_failed:
    "install memd on the host, or name its `memctl` in MEMD_HOST_COMMAND",
  daemon_start_failed:
    "run `memd` in a terminal to see why",
  daemon_running:
    "use the running daemon, or stop it first",
  state_dir_mismatch:
    "unset MEMD_SOCKET to get a daemon of your own folder, or set OPENCLAW_STATE_DIR to this daemon's folder; if you installed OpenClaw meanwhile, run `memctl service restart`",
  service_unavailable:
    "run `memctl service start` to run the daemon without one",
  service_failed:
    "see `memctl service status` and `memctl service logs`; `--dry-run` shows the steps",
  socket_path_invalid:
    "set MEMD_SOCKET to a short path in a directory that only you can enter (mode 0700)",
  agent_unknown:
    "list the agents with `memctl status`",
  memory_disabled:
    "set search.enabled to true for this agent",
  config_invalid:
    "correct the named key; until then the last valid settings or the defaults apply",
  query_empty:
    "give at least one word",
  path_refused:
    "use MEMORY.md, memory.md, USER.md, memory/**/*.md or a file under extraPaths",
  file_missing:
    "search again: hits name only files that exist",
  file_unreadable:
    "correct the file or its permissions; all other files are unaffected",
  note_unwritable:
    "free space or correct the permissions of the workspace, then try again; nothing was written",
  fact_missing:
    "list the facts again: it was forgotten, or its line was edited or removed",
  fact_changed:
    "list the facts again, then edit the current text; nothing was changed",
  page_unavailable:
    "free a port of 127.0.0.1, or use `memctl` in the terminal",
  log_unavailable:
    "see the file next to the socket (started by a client) or the journal (service)",
  index_closed:
    "try again in a moment; the daemon is stopping",
  index_lost:
    "try again in a moment; memd reopens the index, or rebuilds it from your Markdown",
  index_corrupt:
    "wait: memd moves it to quarantine and rebuilds it from your Markdown; no notes are lost",
  index_newer:
    "upgrade memd, or move the index file away: memd rebuilds it from your Markdown",
  index_io:
    "check free space and permissions of the named file",
  vector_extension:
    "reinstall sqlite-vec or correct store.vector.extensionPath; search works without it",
};

/** Codes after which the same request may succeed in a moment. */
export const RETRYABLE_CODES = new Set([
  "agent_reloading",
  "connection_lost",
  "daemon_busy",
  "deadline_exceeded",
  "host_unreachable",
  "idle_timeout",
  "index_closed",
  "index_lost",
  "model_child",
  "provider_rate_limited",
  "provider_unreachable",
  "remote_unreachable",
  "shutting_down",
  "too_many_connections",
  "too_many_requests",
]);
