"""A recorded graph, walked: which of its edges lead from one step to an earlier one, and were declared by nobody."""
from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ._backcut import Error
from ._tape import Kind
from ._torch_edges import Attention, Edge, Read, Record

_OF_TAPE = tuple(function._backward_cls for function in (Edge, Read, Attention))
# What may add up a loss: sums, and factors of it.
_LINEAR = ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "NegBackward0")
_AFTER = -2


class Marks:
    """Where steps begin in the order in which a graph is recorded, and the losses that were noted."""

    def __init__(self) -> None:
        self.step: int | None = None
        self._starts: list[int] = []
        self._steps: list[int] = []
        self.losses: list[tuple[int, Any]] = []

    def begin(self, t: int) -> None:
        self.step = t
        self._mark(t)

    def end(self) -> None:
        self.step = None
        self._mark(_AFTER)

    def _mark(self, t: int) -> None:
        self._starts.append(torch._C._autograd._get_sequence_nr())
        self._steps.append(t)

    def note(self, loss: torch.Tensor, t: int) -> None:
        if loss.grad_fn is not None:
            self.losses.append((t, loss.grad_fn))

    @property
    def are_known(self) -> bool:
        return len(self._steps) > 0

    def of(self, node: Any) -> int | None:
        """The step in which a node was recorded; `None` before the first and after the last."""
        place = bisect_right(self._starts, node._sequence_nr()) - 1
        step = self._steps[place] if place >= 0 else _AFTER
        return None if step == _AFTER else step


@dataclass(frozen=True)
class Way:
    """An edge of the graph from a step to an earlier one. `node` is what reads, `place` which of its inputs."""

    node: Any
    place: int
    t: int
    j: int


@dataclass(frozen=True)
class Undeclared:
    """Credit that reaches earlier steps by edges that nobody declared.

    `share`: how much of the gradient of full credit goes with them, |g - g without| / |g|. `pairs`: the steps that
    they lead from and to. `by`: what reads there first.
    """

    share: float
    pairs: tuple[tuple[int, int], ...]
    by: str = ""

    def __str__(self) -> str:
        if not self.pairs:
            return "not declared: nothing; every way to an earlier step is an edge that you declared"
        t, j = self.pairs[0]
        if self.share == 0:
            return (f"not declared: ways to earlier steps that bring nothing ({len(self.pairs)} pairs of steps; first: "
                    f"step {t} -> {j}, read by {self.by})")
        share = f"{100 * self.share:.0f}%" if self.share >= 0.01 else f"{100 * self.share:.2g}%"
        return (f"not declared: {share} of FF's gradient reaches earlier steps by edges that you did not declare (first: "
                f"step {t} -> {j}, read by {self.by})")


def nodes(roots: Iterable[Any]) -> Iterator[Any]:
    """All nodes of a graph, each once."""
    waiting, seen = list(roots), set(roots)
    while waiting:
        node = waiting.pop()
        yield node
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                waiting.append(child)


def ways(record: Record, marks: Marks, loss: torch.Tensor) -> list[Way]:
    """The edges of a loss's graph from a step to an earlier one that were not declared, the first step first."""
    total = _running_total(loss.grad_fn) if not marks.losses else set()
    roots = [node for _, node in marks.losses] or [loss.grad_fn]
    found, early = [], []
    for node in nodes(roots):
        t = marks.of(node)
        if t is None or isinstance(node, _OF_TAPE):
            continue
        for place, (child, _) in enumerate(node.next_functions):
            if child is None or hasattr(child, "variable"):
                continue
            if isinstance(child, _OF_TAPE[0]):
                name, made, _, is_weights = child.asked[1]
                if made == t and not is_weights and record.edges.kinds[name] is Kind.CARRIED:
                    early.append((t, name, node.name()))
            j = marks.of(child)
            if j is not None and j < t and not isinstance(child, _OF_TAPE) and not (node in total and child in total):
                found.append(Way(node, place, t, j))
    for t, name, reader in sorted(early)[:1]:
        raise Error(f"step {t} itself reads `{name}`, which it hands to the next one (by {reader})\n"
                    "hint: carry(...) what the next step reads after everything that this step reads")
    return sorted(found, key=lambda way: (way.t, -way.j))


def _running_total(root: Any) -> set[Any]:
    """The nodes by which single numbers are added up to a loss."""
    total, waiting = {root}, [root]
    while waiting:
        node = waiting.pop()
        if node.name() not in _LINEAR:
            continue
        children = [child for child, _ in node.next_functions if child is not None]
        if node.name() in ("MulBackward0", "DivBackward0") and len(children) > 1:
            continue
        for child in children:
            if child not in total and all(math.prod(of.shape) == 1 for of in child._input_metadata):
                total.add(child)
                waiting.append(child)
    return total


def closed(found: Sequence[Way]) -> list[Any]:
    """Hooks that let nothing pass these ways, until they are removed."""
    places: dict[Any, set[int]] = {}
    for way in found:
        places.setdefault(way.node, set()).add(way.place)

    def hook(shut: set[int]) -> Any:
        return lambda sent, _: tuple(None if place in shut else g for place, g in enumerate(sent))
    return [node.register_hook(hook(shut)) for node, shut in places.items()]
