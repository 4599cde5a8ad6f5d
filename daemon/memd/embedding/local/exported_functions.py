"""llama.cpp's C functions in the extension module of the package xllamacpp.

The package has a server in C++ for Python programs, and exports the functions of llama.h besides. They are called as
llama-cpp-python calls them, so both engines give the same vectors with the same code, and no socket is opened.

The structures are those of llama.h. They differ between builds of llama.cpp: `load_functions` refuses a build whose
default parameters are not those of `DEFAULTS`, instead of passing it nonsense.
"""

from __future__ import annotations

import ctypes
import importlib.util
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_float,
    c_int,
    c_int8,
    c_int32,
    c_size_t,
    c_uint32,
    c_void_p,
)
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final


class LlamaModelParams(Structure):
    """`llama_model_params`."""

    _fields_ = (
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int),
        ("load_mode", c_int),
        ("lazy_mode", c_int),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    )


class LlamaContextParams(Structure):
    """`llama_context_params`."""

    _fields_ = (
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("flash_attn_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("moe_cache_size", c_size_t),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
    )


class LlamaBatch(Structure):
    """`llama_batch`."""

    _fields_ = (
        ("n_tokens", c_int32),
        ("token", POINTER(c_int32)),
        ("embd", POINTER(c_float)),
        ("pos", POINTER(c_int32)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(c_int32))),
        ("logits", POINTER(c_int8)),
    )


LOG_CALLBACK: Final = CFUNCTYPE(None, c_int, c_char_p, c_void_p)
ABORT_CALLBACK: Final = CFUNCTYPE(c_bool, c_void_p)

FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "llama_backend_init": (None,),
    "llama_batch_free": (None, LlamaBatch),
    "llama_batch_init": (LlamaBatch, c_int32, c_int32, c_int32),
    "llama_context_default_params": (LlamaContextParams,),
    "llama_decode": (c_int32, c_void_p, LlamaBatch),
    "llama_free": (None, c_void_p),
    "llama_get_embeddings_seq": (POINTER(c_float), c_void_p, c_int32),
    "llama_get_logits": (POINTER(c_float), c_void_p),
    "llama_get_memory": (c_void_p, c_void_p),
    "llama_init_from_model": (c_void_p, c_void_p, LlamaContextParams),
    "llama_log_set": (None, LOG_CALLBACK, c_void_p),
    "llama_memory_clear": (None, c_void_p, c_bool),
    "llama_model_default_params": (LlamaModelParams,),
    "llama_model_get_vocab": (c_void_p, c_void_p),
    "llama_model_load_from_file": (c_void_p, c_char_p, LlamaModelParams),
    "llama_model_meta_count": (c_int32, c_void_p),
    "llama_model_meta_key_by_index": (c_int32, c_void_p, c_int32, c_char_p, c_size_t),
    "llama_model_meta_val_str_by_index": (c_int32, c_void_p, c_int32, c_char_p, c_size_t),
    "llama_model_n_embd": (c_int32, c_void_p),
    "llama_model_n_layer": (c_int32, c_void_p),
    "llama_pooling_type": (c_int, c_void_p),
    "llama_set_abort_callback": (None, c_void_p, ABORT_CALLBACK, c_void_p),
    "llama_set_n_threads": (None, c_void_p, c_int32, c_int32),
    "llama_supports_gpu_offload": (c_bool,),
    "llama_tokenize": (*(c_int32, c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool),),
    "llama_vocab_eos": (c_int32, c_void_p),
    "llama_vocab_n_tokens": (c_int32, c_void_p),
}
"""By name: the types of the result and of the arguments."""

DEFAULTS: Final[dict[str, dict[str, object]]] = {
    "llama_context_default_params": {
        "n_ctx": 512,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_seq_max": 1,
        "rope_scaling_type": -1,
        "pooling_type": -1,
        "attention_type": -1,
        "flash_attn_type": -1,
        "yarn_ext_factor": -1.0,
        "type_k": 1,
        "type_v": 1,
        "abort_callback": None,
        "embeddings": False,
        "offload_kqv": True,
        "no_perf": True,
        "op_offload": True,
        "swa_full": True,
        "kv_unified": False,
        "samplers": None,
        "n_samplers": 0,
        "ctx_other": None,
    },
    "llama_model_default_params": {
        "n_gpu_layers": -1,
        "split_mode": 1,
        "main_gpu": 0,
        "tensor_split": None,
        "progress_callback": None,
        "vocab_only": False,
        "check_tensors": False,
        "use_extra_bufts": True,
        "no_host": False,
        "no_alloc": False,
    },
}
"""Default parameters of llama.cpp, which show whether a build has these structures."""


def load_functions() -> SimpleNamespace:
    """Load the library and return its functions and constants under the names of llama.h.

    Raises:
        ImportError: The package is not installed.
        OSError: The library can't be loaded.
        RuntimeError: It lacks a function, or has other structures.
    """
    spec = importlib.util.find_spec("xllamacpp")
    if spec is None or spec.origin is None:
        raise ImportError("No module named 'xllamacpp'")
    modules = sorted(
        Path(spec.origin).parent.glob("xllamacpp*.so")
    )  # importing the package would start its server
    if not modules:
        raise ImportError("xllamacpp has no extension module")
    library = ctypes.CDLL(str(modules[0]))
    functions = SimpleNamespace(
        llama_token=c_int32,
        llama_log_callback=LOG_CALLBACK,
        ggml_abort_callback=ABORT_CALLBACK,
        LLAMA_FLASH_ATTN_TYPE_DISABLED=0,
        LLAMA_FLASH_ATTN_TYPE_ENABLED=1,
    )
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise RuntimeError(f"this release of xllamacpp does not export {name}") from None
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    for name, expected in DEFAULTS.items():
        params = getattr(functions, name)()
        if any(getattr(params, field) != value for field, value in expected.items()):
            raise RuntimeError(f"this release of xllamacpp has an unknown layout of {name}")
    return functions
