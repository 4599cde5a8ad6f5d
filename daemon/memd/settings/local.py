"""The settings of the local model."""

from __future__ import annotations

from typing import Annotated, Literal

from memd.settings.fields import REFUSED, AtLeast0, Setting, Settings


class Local(Settings, frozen=True, kw_only=True):
    """The local model."""

    model_path: Annotated[
        str | None,
        Setting(
            "The local model: a path, `minilm`, `e5`, `hf:owner/repo/file.gguf` or `https://…`.",
            default="EmbeddingGemma 300M",
            is_path=True,
        ),
    ] = None
    model_cache_dir: Annotated[
        str | None,
        Setting("The folder of pulled models.", default="`MEMD_MODEL_DIR`", is_path=True),
        REFUSED,
    ] = None
    gpu_layers: Annotated[
        Literal["auto"] | AtLeast0,
        Setting(
            "Layers of the local model that a GPU computes; `auto`: all if llama.cpp was built for a GPU, else none."
        ),
        REFUSED,
    ] = "auto"
