"""Every environment variable that the daemon and `memctl` read, with its meaning. Pure data."""

from __future__ import annotations

from typing import Final

VARIABLES: Final[dict[str, str]] = {
    "OPENCLAW_STATE_DIR": (
        "The state directory; default: OpenClaw's, `~/.openclaw` or `~/.clawdbot`, or without OpenClaw memd's own."
    ),
    "OPENCLAW_HOME": "The folder in which OpenClaw's state directory is looked for, instead of the home directory.",
    "OPENCLAW_CONFIG_PATH": "The settings file; default: `openclaw.json` in the state directory.",
    "MEMD_SOCKET": "The path of the socket; default: a socket for each state directory.",
    "MEMD_CONFIG": "The daemon's own settings; default: `memd.toml` in the user's config directory.",
    "MEMD_MODEL_DIR": "The folder of pulled models; default: `memd/models` in the user's cache directory.",
    "MEMD_AUTOSTART": "With `0`, `memctl` never starts the daemon.",
    "MEMD_HOST": "The machine whose memory `memctl` uses, as `--host` names it.",
    "MEMD_HOST_COMMAND": "The command that clients with a host run there; default: `memctl stdio`.",
    "MEMD_SSH": "The command that clients with a host use as ssh, with options; default: `ssh`.",
    "OPENAI_API_KEY": "The key for `openai`, if the settings have none.",
    "GEMINI_API_KEY": "The key for `gemini`, if the settings have none.",
    "GOOGLE_API_KEY": "The key for `gemini` if `GEMINI_API_KEY` isn't set.",
    "VOYAGE_API_KEY": "The key for `voyage`, if the settings have none.",
    "MISTRAL_API_KEY": "The key for `mistral`, if the settings have none.",
    "OLLAMA_API_KEY": "The key for `ollama`, if the server needs one.",
    "HF_ENDPOINT": "A mirror of the hub for `hf:` models and `minilm`.",
    "HF_TOKEN": "The token for models that require accepting a licence; it is sent to the hub only, not to redirects.",
    "HUGGING_FACE_HUB_TOKEN": "Older name of `HF_TOKEN`.",
    "HF_HUB_OFFLINE": "With `1`, only `memctl model pull` downloads models.",
    "HTTPS_PROXY": "The proxy for providers and downloads; the lower-case name works too.",
    "HTTP_PROXY": "The proxy for addresses without TLS; addresses of this machine never use a proxy.",
    "ALL_PROXY": "The proxy for both.",
    "NO_PROXY": "Hosts that are contacted without a proxy.",
    "GIT_SSH_COMMAND": "The ssh command for remotes, as for git.",
    "SSL_CERT_FILE": "Additional trusted certificates, such as a company's own.",
}
