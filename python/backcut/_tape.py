"""Declared edges and what cuts leave of them: the half of a tape that knows no framework.

An edge is declared by its name, and by what it is. The engine's rule then says for any cut what is left of it: nothing
here decides that.
"""
from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from . import _backcut
from ._backcut import Error


class Kind(Enum):
    """What an edge is, and so what a cut may say of it."""

    CARRIED = "what each step hands to the next"
    READ = "what a step made and any later one reads"
    PROJECTED = "what weights made of it, read by any later step"
    STORED = "what a step stored and later ones read, with two sides of what weights make of it"
    STATE = "a physical state"
    VALUE = "a value"


MEMORY = (Kind.CARRIED, Kind.READ, Kind.PROJECTED, Kind.STORED)


@dataclass(frozen=True)
class Credit:
    """What a cut leaves of declared edges.

    `stored` and `weights`: for every memory edge, the share that what was stored receives, and the share that weights
    which project it receive: `[t][j]` for step `t` that reads step `j`; of a carried edge `[j]`, for what step
    `j` hands to the next. `states`: of each its factor, and whether it counts as one that a path passes.
    `values`: a factor each. `most`: how many counted state edges a path may pass; `None` for any number.
    """

    cut: str
    stored: Mapping[str, Any]
    weights: Mapping[str, Any]
    states: Mapping[str, tuple[float, bool]]
    values: Mapping[str, float]
    most: int | None


@lru_cache(maxsize=64)
def credit(cut: str, edges: tuple[tuple[str, Kind], ...], steps: int, draw: tuple[int, int] | None) -> Credit:
    """The engine's answer for these edges in a rollout of so many steps; `draw`: a seed and an update."""
    of = lambda *kinds: [name for name, kind in edges if kind in kinds]
    memory, kinds = of(*MEMORY), dict(edges)
    pairs = [(name, kinds[name] is not Kind.CARRIED) for name in memory]
    text, tables = _backcut.credit(cut, pairs, of(Kind.STATE), of(Kind.VALUE), steps, draw)
    shaped = lambda pair, table: table.reshape(steps, steps) if pair[1] else table
    found = json.loads(text)
    return Credit(
        cut,
        {pair[0]: shaped(pair, stored) for pair, (stored, _) in zip(pairs, tables)},
        {pair[0]: shaped(pair, weights) for pair, (_, weights) in zip(pairs, tables)},
        {name: (state["factor"], state["counts"]) for name, state in zip(of(Kind.STATE), found["states"])},
        dict(zip(of(Kind.VALUE), found["values"])), found["most"])


class Edges:
    """The edges of a rollout, as they are declared."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.made_constant: set[str] = set()
        self.steps = 1

    def declare(self, name: str, kind: Kind) -> None:
        """An edge is one thing throughout a rollout."""
        known = self.kinds.setdefault(name, kind)
        if known is not kind:
            raise Error(f"`{name}` was declared as {known.value}, and now as {kind.value}\n"
                        "hint: give every edge a name of its own")

    def credit(self, cut: Any, draw: tuple[int, int] | None = None) -> Credit:
        """What a cut leaves of them. A cut that an edge cannot honour is an error that names it."""
        found = credit(str(cut), tuple(self.kinds.items()), self.steps, draw)
        for name, kind in self.kinds.items():
            if kind in (Kind.CARRIED, Kind.READ) and name not in self.made_constant and (lower(found, name) == 0).any():
                raise Error(f"{cut} makes a constant of what weights make of `{name}`, and the tape does not know it\n"
                            "hint: declare that product with projected(...), or say SG, which stops at the value itself")
            if kind is Kind.PROJECTED and (found.stored[name] != found.weights[name]).any():
                raise Error(f"{cut} leaves the weights that made `{name}` credit which what they made it of does not "
                            "receive\nhint: only store(...) has both sides; here F keeps, D closes")
        return found


def lower(found: Credit, name: str) -> Any:
    """What weights receive where a later step reads."""
    table = found.weights[name]
    return table if table.ndim == 1 else table[np.tril_indices(len(table), -1)]


class Lanes:
    """Several cuts in one backward: for every cut a lane, or as many as states may be passed on the way.

    A path begins in its cut's first lane. A state edge that counts moves it to the next one, and beyond the last it
    ends; whatever else passes stays in its lane.
    """

    def __init__(self, cuts: Sequence[Credit]) -> None:
        self.of = [(c, depth) for c, cut in enumerate(cuts) for depth in range(1 if cut.most is None else cut.most + 1)]
        self.cuts = list(cuts)

    def seeds(self) -> list[float]:
        """Where paths begin."""
        return [float(depth == 0) for _, depth in self.of]

    def each(self, share: Callable[[Credit], Any]) -> list[Any]:
        """A share for every lane."""
        shares = [share(cut) for cut in self.cuts]
        return [shares[c] for c, _ in self.of]

    def passed(self, state: str) -> tuple[list[int], list[float]]:
        """For every lane, the lane whose credit a state edge brings, and how much of it."""
        lanes, factors = [], []
        for lane, (c, depth) in enumerate(self.of):
            factor, counts = self.cuts[c].states[state]
            moves = counts and self.cuts[c].most is not None
            lanes.append(lane - 1 if moves and depth else lane)
            factors.append(0.0 if moves and not depth else factor)
        return lanes, factors

    def sums(self) -> Iterator[list[int]]:
        """The lanes that make each cut's gradient."""
        for cut in range(len(self.cuts)):
            yield [lane for lane, (c, _) in enumerate(self.of) if c == cut]


def mapped(tree: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
    """A tree of tuples, lists, dictionaries and `None`, with `leaf(value, name)` in place of every value. A value in a
    tree is an edge of its own: `name.key`, `name.field`, `name.0`."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        made: Any = copy.copy(tree)
        for key, value in tree.items():
            made[key] = mapped(value, f"{name}.{key}", leaf)
        return made
    if isinstance(tree, (tuple, list)):
        fields = getattr(tree, "_fields", range(len(tree)))
        values = [mapped(value, f"{name}.{field}", leaf) for field, value in zip(fields, tree)]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return leaf(tree, name)
