"""Cuts as values: what a name such as `SEG-8` says."""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from . import _backcut


@dataclass(frozen=True)
class Cut:
    """A backward graph by its name: `FF`, `FD`, `F_SG`, `SEG-8`, `F_A0.5`, `K4_SG`, ...

    `depth`: how many steps a loss reaches through physical states; `None` for all of them.
    `segment`: steps per segment of memory, `None` for one segment. Inside a segment credit is full.
    `share`: of the credit that crosses segments, what a stored representation receives, while its projections
    receive all of it; `None` if even the projections are constants there (`FD`).
    """

    name: str
    depth: int | None
    segment: int | None
    share: float | None
    meaning: str

    def __init__(self, name: str | Cut) -> None:
        for key, value in json.loads(_backcut.cut(str(name))).items():
            object.__setattr__(self, key, value)

    def __str__(self) -> str:
        return self.name

    def is_near(self, j: int, t: int) -> bool:
        """Whether step `j` lies in the segment of step `t`."""
        return self.segment is None or j // self.segment == t // self.segment

    def ends(self, t: int) -> bool:
        """Whether memory that step `t` hands to the next one crosses into another segment."""
        return not self.is_near(t, t + 1)


@lru_cache(maxsize=64)
def memory_cut(cut: str | Cut) -> Cut:
    """A cut of memory alone: how far credit goes through states is not for a memory to decide."""
    cut = Cut(cut)
    if cut.depth is not None:
        raise _backcut.Error(
            f"`{cut}` also limits credit through physical states, which no memory can do\n"
            "hint: use FF, FD, F_SG, SEG-<L> or F_A<alpha> here, and detach the states in your own step")
    return cut
