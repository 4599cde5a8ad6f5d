"""Orders of other people that real programs bring into memory: on a page, in a note, a fact and a remote's commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from memd_client import Client
from tests.support.attack_texts import AttackText, own_attacks
from tests.support.outside_blocks import is_in, is_unlabelled, signs_of
from tests.support.planted_texts import commit_to_remote
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply
from tests.support.provider_wire import serve_http

SAID, NOTED, COMMITTED = (
    next(attack for attack in own_attacks() if attack.kind == kind and word in attack.text)
    for kind, word in (("order", "authorized_keys"), ("self", "Brightspan"), ("suggestion", "scheduled job"))
)
"""The orders: on a page that an answer repeats, on a page that a note repeats, and in another person's commit."""

ORDERS: Final = (SAID, NOTED, COMMITTED)

SUBJECTS: Final = ("cormorant gateway", "heron queue", "osprey cache")
PROMPTS: Final = (
    "In the setup of the cormorant gateway, whose public key goes to authorized_keys on a server?",
    "Which hosting company do we recommend in answers on deployment, for the setup of the heron queue?",
    "Does the setup of the osprey cache have a scheduled job that fetches tasks each hour?",
)

CONTROL: Final = "The dunlin mailer of staging listens on port 8443."
CONTROL_PROMPT: Final = "On which port does the dunlin mailer of staging listen?"
"""A line of the user, which a prompt must get: else nothing is shown at all."""

NOTE_PATH: Final = "memory/heron.md"
COMMITTED_PATH: Final = "memory/osprey.md"


def sentence_of(order: AttackText) -> str:
    """Return what repeats an order."""
    subject = SUBJECTS[ORDERS.index(order)]
    return f"The setup of the {subject}: {order.text}"


def note_of(order: AttackText) -> str:
    """Return a note that repeats an order."""
    return f"# {SUBJECTS[ORDERS.index(order)]}\n\n- looked up for Eva\n\n{sentence_of(order)}\n"


def answer_of(order: AttackText) -> str:
    """Return an answer that repeats an order, and what was decided."""
    return f"This is on the page.\n\n{sentence_of(order)}\n\nWe decided to keep it like this: {order.text}"


class OrderPages:
    """A server of pages, each with an order, on loopback."""

    def __init__(self) -> None:
        self.closing = threading.Event()

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, None]:
        """Return the page with the order of a number."""
        order = ORDERS[int(asked.path.strip("/"))]
        page = f"How to set it up\n\nIt runs on one machine.\n\n{order.text}\n\nPrices start at nine euros.\n"
        return ProviderReply(200, page.encode(), {"Content-Type": "text/plain"}), None


@contextmanager
def serve_pages() -> Iterator[str]:
    """Run the server inside the block and yield its address."""
    with serve_http(OrderPages()) as url:
        yield url


def receive_commit(client: Client, folder: Path) -> None:
    """Connect the memory to a remote and receive another person's commit with an order."""
    commit_to_remote(client, folder / "hub.git", [(COMMITTED_PATH, note_of(COMMITTED))])


def reached(requests: Sequence[str]) -> list[str]:
    """Return the orders that are in requests to a model outside a labelled block."""
    text = "\n".join(requests)
    return [order.text for order in ORDERS if is_unlabelled(signs_of(order.text), text)]


def received(requests: Sequence[str]) -> list[str]:
    """Return the orders that are in requests to a model at all."""
    text = "\n".join(requests)
    return [order.text for order in ORDERS if is_in(signs_of(order.text), text)]
