"""Places for a few at a time; where they are short, whoever has most of them gives one back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Protocol

LOOKED_AT = 512  # holders among whom the longest waiting is looked for


class Holder(Protocol):
    """What has a place."""

    def waits(self) -> tuple[bool, float]:
        """Whether it is at work, and since when it is as it is: of two the smaller has waited longer."""

    def abort(self) -> None:
        """End it: its place is given to another."""


def longest(holders: Iterable[Holder]) -> Holder | None:
    """Who has waited longest, if there is anybody."""
    return min(holders, key=lambda one: one.waits(), default=None)


class Places:
    """Room for so many at a time: in all, and for one address that is not `exempt`.

    Where all are taken, the longest waiting holder of the address that has most is ended: a few addresses keep
    no other one out. Exempt are addresses that many people share: theirs are ended only where no others are.
    """

    def __init__(self, most: int, each: int, exempt: Callable[[str], bool] = lambda address: False) -> None:
        self.most, self._each, self._exempt = most, each, exempt
        self._holders: dict[str, dict[Holder, None]] = {}
        self._counted, self._proxies = Counter[str](), Counter[str]()
        self._all = 0

    def enter(self, address: str, holder: Holder) -> bool:
        """Whether there was a place, which is now taken."""
        proxy = self._exempt(address)
        if not proxy and self._counted[address] >= self._each:
            return False
        if self._all >= self.most and not self._shed():
            return False
        (self._proxies if proxy else self._counted)[address] += 1
        self._holders.setdefault(address, {})[holder] = None
        self._all += 1
        return True

    def leave(self, address: str, holder: Holder) -> None:
        """Give a place back, if it is still this holder's."""
        held = self._holders.get(address, {})
        if holder not in held:
            return
        del held[holder]
        counted = self._counted if address in self._counted else self._proxies
        counted[address] -= 1
        self._all -= 1
        if not held:
            del self._holders[address], counted[address]

    def _shed(self) -> bool:
        counted = self._counted or self._proxies
        top = max(counted.values(), default=0)
        most = [address for address, count in counted.items() if count == top]
        found = longest(islice(chain.from_iterable(self._holders[one] for one in most), LOOKED_AT))
        if found is None:
            return False
        self.leave(next(one for one in most if found in self._holders[one]), found)
        found.abort()
        return True
