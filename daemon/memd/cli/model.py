"""`memctl model`: models on disk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memd.cli.arguments import MAX_MODEL_REF_CHARS, CommandGroup, at_most, examples, json_option
from memd.cli.connect import CliSession
from memd.cli.lines import Line, count, dotted, row, size
from memd.cli.progress import for_agent
from memd.system.nearest_name import did_you_mean
from memd_client.errors import MemdError, ModelMissingError, PathRefusedError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import ModelInfo, ModelReply

NAMED_MODELS = ("minilm", "e5")
"""The models with a short name."""


@click.group("model", cls=CommandGroup, epilog=examples("memctl model pull minilm", "memctl model list"))
def command() -> None:
    """Download, list and remove embedding models."""


@command.command(
    "pull",
    epilog=examples(
        "memctl model pull minilm",
        "memctl model pull e5",
        "memctl model pull hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    ),
)
@click.argument("ref", type=at_most(MAX_MODEL_REF_CHARS))
@json_option
@click.pass_obj
def pull(session: CliSession, ref: str, as_json: bool) -> None:
    """Download the model REF, or find it on disk, and print its path.

    REF is `minilm` (small, trained on English), `e5` (for notes and questions in other languages), an `hf:` or `https:`
    reference, or the path of a GGUF file. An interrupted download is resumed.
    """
    wanted = _absolute(session, ref, is_path=os.sep in ref or ref.endswith(".gguf"))
    with (
        session.client() as client,
        _suggestion(client, ref),
        session.output.progress(for_agent(""), quiet=as_json) as show,
    ):
        reply = client.model(wanted, on_progress=show)
    if as_json:
        session.output.reply(reply)
    else:
        session.output.text(reply.path + "\n")


@command.command("list", epilog=examples("memctl model list"))
@json_option
@click.pass_obj
def list_models(session: CliSession, as_json: bool) -> None:
    """List the models on disk, their needs and the agents that use them."""
    with session.client() as client:
        reply = client.model(action="list")
    if as_json:
        session.output.reply(reply)
    elif reply.models:
        rows = [
            (
                each.ref,
                size(each.size_bytes),
                size(each.ram_bytes) if each.ram_bytes else "-",
                "loaded" if each.loaded else "",
                ", ".join(each.used_by) or "-",
            )
            for each in reply.models
        ]
        session.output.table(("model", "size", "RAM", "state", "used by"), rows, shorten=("model",))
    else:
        session.output.note(f"no models in {reply.path}; run `memctl model pull minilm` to get a small one")


@command.command("info", epilog=examples("memctl model info", "memctl model info minilm"))
@click.argument("ref", default="", type=at_most(MAX_MODEL_REF_CHARS))
@json_option
@click.pass_obj
def info(session: CliSession, ref: str, as_json: bool) -> None:
    """Show the RAM and tokens that the model REF needs.

    Without REF it is the default model of the provider `local`. That model, `minilm` and `e5` need no download first.
    """
    wanted = _absolute(session, ref, is_path=os.sep in ref or ref.endswith(".gguf"))
    with session.client() as client, _suggestion(client, ref):
        reply = client.model(wanted, action="info")
    if as_json:
        session.output.reply(reply)
    else:
        session.output.lines(_info_lines(reply))


def _info_lines(reply: ModelReply) -> list[Line]:
    """Return what a model needs, a line for each resource."""
    needs = reply.info
    if needs is None:
        return []
    trained = f"trained for {needs.trained_tokens:,}" if needs.trained_tokens else ""
    windows = "one window" if needs.windows == 1 else count(needs.windows, "window")
    peak = f"{size(needs.peak_bytes)} for an instant" if needs.peak_bytes > needs.ram_bytes else ""
    return [
        row("model", (reply.ref, "place")),
        row("file", *dotted(size(reply.size_bytes), "" if needs.downloaded else "not downloaded")),
        row("RAM", *dotted(f"about {size(needs.ram_bytes)} while it embeds", peak)),
        row(
            "network",
            *dotted(
                needs.architecture,
                count(needs.layers, "layer"),
                count(needs.dims, "dimension"),
                f"vocabulary of {needs.vocabulary:,}",
            ),
        ),
        row("context", *dotted(count(needs.context_tokens, "token"), trained)),
        row("chunk", *dotted(f"up to {count(needs.chunk_tokens, 'token')} with prompt", windows)),
        row("engine", *dotted(needs.engine or "none installed", _gpu_text(needs))),
    ]


def _gpu_text(needs: ModelInfo) -> str:
    """Return in words whether a GPU computes a model."""
    if not needs.engine or needs.has_gpu is None:
        return "GPU support known when a model is loaded" if needs.engine else ""
    if not needs.has_gpu or needs.gpu_layers is None:
        return "built for a GPU" if needs.has_gpu else "no GPU support"
    return f"{needs.gpu_layers} of {count(needs.layers, 'layer')} on a GPU"


def _complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the completions of a model on disk."""
    from memd.cli.completion import model_refs

    return model_refs(ctx, incomplete)


@command.command(
    "remove",
    short_help="Remove a model from disk.",
    epilog=examples(
        "memctl model remove hf:owner/repository/file.gguf", "memctl model remove minilm --force"
    ),
)
@click.argument("ref", type=at_most(MAX_MODEL_REF_CHARS), shell_complete=_complete_models)
@click.option("--force", is_flag=True, help="Remove it even if an agent uses it.")
@json_option
@click.pass_obj
def remove(session: CliSession, ref: str, force: bool, as_json: bool) -> None:
    """Remove the model REF from disk, including an unfinished download.

    REF is a name shown by `memctl model list`. A model that an agent uses is kept unless --force is given.
    """
    wanted = _absolute(session, ref, is_path=os.sep in ref or ref.startswith("~"))
    with (
        session.client() as client,
        _suggestion(client, ref),
        session.output.progress(for_agent(""), quiet=as_json) as show,
    ):
        reply = client.model(wanted, action="remove", force=force, on_progress=show)
    if as_json:
        session.output.reply(reply)
    else:
        session.output.text(f"removed {reply.path}, {size(reply.size_bytes)}\n")


@contextlib.contextmanager
def _suggestion(client: Client, ref: str) -> Iterator[None]:
    """Add the closest model name to an error about an unknown model."""
    try:
        yield
    except (ModelMissingError, PathRefusedError) as error:
        known: list[str] = []
        with contextlib.suppress(MemdError):
            known = [each.ref for each in client.model(action="list").models]
        error.message += did_you_mean(ref, [*NAMED_MODELS, *known])
        raise


def _absolute(session: CliSession, ref: str, *, is_path: bool) -> str:
    """Return a reference with an absolute path: the daemon has another working directory."""
    if not is_path or session.host is not None or ref.startswith(("hf:", "https:")):
        return ref
    return os.path.abspath(os.path.expanduser(ref))
