// Made by `python -m tests.support.node_types` from the Python client: don't edit.

/**
 * Every error code, and the way out where the daemon names no better one.
 * @type {Record<string, string>}
 */
export const HINTS = {
  internal:
    "This is a defect of memd: the daemon's log says more. Please report it.",
  provider_unavailable:
    "Keyword search works. For search by meaning run `memctl model pull minilm`.",
  provider_failed:
    "Keyword search goes on; the daemon tries again by itself.",
  provider_unreachable:
    "Check the network, the proxy and remote.baseUrl; keyword search goes on, and it is tried again by itself.",
  provider_reply_invalid:
    "Check that remote.baseUrl is the provider's own address; keyword search goes on.",
  provider_rate_limited:
    "Nothing to do: it is asked again when the pause it named is over.",
  provider_quota_exhausted:
    "Add credit at the provider, or choose another one; it is asked again by itself now and then.",
  provider_auth:
    "Correct the key (remote.apiKey, models.providers, or the environment of the daemon).",
  provider_model_unknown:
    "Correct search.model; for Ollama, run `ollama pull` with its name.",
  text_refused:
    "The text stays findable by its words; every other text is unaffected.",
  token_budget_exhausted:
    "Raise daily_token_budget in memd.toml, or wait: it starts anew at midnight UTC.",
  local_extra_missing:
    "Install llama-cpp-python for the daemon (needs a C++ compiler); `memctl doctor` prints the command.",
  model_missing:
    "Pull one with `memctl model pull minilm`, or correct local.modelPath.",
  model_invalid:
    "Use a GGUF file of an embedding model; `memctl model pull minilm` gets a small one.",
  model_child:
    "It is started again by itself; if it keeps failing, see the daemon's log.",
  download_failed:
    "Check the network and try again: the download goes on where it stopped.",
  checksum_mismatch:
    "The file was removed; try again, and don't use it from elsewhere.",
  dimensions_changed:
    "The model behind the provider changed: run `memctl index --force`.",
  frame_too_big:
    "Ask for less at once: fewer texts, fewer results or fewer lines.",
  frame_invalid:
    "Speak the protocol of docs/protocol.md; the connection was closed.",
  hello_required:
    "Send `hello` as the first request of a connection.",
  protocol_mismatch:
    "Their releases differ: upgrade the older one of client and daemon, then run `memctl service restart`.",
  method_unknown:
    "See the capabilities in the reply to `hello`; the daemon may be older than the client.",
  bad_params:
    "Compare the parameters with docs/protocol.md.",
  too_many_connections:
    "Close idle clients, or keep one connection per process.",
  too_many_requests:
    "Wait for replies before sending more.",
  daemon_busy:
    "Ask again in a moment; `memctl status` shows how many clients are connected.",
  idle_timeout:
    "Connect again; the clients of memd do so by themselves.",
  peer_refused:
    "Each user runs a daemon of their own: start one with `memctl status`.",
  cancelled:
    "Nothing to do: it was asked for.",
  deadline_exceeded:
    "Allow more time, or see what the daemon is busy with: `memctl status`.",
  shutting_down:
    "Try again in a moment; a service manager starts it anew.",
  agent_reloading:
    "Ask again in a moment; `memctl status` shows how it stands.",
  connection_lost:
    "Try again: the client reconnects. If it happens again, see the daemon's log.",
  daemon_unreachable:
    "Start the daemon with `memd`; `memctl` starts it by itself unless MEMD_AUTOSTART is 0.",
  daemon_start_failed:
    "Run `memd` in a terminal to see why.",
  daemon_running:
    "Use the running daemon, or stop it first.",
  service_unavailable:
    "`memctl service start` runs the daemon without one; agents and `memctl` start it as well.",
  service_failed:
    "See `memctl service status` and `memctl service logs`; `--dry-run` shows the steps.",
  socket_path_invalid:
    "Set MEMD_SOCKET to a short path in a directory that is yours alone (mode 0700).",
  agent_unknown:
    "`memctl status` lists the agents.",
  memory_disabled:
    "Set search.enabled to true for this agent.",
  config_invalid:
    "Correct the named key; until then the last good settings or the defaults are in force.",
  query_empty:
    "Give at least one word.",
  path_refused:
    "Allowed: MEMORY.md, memory.md, USER.md, memory/**/*.md and files under extraPaths.",
  file_missing:
    "Search again: results name only files that exist.",
  file_unreadable:
    "Mend the file or its permissions; every other file is unaffected.",
  note_unwritable:
    "Nothing of it was written. Make room or mend the permissions of the workspace, then ask again.",
  fact_missing:
    "It was forgotten, or its line was edited or removed meanwhile; list the facts again.",
  fact_changed:
    "Nothing was changed. List the facts again, and edit what it says now.",
  page_unavailable:
    "It needs a free port of 127.0.0.1; `memctl` shows the same in the terminal.",
  log_unavailable:
    "A daemon that a client starts writes one beside its socket, a service writes to the journal.",
  index_closed:
    "The daemon is stopping; try again in a moment.",
  index_lost:
    "It is opened anew by itself, and built from your Markdown where it has to be; ask again in a moment.",
  index_corrupt:
    "It is set aside and rebuilt from your Markdown by itself; nothing of yours is lost.",
  index_newer:
    "Upgrade memd, or move the index file away: it is rebuilt from your Markdown.",
  index_io:
    "Check free space and permissions of the named file.",
  vector_extension:
    "Search works without it; reinstall sqlite-vec or correct store.vector.extensionPath.",
};
