"""Values by key in memory, bounded by octets: the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """A mapping whose values together cost at most so many octets, as their owner counts them.

    The value put last always stays, however large: what was just fetched is about to be used.
    """

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.octets = 0
        self.evicted_count = 0
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The value, which becomes the most recently used; None if there is none."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: Key, value: Value, octets: int) -> None:
        """Keep a value that costs `octets`, in place of the key's former one."""
        self.drop(key)
        self._values[key] = (value, octets)
        self.octets += octets
        while self.octets > self.limit_octets and len(self._values) > 1:
            _, (_, freed) = self._values.popitem(last=False)
            self.octets -= freed
            self.evicted_count += 1

    def drop(self, key: Key) -> None:
        """Forget a key's value, if there is one."""
        _, octets = self._values.pop(key, (None, 0))
        self.octets -= octets
