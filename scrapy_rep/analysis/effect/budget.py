"""How much work comparing rules may take: in steps, so that every machine says the same of a file.

Counts of comparisons would not do: a pattern may have 16,000 octets, and half as many wildcards.
"""

from __future__ import annotations

from dataclasses import dataclass

_OCTETS_PER_STEP = 16


@dataclass
class Budget:
    """How many steps may still be taken."""

    steps: int
    is_spent: bool = False

    def take(self, steps: int = 1) -> bool:
        """Whether so many more are within the budget; they are taken then."""
        if self.is_spent or self.steps < steps:
            self.is_spent = True
            return False
        self.steps -= steps
        return True


def look_steps(octets: int, count: int = 1) -> int:
    """The steps of some looks at patterns or paths of so many octets in all.

    About 0.7 us each: so long takes a look at two short patterns, or at 16 octets more of them, all
    of which may be wildcards.
    """
    return count + octets // _OCTETS_PER_STEP
