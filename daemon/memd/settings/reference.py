"""What every environment variable that the daemon and `memctl` read means, one sentence each. Pure data."""

from __future__ import annotations

from typing import Final

VARIABLES: Final[dict[str, str]] = {
    "OPENCLAW_STATE_DIR": (
        "The state directory; without it OpenClaw's, `~/.openclaw` or `~/.clawdbot`, and without OpenClaw memd's own."
    ),
    "OPENCLAW_CONFIG_PATH": "The settings file, else `openclaw.json` in the state directory.",
    "MEMD_SOCKET": "The socket's path.",
    "MEMD_CONFIG": "The daemon's own settings, else `memd.toml` in the user's config directory.",
    "MEMD_MODEL_DIR": "Where pulled models are, else `memd/models` in the user's cache directory.",
    "MEMD_AUTOSTART": "With `0` `memctl` never starts a daemon.",
    "OPENAI_API_KEY": "The key for `openai`, where the settings name none.",
    "GEMINI_API_KEY": "The key for `gemini`, likewise.",
    "GOOGLE_API_KEY": "The key for `gemini` where `GEMINI_API_KEY` isn't set.",
    "VOYAGE_API_KEY": "The key for `voyage`, likewise.",
    "MISTRAL_API_KEY": "The key for `mistral`, likewise.",
    "OLLAMA_API_KEY": "The key for `ollama`, where it stands behind one.",
    "HF_ENDPOINT": "A mirror of the hub that `hf:` models and `minilm` are pulled from.",
    "HF_TOKEN": "The token for models behind a licence; it goes to the hub alone, never to where that redirects.",
    "HUGGING_FACE_HUB_TOKEN": "Its older name.",
    "HF_HUB_OFFLINE": "With `1` no model is downloaded but by `memctl model pull`.",
    "HTTPS_PROXY": "The proxy for providers and downloads; lower case counts as well.",
    "HTTP_PROXY": "Likewise, for addresses without TLS; addresses of this machine are never asked through a proxy.",
    "ALL_PROXY": "Likewise, for both.",
    "NO_PROXY": "Hosts that are asked without a proxy.",
    "SSL_CERT_FILE": "Certificates to trust, where a company has its own.",
}
