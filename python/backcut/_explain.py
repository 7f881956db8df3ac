"""What a cut keeps and what it cuts, drawn."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _backcut

_MARKS = {"own": "o", "kept": "#", "weights only": "-", "cut": ".", None: " "}


@dataclass(frozen=True, repr=False)
class Explanation:
    """A cut in a rollout of some steps, read off the engine's own list of edges.

    `memory[t][j]`: what is left of the edge by which step `t` reads what step `j` stored: `own`, `kept`,
    `weights only`, `cut`, a factor, or `None` if it is not read. `stored[t][j]`: how few state edges the loss of
    step `t` passes on its way to what step `j` stored, by any path; `None` where no credit arrives.
    """

    cut: str
    meaning: str
    steps: int
    window: int | None
    memory: list[list[Any]]
    state_edges_per_path: int | None
    stored: list[list[int | None]]
    action: list[list[int | None]]

    def triangle(self) -> tuple[str, list[list[float]]]:
        """The memory edges as shades, for a drawing."""
        shades = {"own": 1.0, "kept": 1.0, "weights only": 0.0, "cut": 0.0, None: -1.0}
        rows = [[cell if isinstance(cell, float) else shades[cell] for cell in row] for row in self.memory]
        return f"{self.cut}: what it keeps of memory", rows

    def __repr__(self) -> str:
        rows = [" ".join("~" if isinstance(cell, float) else _MARKS[cell] for cell in row)
                for row in self.memory]
        legend = "o own step, # kept, - weights only, ~ scaled, . cut"
        lines = [f"{t:>4} {row.rstrip()}" for t, row in enumerate(rows)]
        return "\n".join([f"{self.cut}: {self.meaning}", *lines, legend])

    def _repr_svg_(self) -> str:
        return _backcut.matrices(f"{self.cut} in {self.steps} steps", self.meaning, [self.triangle()])


def explain(cut: str, steps: int = 12, window: int | None = None) -> Explanation:
    """What `cut` keeps in a rollout of `steps` steps whose forward reads the last `window` positions (or all)."""
    return Explanation(**json.loads(_backcut.explain(str(cut), steps, window)))
