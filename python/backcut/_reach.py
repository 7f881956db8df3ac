"""Which loss reaches which stored state, how strongly, and which cut that is."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _backcut
from ._cut import Cut
from ._explain import explain


@dataclass(frozen=True)
class Verdict:
    """What a matrix is: its words, and the cut's name if it has one."""

    words: str
    cut: str | None
    offset: int = 0
    is_own_only: bool = False


@dataclass(frozen=True, repr=False)
class Reach:
    """For every stored state, a matrix `[loss][step]`: the norm of that loss's gradient there.

    Zero: nothing arrives. `nan`: the state did not exist yet when the loss was made, or was never stored.
    `boundaries`: the first step of every update but the first.
    """

    states: dict[str, Any]
    boundaries: tuple[int, ...] = ()
    constants: dict[str, list[int]] = field(default_factory=dict)

    def reaches(self, state: str) -> Any:
        """The same as yes and no."""
        return np.nan_to_num(self.states[state], nan=0.0) > 0

    def verdict(self, state: str) -> Verdict:
        """The cut that a state's matrix is, or that it is none."""
        return _name(self.states[state], self.boundaries, self.constants.get(state, []))

    def words(self) -> str:
        """All of them in one line: `SEG-16 with offset 3 at `h`; full at `cache.1``."""
        return "; ".join(f"{self.verdict(name).words} at `{name}`" for name in self.states)

    def check(self, expected: str, state: str | None = None) -> None:
        """An error if a state's credit (by default that of every state) is not what a cut says."""
        cut = Cut(expected)
        for name in self.states if state is None else [state]:
            found = self.verdict(name)
            matrix = self.states[name]
            steps = np.argwhere(_pattern(cut, matrix) != (np.nan_to_num(matrix) > 0))
            exists = [(t, j) for t, j in steps if not np.isnan(matrix[t, j])]
            if exists:
                t, j = exists[0]
                verb = "reaches" if self.reaches(name)[t, j] else "does not reach"
                raise _backcut.Error(
                    f"`{name}` is not cut as {cut} says: {found.words}; the loss of step {t} {verb} step {j}\n"
                    "hint: a flag without effect, a detach too many, or a state that is kept across updates")

    def __repr__(self) -> str:
        lines = [self.words()]
        for name, matrix in self.states.items():
            lines.append(f"{name}: loss of step t (row) reaches what step j stored (column)")
            for t, row in enumerate(matrix):
                marks = [" " if np.isnan(x) else "#" if x > 0 else "." for x in row]
                lines.append(f"{t:>4} {' '.join(marks)}".rstrip())
        return "\n".join(lines)

    def _repr_svg_(self) -> str:
        panels = []
        for name, matrix in self.states.items():
            panels.append((f"{name}: {self.verdict(name).words}", _shades(matrix)))
            cut = self.verdict(name).cut
            if cut is not None and len(matrix) <= 512:
                panels.append(explain(cut, steps=len(matrix)).triangle())
        caption = ("Left: the norm of each loss's gradient at each stored state, relative to the largest of its "
                   "row. Right: what the cut of that name keeps.")
        return _backcut.matrices(self.words(), caption, panels)


def _shades(matrix: Any) -> list[list[float]]:
    rows = []
    for row in matrix:
        largest = np.nanmax(row) if np.isfinite(row).any() else 0.0
        rows.append([-1.0 if np.isnan(x) else float(x / largest) if x > 0 else 0.0 for x in row])
    return rows


def _pattern(cut: Cut, matrix: Any, offset: int = 0) -> Any:
    """What a cut's credit looks like where memory is the only way back: within segments, by any path."""
    steps = np.arange(len(matrix))
    t, j = steps[:, None], np.arange(matrix.shape[1])[None, :]
    seen = j <= t
    if cut.segment is None or (cut.share or 0) > 0:
        return seen
    # Segments begin at the offset, one of its length before it.
    start = offset % cut.segment
    place = lambda x: (x - start) // cut.segment
    return seen & (place(t) == place(j))


def _name(matrix: Any, boundaries: tuple[int, ...], constants: list[int]) -> Verdict:
    exists = ~np.isnan(matrix)
    found = np.nan_to_num(matrix) > 0
    earlier = [(t, j) for t, j in np.argwhere(found) if any(j < b <= t for b in boundaries)]
    if earlier:
        t, j = earlier[0]
        return Verdict(f"kept across updates (the loss of step {t} reaches step {j} of an earlier update)", None)
    if boundaries:
        return _every_update(matrix, boundaries, constants)
    same = lambda pattern: bool((pattern[exists] == found[exists]).all())
    past = exists & np.tri(*matrix.shape, -1, dtype=bool)
    if not past.any():
        return Verdict("too short to say", None)
    if not found.any():
        why = f" (constant when stored, first at step {constants[0]})" if constants else ""
        return Verdict("no credit at all" + why, None)
    if same(_pattern(Cut("FF"), matrix)):
        return Verdict("full", "FF")
    if not found[past].any():
        return Verdict("own step only (F_SG or FD)", "F_SG", is_own_only=True)
    for length in range(2, len(matrix)):
        for offset in range(length):
            if same(_pattern(Cut(f"SEG-{length}"), matrix, offset)):
                words = f"SEG-{length} with offset {offset}" if offset else f"SEG-{length}"
                return Verdict(words, f"SEG-{length}", offset)
    return Verdict("no cut that has a name" + _window(found, exists), None)


def _window(found: Any, exists: Any) -> str:
    """Credit that goes a number of steps back from every loss, as a forward window or truncated copies leave it."""
    rows, columns = np.indices(found.shape)
    lags = (rows - columns)[found]
    longest = int(lags.max())
    same = (found == ((rows >= columns) & (rows - columns <= longest)))[exists].all()
    if same:
        return f": a window of {longest + 1} steps"
    whole = ((rows >= columns) & exists & ~found)
    t, j = np.argwhere(whole)[0] if whole.any() else (0, 0)
    return f": the loss of step {t} does not reach step {j}, others reach {longest} steps back"


def _every_update(matrix: Any, boundaries: tuple[int, ...], constants: list[int]) -> Verdict:
    """One verdict for updates that are cut alike, steps counted from each update's own start."""
    edges = [0, *boundaries, len(matrix)]
    parts = [_name(matrix[a:b, a:b], (), [c - a for c in constants if a <= c < b])
             for a, b in zip(edges, edges[1:])]
    if len({part.words for part in parts}) == 1:
        return parts[0]
    told = ", ".join(f"update {i + 1}: {part.words}" for i, part in enumerate(parts))
    return Verdict(f"another cut in every update ({told})", None)
