"""How many texts a request carries to a server that nobody knows: more while it is quick, the usual where it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memd.embedding.provider import BatchLimits
from memd_client.errors import ProviderFailedError, ProviderReplyError, TextRefusedError

QUICK_S: Final = 0.25
"""A request of so many texts that is answered sooner may carry twice as many next time: a question that comes in
between still waits no longer than half a second."""

SLOW_S: Final = 1.0
"""One that takes longer carries half as many next time."""

OF_ITS_SIZE: Final = (ProviderFailedError, ProviderReplyError, TextRefusedError)
"""What a request of too many texts fails with: an error without a better name, vectors of some texts alone, a refusal.
These very classes, not those below them."""


class AdaptiveBatchSize:
    """What one request to one server may carry."""

    def __init__(self, limits: BatchLimits) -> None:
        self._usual = limits
        self._most = max(limits.max_texts, limits.quick_texts)
        self.limits = limits

    def __repr__(self) -> str:
        return f"<Portions of {self.limits.max_texts} texts, {self._most} at most>"

    def answered(self, texts: int, took_s: float) -> None:
        """Note how long a request took."""
        now = self.limits.max_texts
        if took_s > SLOW_S:
            self._set(max(self._usual.max_texts, now // 2))
        elif took_s < QUICK_S and texts == now:
            self._set(min(self._most, 2 * now))

    def is_blamed(self, texts: int, error: ProviderFailedError) -> bool:
        """Return whether a request may have failed because it carried more than usual; none does from then on."""
        if texts <= self._usual.max_texts or type(error) not in OF_ITS_SIZE:
            return False
        self._most = self._usual.max_texts
        self._set(self._most)
        return True

    def _set(self, texts: int) -> None:
        if texts != self.limits.max_texts:
            self.limits = replace(self.limits, max_texts=texts)
