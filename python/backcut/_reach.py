"""Which loss reaches which stored state, how strongly, and which cut that is.

A pair without credit has more than one explanation: a stop stands between, the forward does not read the state there
(padding, an episode's end, a window), or the number is smaller than its type holds. So a matrix of credit is looked
at beside one of what the forward reads, and a cut's name is given only where it is the only explanation left.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from . import _backcut
from ._cut import Cut
from ._explain import explain


@dataclass(frozen=True)
class Verdict:
    """What a matrix is: its words, and the cut's name if that is the only explanation."""

    words: str
    cut: str | None
    offset: int = 0
    is_own_only: bool = False


@dataclass(frozen=True)
class Way:
    """Credit that reaches an earlier step by something that was not noted: the loss, the step, the share of what
    leaves the loss's own step, and what made it."""

    loss: int
    step: int
    share: float
    what: str


@dataclass(frozen=True, repr=False)
class Reach:
    """For every stored state, a matrix `[loss][step]`: the norm of that loss's gradient there.

    Zero: nothing arrives. `nan`: the state did not exist yet when the loss was made, or was never stored.
    `boundaries`: the first step of every update but the first. `constants`: the steps at which a state was a constant.
    `reads`: the same matrices with every stop opened, or after every state was changed: zero where the forward does
    not read a state. `taken`: the share of credit that stops keep away, where it is known. `stops`: where those
    stand. `ways`: credit by what was not noted; then `states` hold what the noted ones carry alone.
    `weights`: whether weights that read a stopped state still learn from it; `None` if nobody looked.
    `physical`: the states that are physical and no memory: either kind is looked at with the other one closed.
    `smallest`: the smallest number that gradients were computed with.
    """

    states: dict[str, Any]
    boundaries: tuple[int, ...] = ()
    constants: dict[str, list[int]] = field(default_factory=dict)
    reads: Mapping[str, Any] = field(default_factory=dict)
    taken: Mapping[str, Any] = field(default_factory=dict)
    stops: tuple[str, ...] = ()
    ways: tuple[Way, ...] = ()
    weights: bool | None = None
    physical: frozenset[str] = frozenset()
    smallest: float = 0.0

    def reaches(self, state: str) -> Any:
        """The same as yes and no."""
        return np.nan_to_num(self.states[state], nan=0.0) > 0

    def verdict(self, state: str) -> Verdict:
        """The cut that a state's matrix is, or what was seen of it."""
        parts = self._parts(state)
        if isinstance(parts, str):
            return Verdict(parts, None)
        verdicts = [part.verdict() for part in parts]
        if len({verdict.words for verdict in verdicts}) == 1:
            alone = self.ways and state not in self.physical
            return Verdict(f"{verdicts[0].words} by itself", None) if alone else verdicts[0]
        told = ", ".join(f"update {i + 1}: {verdict.words}" for i, verdict in enumerate(verdicts))
        return Verdict(f"another cut in every update ({told})", None)

    def words(self) -> str:
        """All of them in one line: `SEG-16 with offset 3 at `h`; full at `cache.1``."""
        told = [f"{self.verdict(name).words} at `{name}`" for name in self.states]
        if self.ways:
            first = self.ways[0]
            told.append(f"credit also passes by what was not noted (first: the loss of step {first.loss} reaches step "
                        f"{first.step} by {first.what}, {first.share:.2g} of what leaves its own step)")
        return "; ".join(told)

    def check(self, expected: str, state: str | None = None, window: int | None = None) -> None:
        """An error if a state's credit (by default that of every state) is not what a cut says, or if it can not be
        seen whether it is. `window`: how many steps the forward itself reads, where those are not all."""
        cut = Cut(expected)
        for name in self.states if state is None else [state]:
            parts = self._parts(name)
            wrong = parts if isinstance(parts, str) else next(
                (said for part in parts if (said := part.differs(cut, name in self.physical, window))), None)
            if wrong:
                raise _backcut.Error(
                    f"`{name}` is not cut as {cut} says: {self.verdict(name).words}; {wrong}\n"
                    "hint: a flag without effect, a detach too many, or a state that is kept across updates")
            if unseen := self._unseen(name, cut) or next(
                    (said for part in parts if (said := part.unseen(cut, window))), None):  # type: ignore[union-attr]
                raise _backcut.Error(f"whether `{name}` is cut as {cut} says can not be seen: {unseen}")

    def _unseen(self, name: str, cut: Cut) -> str | None:
        if self.ways:
            return ("credit also passes by what was not noted\n"
                    "hint: note that too; or r.physical(name, value), if it is a simulator's state")
        if cut.depth is not None and not self.physical:
            return "it also limits credit through physical states, and none was noted\nhint: r.physical(name, value)"
        return None

    def _parts(self, name: str) -> list[_Part] | str:
        """What each update shows, steps counted from its own start; or why there is nothing to name."""
        credit, reads, taken = self.states[name], self.reads.get(name), self.taken.get(name)
        rows, columns = credit.shape
        if columns == 1 and rows > 2:
            return (f"no name: 1 state and {rows} losses, as of a layer that runs all its steps at once; note what "
                    "it reads, with the axis of its steps")
        if abs(columns - rows) > 1:
            return f"no name: {columns} states and {rows} losses; note one state in every step, and one loss"
        found = np.nan_to_num(credit) > 0
        for t, j in np.argwhere(found):
            if any(j < b <= t for b in self.boundaries):
                return f"kept across updates (the loss of step {t} reaches step {j} of an earlier update)"
        edges = [0, *self.boundaries, rows]
        square = lambda matrix, a, b: None if matrix is None else matrix[a:b, a:b if b < rows else None]
        return [_Part(self, name, a, square(credit, a, b), square(reads, a, b), square(taken, a, b),
                      [c - a for c in self.constants.get(name, []) if a <= c < b])
                for a, b in zip(edges, edges[1:])]

    def __repr__(self) -> str:
        lines = [self.words()]
        for name, matrix in self.states.items():
            lines.append(f"{name}: loss of step t (row) reaches what step j stored (column)")
            reads = self.reads.get(name)
            for t, row in enumerate(matrix):
                marks = [" " if np.isnan(x) else "#" if x > 0 else "." if reads is None or reads[t, j] > 0 else "-"
                         for j, x in enumerate(row)]
                lines.append(f"{t:>4} {' '.join(marks)}".rstrip())
            if reads is not None and (np.tril(np.nan_to_num(reads, nan=1.0) == 0)).any():
                lines.append("     # credit arrives   . none arrives   - the forward does not read it")
        return _backcut.shown("\n".join(lines))

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


def _pattern(cut: Cut, shape: tuple[int, int], offset: int = 0, late: int = 0) -> Any:
    """What a cut's credit looks like where memory is the only way back: within segments, by any path. `late`: 1 where
    a loss reads no state of its own step, and so stands for the step before."""
    t, j = np.arange(shape[0])[:, None] - late, np.arange(shape[1])[None, :]
    seen = j <= t
    if cut.segment is None or (cut.share or 0) > 0:
        return seen
    # Segments begin at the offset, one of its length before it.
    start = offset % cut.segment
    place = lambda x: (x - start) // cut.segment
    return seen & (place(t) == place(j))


# How much of a gradient may differ by rounding alone.
_SAME = 3e-3


@dataclass(frozen=True)
class _Part:
    """What one update shows of one state."""

    of: Reach
    name: str
    start: int
    credit: Any
    reads: Any
    taken: Any
    constants: list[int]

    @cached_property
    def found(self) -> Any:
        return np.nan_to_num(self.credit) > 0

    @cached_property
    def past(self) -> Any:
        return ~np.isnan(self.credit) & np.tri(*self.credit.shape, -1, dtype=bool)

    @cached_property
    def is_read(self) -> Any:
        """Where the forward reads a state, as far as anybody looked; credit is proof of it."""
        return self.found if self.reads is None else self.found | (np.nan_to_num(self.reads) > 0)

    @cached_property
    def own(self) -> Any:
        """The pairs of a loss with its own step; none, if no loss reads the state of its own step."""
        pairs = ~np.isnan(self.credit) & np.eye(*self.credit.shape, dtype=bool)
        return pairs if (pairs & self.is_read).any() else np.zeros_like(pairs)

    @cached_property
    def idle(self) -> list[int]:
        """Losses that read nothing, though others do."""
        if self.reads is None:
            return []
        has_own = self.own.any()
        # Where no loss reads its own step's state, one that reads nothing may stand where the forward starts anew:
        # then later ones read the state of its step.
        lives = lambda t: not has_own and t < self.is_read.shape[1] and self.is_read[:, t].any()
        return [t for t in range(0 if has_own else 1, len(self.credit))
                if not (np.isnan(self.credit[t]).all() or self.is_read[t].any() or lives(t))]

    @cached_property
    def lived(self) -> Any:
        """Pairs with an earlier step, of losses that read anything."""
        kept = self.past.copy()
        kept[self.idle] = False
        return kept

    @cached_property
    def is_partial(self) -> bool:
        return self.taken is not None and bool((np.nan_to_num(self.taken)[self.found & self.past] > _SAME).any())

    def verdict(self) -> Verdict:
        if not self.past.any():
            return Verdict("too short to say", None)
        constant = (f" (constant when stored, first at step {self.constants[0]})" if self.constants else "")
        if not self.found.any() and (self.constants or self.reads is None or not self.is_read[self.past].any()):
            why = constant or ("" if self.reads is None or self.is_read.any() else " (the forward does not read it)")
            return Verdict("no credit at all" + why, None)
        if (self.found & self.past).any() or self.reads is None or self.is_read[self.past].any():
            return self._of_earlier_steps()
        said = ("read by its own loss alone: no later step reads it, and no stop stands between; what is handed on is "
                "something else (of nn.LSTM and nn.GRU note both parts of output[1])")
        return Verdict(said, None)

    def _of_earlier_steps(self) -> Verdict:
        unread = self.lived & ~self.is_read
        closed = self.lived & self.is_read & ~self.found
        idle = self._idle_words()
        if self.reads is None:
            # Nobody looked whether the forward reads what receives nothing.
            closed, unread = self.lived & ~self.found, np.zeros_like(unread)
        if unread.any() and not closed.any():
            beyond = self._faded(unread)
            said = beyond or self._unread_words(unread)
            partly = ", though stops keep a part of it away" + self._stops() if self.is_partial else ""
            return Verdict(f"nothing is cut where the forward reads it{partly}; {said}{idle}", None)
        if unread.any():
            t, j = np.argwhere(closed)[0]
            return Verdict(f"cut{self._stops()}, first from step {t + self.start} to step {j + self.start}, and no "
                           f"name for it: {self._unread_words(unread)}{idle}", None)
        if self.reads is None and closed.any():
            t, j = np.argwhere(closed)[0]
            return Verdict(f"nothing arrives at step {j} from the loss of step {t}; nobody looked whether the forward "
                           "reads it there", None)
        if idle:
            # Losses without a reader show nothing, so a name would say more than was seen.
            of_rest = self._named(self.lived).words
            return Verdict(f"{of_rest}, as far as losses read it{idle}", None)
        return self._named(self.past)

    def _named(self, where: Any) -> Verdict:
        """The cut, where everything was seen."""
        if self.is_partial:
            return self._shared()
        pairs = where | self.own
        pairs[self.idle] = False
        for cut, offset in self._candidates():
            for late in (0,) if self.own.any() else (0, 1):
                if not (_pattern(Cut(cut), self.credit.shape, offset, late)[pairs] == self.found[pairs]).all():
                    continue
                if cut == "FF":
                    return Verdict("full", "FF")
                if cut == "F_SG":
                    name = {None: "F_SG or FD", True: "F_SG", False: "FD"}[self.of.weights]
                    return Verdict(f"own step only ({name})", name[:4].strip(), is_own_only=True)
                if self.of.weights is False:
                    return Verdict(f"cut every {cut[4:]} steps{self._stops()}, and what reads it learns nothing from "
                                   "it either: a cut without a name", None)
                return Verdict(f"{cut} with offset {offset}" if offset else cut, cut, offset)
        return Verdict("no cut that has a name" + self._window(), None)

    def _candidates(self) -> Any:
        yield "FF", 0
        yield "F_SG", 0
        for length in range(2, len(self.credit)):
            for offset in range(length):
                yield f"SEG-{length}", offset

    def _shared(self) -> Verdict:
        """Credit of which stops keep a part away: an `F_A`, if they take the same at every crossing."""
        pairs = self.past & self.found
        ratio, lags = self.credit[pairs] / self.reads[pairs], np.subtract(*np.nonzero(pairs))
        if (pairs == self.past).all():
            share = float(np.median(ratio[lags == 1])) if (lags == 1).any() else 1.0
            for wanted in (share**lags, np.full(len(lags), share)):
                if share < 1 and np.allclose(ratio, wanted, rtol=_SAME):
                    name = f"F_A{round(share, 3):g}"
                    return Verdict(f"{share:.3g} of it at every crossing ({name})", name)
        t, j = np.argwhere(pairs & (np.nan_to_num(self.taken) > _SAME))[0]
        return Verdict(f"not all of it{self._stops()}: credit arrives at earlier steps, but stops keep a part away "
                       f"(first: {self.taken[t, j]:.2g} of what the loss of step {t + self.start} would send to step "
                       f"{j + self.start})", None)

    def _stops(self) -> str:
        return f" by {', '.join(self.of.stops[:3])}" if self.of.stops else ""

    def _idle_words(self) -> str:
        if not self.idle:
            return ""
        shown = ", ".join(str(t + self.start) for t in self.idle[:3]) + (", ..." if len(self.idle) > 3 else "")
        some = "the loss of step" if len(self.idle) == 1 else "losses of steps"
        return f"; {some} {shown} {'reads' if len(self.idle) == 1 else 'read'} nothing (padding?)"

    def _faded(self, unread: Any) -> str | None:
        """Where credit had shrunk to the smallest numbers before it was zero."""
        for t, j in np.argwhere(unread):
            later = np.flatnonzero(self.found[t, j + 1:t + 1])
            if not len(later) or self.credit[t, j + 1 + later[0]] > self.of.smallest * 1e4:
                return None
        t, j = np.argwhere(unread)[0]
        return (f"beyond {t - j - 1} steps it is smaller than the smallest number there is ({self.of.smallest:.0e})")

    def _unread_words(self, unread: Any) -> str:
        """What the forward does not read."""
        doubt = " (or something stops it that can not be seen: numpy, a compiled function, a function of your own)"
        lags = np.subtract(*np.indices(unread.shape))
        read = self.lived & self.is_read
        longest = int(lags[read].max()) if read.any() else 0
        if (unread == (self.lived & (lags > longest))).all():
            return f"the forward reads {longest + 1} steps, its own among them{doubt}"
        begins = [b for b in range(1, len(unread)) if not read[b:, :b].any() and (self.lived[b:, :b]).any()]
        apart = np.zeros_like(unread)
        for b in begins:
            apart[b:, :b] = True
        if begins and (unread == (self.lived & apart)).all():
            where = ", ".join(str(b + self.start) for b in begins[:4]) + (", ..." if len(begins) > 4 else "")
            return f"the forward starts anew at step {where}, as at an episode's end{doubt}"
        t, j = np.argwhere(unread)[0]
        return f"the loss of step {t + self.start} does not read step {j + self.start}{doubt}"

    def _window(self) -> str:
        """Credit that goes a number of steps back from every loss, as truncated copies leave it."""
        rows, columns = np.indices(self.found.shape)
        exists = ~np.isnan(self.credit)
        lags = (rows - columns)[self.found & (rows >= columns)]
        longest = int(lags.max()) if len(lags) else 0
        same = (self.found == ((rows >= columns) & (rows - columns <= longest)))[exists].all()
        if same:
            return f": a window of {longest + 1} steps{self._stops()}"
        whole = ((rows >= columns) & exists & ~self.found)
        t, j = np.argwhere(whole)[0] if whole.any() else (0, 0)
        return (f"{self._stops()}: the loss of step {t + self.start} does not reach step {j + self.start}, others reach "
                f"{longest} steps back")

    def wanted(self, cut: Cut, is_physical: bool) -> Any:
        """The pairs at which a cut lets credit arrive."""
        shape = self.credit.shape
        late = 0
        if not self.own.any() and not is_physical:
            # A loss that reads no own state stands for the step before, if that is what it shows.
            off = [(_pattern(cut, shape, 0, late) ^ self.found)[self.lived].sum() for late in (0, 1)]
            late = int(off[1] < off[0])
        if not is_physical:
            return _pattern(cut, shape, 0, late)
        lags = np.subtract(*np.indices(shape))
        return (lags >= 0) & (lags < (cut.depth or len(self.credit)))

    def differs(self, cut: Cut, is_physical: bool, window: int | None) -> str | None:
        """The first pair that shows another cut."""
        wanted = self.wanted(cut, is_physical)
        pairs = self.lived | self.own
        pairs[self.idle] = False
        lags = np.subtract(*np.indices(wanted.shape))
        if window is not None:
            wanted = wanted & (lags < window)
        # What is not read can not show that it is cut, nor that it is open.
        shown = pairs & (self.is_read if self.reads is not None else True)
        if not self.found.any() and self.constants and (wanted & self.past).any():
            return "nothing arrives anywhere"
        for t, j in np.argwhere(shown & (wanted != self.found)):
            verb = "reaches" if self.found[t, j] else "does not reach"
            return f"the loss of step {t + self.start} {verb} step {j + self.start}"
        share = cut.share or 0.0
        if self.is_partial and not (share and self.verdict().cut == f"F_A{share:g}"):
            return "stops keep a part of the credit away" + self._stops()
        if share and self.taken is not None and not self.is_partial:
            return "no stop keeps a part of it away"
        closed = (self.lived & self.is_read & ~self.found).any()
        if closed and self.of.weights is not None and not is_physical and cut.segment == 1 and not share:
            if self.of.weights is (cut.share is None):
                return "weights " + ("still learn" if self.of.weights else "learn nothing") + " from reading it"
        return None

    def unseen(self, cut: Cut, window: int | None) -> str | None:
        """Why the rest does not show this cut."""
        if not (self.lived & self.is_read).any() and self.past.any():
            return self.verdict().words + "\nhint: note the state that is handed on, where it is made"
        if self.idle:
            return self._idle_words()[2:] + "\nhint: give it rows without padding"
        lags = np.subtract(*np.indices(self.credit.shape))
        open_to = window if window is not None else len(self.credit) + 1
        if self.reads is None:
            closed = self.past & ~self.found & (lags < open_to)
            return "nobody looked whether the forward reads what receives nothing" if closed.any() else None
        unread = self.past & ~self.is_read & (lags < open_to)
        if unread.any():
            said = self._faded(unread) or self._unread_words(unread)
            return said + "\nhint: give it rows in which every step reads the ones before, or say the window"
        closed = (self.lived & ~self.found).any()
        if closed and self.of.weights is None and cut.segment == 1 and not cut.share and len(self.of.states) == 1:
            return "F_SG and FD look alike at a state\nhint: note all parts of it, and what weights make of it"
        return None
