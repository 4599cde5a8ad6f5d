"""References to models: the file, its source, and the vector space of the model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from memd.embedding.local.header import ModelHeader
from memd.embedding.prefixes import NONE, prefixes_of
from memd.embedding.secret import Secret
from memd.embedding.space import VectorSpace
from memd_client.errors import ConfigInvalidError

MINILM: Final = "minilm"
E5: Final = "e5"

NAMED_MODELS: Final = {MINILM: "minilm-l6-v2-f16.gguf", E5: "multilingual-e5-small-q4_0.gguf"}
"""The models with a short name, and their files."""

DEFAULT_LOCAL_MODEL: Final = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
"""The default model of `provider: "local"`, the same as in OpenClaw."""

AUTO_MODELS: Final = (MINILM, E5, DEFAULT_LOCAL_MODEL)
"""The models `auto` looks for, in this order, if none is configured."""

HUB: Final = "https://huggingface.co"
"""Overridden by `HF_ENDPOINT`, as in the hub's own tools."""

TOKEN_VARIABLES: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")

_HF: Final = re.compile(
    r"hf:(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?P<path>[\w./ +-]+\.gguf)(?:#(?P<revision>[\w./-]+))?"
)
_SHA256: Final = re.compile(r"sha256=([0-9a-f]{64})")

_HINT: Final = (
    "Write a path, `hf:owner/repository/file.gguf`, `https://host/file.gguf` "
    "(with `#sha256=…` to verify it), `minilm` or `e5`."
)


class ModelReference(Struct, frozen=True):
    """A parsed reference to a model file.

    `text` is the reference, `file_name` the file's name in the models directory, or the whole path. `url` and `sha256`
    are its source and checksum, if known.
    """

    kind: Literal["path", "named", "hf", "https"]
    text: str
    file_name: str
    url: str | None = None
    sha256: str | None = None

    @property
    def is_published(self) -> bool:
        """Whether the name alone identifies the file's contents."""
        return self.kind in ("named", "hf")

    @property
    def shown(self) -> str:
        """The reference without passwords and tokens of a link, safe to show and store."""
        if self.kind != "https":
            return self.text
        parts = urlsplit(self.text)
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        checked = f"#sha256={self.sha256}" if self.sha256 else ""
        return f"https://{host}{parts.path}{checked}"

    def file(self, models_dir: Path) -> Path:
        """Return the path of the model file, which may not exist yet."""
        return Path(self.file_name) if self.kind == "path" else models_dir / self.file_name


def parse_reference(text: str) -> ModelReference:
    """Parse a reference; raise ConfigInvalidError if it is invalid."""
    text = text.strip()
    if text in NAMED_MODELS:
        return ModelReference("named", text, NAMED_MODELS[text])
    if text.startswith("hf:"):
        return _parse_hf(text)
    if text.startswith("https:"):
        return _parse_https(text)
    if not text or re.match(r"[a-z][a-z0-9+.-]+:", text):
        raise ConfigInvalidError(f"{text!r} is not a model reference", hint=_HINT)
    return ModelReference("path", text, str(Path(text).expanduser()))


def hub_url(repository: str, revision: str, path: str) -> str:
    """Return the URL of a file at the hub, or at the mirror in `HF_ENDPOINT`."""
    hub = os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB
    return f"{hub}/{repository}/resolve/{revision}/{path}"


def hub_token(environ: Mapping[str, str]) -> Secret | None:
    """Return the hub token of the environment, None without one."""
    for variable in TOKEN_VARIABLES:
        if token := environ.get(variable, "").strip():
            return Secret(token)
    return None


def is_hub_offline(environ: Mapping[str, str]) -> bool:
    """Return whether `HF_HUB_OFFLINE` forbids automatic downloads."""
    return environ.get("HF_HUB_OFFLINE", "").strip().lower() in ("1", "on", "yes", "true")


def _parse_hf(text: str) -> ModelReference:
    match = _HF.fullmatch(text)
    if match is None or ".." in text:
        raise ConfigInvalidError(f"{text!r} is not a .gguf file of a repository", hint=_HINT)
    owner, repo, path = match["owner"], match["repo"], match["path"]
    revision = match["revision"] or "main"
    parts = [owner, repo, *([] if revision == "main" else [revision]), path]
    return ModelReference(
        "hf",
        text,
        "hf_" + "_".join(part.replace("/", "_") for part in parts),
        url=hub_url(f"{owner}/{repo}", revision, path),
    )


def _parse_https(text: str) -> ModelReference:
    parts = urlsplit(text)
    name = unquote(parts.path).rsplit("/", 1)[-1]
    if not parts.hostname or not re.fullmatch(r"[\w.+ -]+\.gguf", name):
        raise ConfigInvalidError(f"{text!r} is not a link to a .gguf file", hint=_HINT)
    checksum = _SHA256.fullmatch(parts.fragment)
    return ModelReference(
        "https",
        text,
        f"{parts.hostname}_{name}",
        url=parts._replace(fragment="").geturl(),
        sha256=checksum[1] if checksum else None,
    )


def local_space(
    reference: str, fingerprint: str | None, header: ModelHeader | None = None, *, prefixed: bool = True
) -> VectorSpace:
    """Return the vector space of a local model.

    `fingerprint` (`header.load_fingerprint`) isn't needed for named models and `hf:`, whose names identify the file.
    Prefixes are found by name and `header`; `prefixed=False` is for vectors without prefixes, such as OpenClaw's.
    """
    wanted = parse_reference(reference)
    name = wanted.text if wanted.is_published else PurePath(wanted.file_name).name
    title, architecture = (header.name, header.architecture) if header is not None else ("", "")
    prefixes = prefixes_of(name, title=title, architecture=architecture) if prefixed else NONE
    if fingerprint and not wanted.is_published:
        name = f"{name}#{fingerprint}"
    return VectorSpace("local", name, prefixes.query, prefixes.document)


def space_of(provider: str, model: str) -> str:
    """Return the id of the vector space of vectors that another program stored."""
    if provider == "local" and model:
        return local_space(model, None, prefixed=False).id
    return VectorSpace(provider, model).id
