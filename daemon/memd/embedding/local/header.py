"""Reads the metadata of GGUF files, and fingerprints model files."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from memd.system.state_file import open_regular
from memd_client.errors import ModelInvalidError, ModelMissingError

MAGIC: Final = b"GGUF"

HEAD_BYTES: Final = 1024 * 1024
"""The bytes to read: the needed metadata precede the vocabulary."""

SAMPLE_BYTES: Final = 1024 * 1024
"""Bytes of each of the three samples of a fingerprint: head, middle, tail."""

_SCALARS: Final = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING: Final = 8
_ARRAY: Final = 9

_ARCHITECTURE: Final = "general.architecture"
_LENGTH: Final = ".context_length"
_TOKENS: Final = "tokenizer.ggml.tokens"
_TOKENIZER: Final = "tokenizer.ggml.model"


class ModelHeader(Struct, frozen=True):
    """Metadata of a GGUF file; `trained_tokens` is None and a size 0 if unknown.

    `width` is the vector size, `vocabulary` the number of tokens, `tokenizer` llama.cpp's name of its kind.
    """

    architecture: str
    trained_tokens: int | None
    name: str
    layers: int = 0
    width: int = 0
    vocabulary: int = 0
    tokenizer: str = ""


class FileStamp(Struct, frozen=True):
    """Detects changes of a file."""

    size: int
    mtime_ns: int
    inode: int


def load_stamp(path: Path) -> FileStamp:
    """Return the stamp of a model file."""
    try:
        metadata = path.stat()
    except OSError as error:
        raise ModelMissingError(f"the model file {path} can't be opened: {error.strerror}") from None
    return FileStamp(metadata.st_size, metadata.st_mtime_ns, metadata.st_ino)


def load_header(path: Path) -> ModelHeader:
    """Return the metadata of a GGUF file."""
    try:
        with open_regular(path) as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise ModelMissingError(f"the model file {path} can't be opened: {error.strerror}") from None
    if head[:4] != MAGIC:
        raise ModelInvalidError(f"{path} is not a GGUF file")
    try:
        metadata = _parse_metadata(head)
    except (struct.error, KeyError, UnicodeDecodeError):
        raise ModelInvalidError(f"{path} is a damaged GGUF file") from None
    return _header_of(metadata, path.name)


def _header_of(metadata: dict[str, Any], file_name: str) -> ModelHeader:
    """Return the header of parsed metadata."""
    architecture = str(metadata.get(_ARCHITECTURE, ""))

    def number(name: str) -> int:
        value = metadata.get(f"{architecture}.{name}")
        return value if isinstance(value, int) and value > 0 else 0

    return ModelHeader(
        architecture=architecture,
        trained_tokens=number("context_length") or None,
        name=str(metadata.get("general.name", file_name)),
        layers=number("block_count"),
        width=number("embedding_length"),
        vocabulary=metadata.get(_TOKENS, number("vocab_size")),
        tokenizer=str(metadata.get(_TOKENIZER, "")),
    )


def _parse_metadata(head: bytes) -> dict[str, Any]:
    """Return the metadata before the vocabulary, and the number of its tokens."""
    _version, _tensors, count = struct.unpack_from("<IQQ", head, 4)
    position = 24
    metadata: dict[str, Any] = {}

    def take_string() -> str:
        nonlocal position
        (length,) = struct.unpack_from("<Q", head, position)
        if length > len(head):
            raise struct.error("string exceeds the head")
        position += 8 + length
        return head[position - length : position].decode("utf-8")

    def skip_array() -> None:
        nonlocal position
        kind, length = struct.unpack_from("<IQ", head, position)
        position += 12
        if kind != _STRING:
            position += struct.calcsize(_SCALARS[kind]) * length
        for _ in range(length if kind == _STRING else 0):
            take_string()
        if position > len(head):
            raise struct.error("array exceeds the head")

    for _ in range(count):
        key = take_string()
        (kind,) = struct.unpack_from("<I", head, position)
        position += 4
        if kind == _STRING:
            metadata[key] = take_string()
        elif kind == _ARRAY:
            if key == _TOKENS:  # long, and everything needed precedes it
                metadata[key] = struct.unpack_from("<IQ", head, position)[1]
                break
            try:
                skip_array()  # tags and languages may precede the needed metadata
            except struct.error:
                if f"{metadata.get(_ARCHITECTURE)}{_LENGTH}" in metadata:
                    break  # a part of the vocabulary that precedes its tokens
                raise
        else:
            layout = _SCALARS[kind]
            (metadata[key],) = struct.unpack_from(layout, head, position)
            position += struct.calcsize(layout)
    return metadata


def load_fingerprint(path: Path) -> str:
    """Return 16 hex digits that identify a model file, independent of its path.

    Hashes the size and three samples (head, middle, tail), which takes about a millisecond.
    """
    size = load_stamp(path).size
    digest = hashlib.sha256(str(size).encode("ascii"))
    try:
        with open_regular(path) as file:
            for offset in (0, size // 2, max(0, size - SAMPLE_BYTES)):
                file.seek(offset)
                digest.update(file.read(SAMPLE_BYTES))
    except OSError as error:
        raise ModelMissingError(f"the model file {path} can't be read: {error.strerror}") from None
    return digest.hexdigest()[:16]
