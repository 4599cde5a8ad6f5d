"""`memctl model`: models on disk."""

from __future__ import annotations

import os

import click

from memd.cli.connect import Session
from memd.cli.options import examples, json_option, utf8
from memd.cli.progress import of_agent


@click.group("model", epilog=examples("memctl model pull minilm"))
def command() -> None:
    """Make models for search by meaning ready."""


@command.command(
    "pull",
    epilog=examples(
        "memctl model pull minilm",
        "memctl model pull hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    ),
)
@click.argument("ref", type=utf8)
@json_option
@click.pass_obj
def pull(session: Session, ref: str, as_json: bool) -> None:
    """Make the model REF ready on disk and print its path.

    REF is `minilm` (small, needs no key), an `hf:` or `https:` reference, or a path to a GGUF file. A
    download that was interrupted goes on where it stopped.
    """
    with session.client() as client, session.output.progress(of_agent(""), quiet=as_json) as show:
        reply = client.model(_absolute(ref), on_progress=show)
    if as_json:
        from memd_client.wire import to_wire

        session.output.document(to_wire(reply))
    else:
        session.output.text(reply.path + "\n")


def _absolute(ref: str) -> str:
    """Return a reference that means the same to the daemon, whose working directory is another."""
    is_path = not ref.startswith(("hf:", "https:")) and (os.sep in ref or ref.endswith(".gguf"))
    return os.path.abspath(os.path.expanduser(ref)) if is_path else ref
