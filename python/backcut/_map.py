"""What every single edge of a tape carries: the half of an answer that knows no framework."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _backcut

NOT_ADDED = "Singles do not add up: what several edges carry together is no sum of what each of them carries."


@dataclass(frozen=True, repr=False)
class EdgeMap:
    """What each edge carries, `[t][j]` for step `t` that reads what step `j` made or handed on; `nan` where there is none.

    `gradient`: what closing this one edge takes from the gradient, along the gradient itself and relative to it.
    `held`: how much higher it makes the held-out loss after the next update, to first order. `drop`: what that update
    takes from that loss.
    """

    gradient: Mapping[str, Any]
    held: Mapping[str, Any] | None = None
    drop: float | None = None

    def strongest(self, count: int = 5) -> list[tuple[str, int, int, float]]:
        """The edges that carry most: their name, the steps that read and made, and what they carry."""
        every = [(name, int(t), int(j), float(table[t, j])) for name, table in self.gradient.items()
                 for t, j in np.argwhere(np.isfinite(table))]
        return sorted(every, key=lambda edge: -abs(edge[3]))[:count]

    def by_age(self, name: str) -> list[float]:
        """Single edges of one length, added up."""
        table = np.nan_to_num(self.gradient[name])
        return [float(np.trace(table, -age)) for age in range(1, len(table))]

    def __repr__(self) -> str:
        lines = [f"{sum(int(np.isfinite(table).sum()) for table in self.gradient.values())} edges: "
                 "what closing one alone takes from the gradient"]
        for name, t, j, share in self.strongest():
            held = "" if self.held is None else f"; held-out loss {self.held[name][t, j]:+.3g}"
            lines.append(f"{name} {j} -> {t}: {100 * share:.3g}%{held}")
        if self.held is not None:
            tables = list(self.held.values())
            count = sum(int((table < 0).sum()) for table in tables)
            lines.append(f"the update takes {self.drop:.3g} from the held-out loss; it would take more without each of "
                         f"{count} edges (to first order)")
        return _backcut.shown("\n".join([*lines, NOT_ADDED]))

    def svg(self) -> str:
        """The maps as a drawing."""
        panels = [panel for name, table in self.gradient.items()
                  for panel in _panels(table, f"{name}: along the gradient", f"{name}: against it")]
        for name, table in (self.held or {}).items():
            panels += _panels(table, f"{name}: helps the held-out loss", f"{name}: hurts it")
        caption = ("What closing one edge alone takes from the gradient, relative to the strongest edge of its kind. "
                   + NOT_ADDED)
        return _backcut.matrices("What every edge carries", caption, panels, "read by step t")

    def _repr_svg_(self) -> str:
        return self.svg()


def _panels(table: Any, along: str, against: str) -> list[tuple[str, list[list[float]]]]:
    largest = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0

    def shades(sign: float) -> list[list[float]]:
        return [[-1.0 if np.isnan(x) else max(0.0, sign * float(x) / largest) for x in row] for row in table]
    return [(along, shades(1.0)), *([(against, shades(-1.0))] if (table < 0).any() else [])]
