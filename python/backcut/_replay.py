"""What many backward graphs of one forward gave: the half of an answer that knows no framework."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._compare import Comparison


@dataclass(frozen=True)
class Undeclared:
    """Credit that reaches earlier steps by no declared edge.

    `credit` and `whole`: of every loss (row), the length of its credit at what each step read or took in (column),
    with all declared edges between steps closed, and with all of them open. `at`: where that was looked at.
    """

    credit: Any
    whole: Any
    at: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The losses and the earlier steps that they reach, nearest first."""
        rows, steps = np.nonzero(np.tri(*self.credit.shape, -1, dtype=bool) & (self.credit > 0))
        return sorted(zip(rows.tolist(), steps.tolist()), key=lambda pair: (pair[0], -pair[1]))

    @property
    def share(self) -> float:
        """Of the credit that all paths bring to earlier steps, added up."""
        earlier = np.tri(*self.credit.shape, -1, dtype=bool)
        whole = float(self.whole[earlier].sum())
        return float(self.credit[earlier].sum()) / whole if whole else 0.0

    def __str__(self) -> str:
        looked = f"looked at: {', '.join(self.at)}"
        rows, columns = self.credit.shape
        if not self.pairs:
            return f"not declared: no credit reaches earlier steps by edges that were not declared ({looked})"
        t, j = self.pairs[0]
        count = sum(min(row, columns) for row in range(rows))
        return (f"not declared: {len(self.pairs)} of {count} earlier steps receive credit by edges that were not "
                f"declared, {self.share:.2g} of what they receive in all; first the loss of step {t} reaches step {j} "
                f"({looked})")


@dataclass(frozen=True, repr=False)
class Replay:
    """The gradients of many cuts from one forward.

    `loss`: the forward's. `gradients`: by cut, shaped as the parameters are. `comparison`: what `backcut.compare` says
    of them, the first cut as the reference. `declared`: every edge by its name, and what it was declared to be.
    `undeclared`: credit by other ways, or `why_not`.
    """

    loss: float
    gradients: Mapping[str, Any]
    comparison: Comparison
    declared: Mapping[str, str]
    undeclared: Undeclared | None
    why_not: str = ""

    def __getitem__(self, cut: str) -> Any:
        return self.gradients[cut]

    def value(self, quantity: str, cut: str, part: str = "all") -> float | None:
        """One number of the comparison."""
        return self.comparison.value(quantity, cut, part)

    def words(self) -> list[str]:
        """What stands around the table."""
        kinds: dict[str, list[str]] = {}
        for name, kind in self.declared.items():
            kinds.setdefault(kind, []).append(name)
        edges = "; ".join(f"{', '.join(names)} ({kind})" for kind, names in kinds.items())
        count = f"{len(self.gradients)} backward graph" + ("s" if len(self.gradients) > 1 else "")
        return [f"one forward, {count}; declared: {edges}",
                str(self.undeclared) if self.undeclared else f"not declared: {self.why_not}"]

    def __repr__(self) -> str:
        opening, end = self.words()
        return f"{opening}\n{self.comparison!r}\n{end}"
