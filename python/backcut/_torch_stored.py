"""Truncation by re-chunking: sequences that begin at stored states, as most recurrent agents are trained."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map

from ._backcut import Error
from ._compare import Comparison


@dataclass(frozen=True, repr=False)
class Rechunked:
    """How a gradient of chunks differs from that of the whole sequence, and by what.

    `of_whole`: every arm against `whole`. `of_cut`: what a stale start adds to the cut, against `cut`. `state`: how far
    the stored states lie from those that these parameters make, relative to them.
    """

    of_whole: Comparison
    of_cut: Comparison
    state: float

    def shares(self) -> dict[str, float]:
        """Lengths relative to the whole gradient: what the cut alone takes away, what another forward adds to that,
        and both together. The two are vectors, and need not add up."""
        scale = self.of_whole.value("gradient.norm", "cut")
        whole = self.of_whole.value("gradient.norm", "whole")
        another = self.of_cut.value("gradient.difference", "chunks")
        of = lambda arm: self.of_whole.value("gradient.difference", arm)
        assert scale is not None and whole is not None and another is not None
        return {"the cut": of("cut") or 0.0, "another forward": another * scale / whole if whole else 0.0,
                "both": of("chunks") or 0.0}

    def __repr__(self) -> str:
        lines = [f"{name:<16} {share:.4f} of the whole gradient" for name, share in self.shares().items()]
        return "\n".join([repr(self.of_whole), *lines, f"stored states are {self.state:.4f} away from fresh ones"])


def rechunked(module: torch.nn.Module, run: Callable[[Any, int, int], tuple[Any, Any]], stored: Mapping[int, Any],
              steps: int, optimizer: Any = None, clip: Any = None, burn_in: int = 0, **options: Any) -> Rechunked:
    """Takes the gradient of a sequence that is trained in chunks apart into what the cut does and what stale states do.

    `run(state, first, last)` runs the steps from `first` up to, not including, `last` and returns the sum of their
    losses, and the state after them. `stored`: for the first step of every chunk, the state that training starts
    it from (as the rollout left it); it has step 0. Arms, all on these parameters:

    - `whole`: the sequence from its stored start, credit through all of it;
    - `cut`: the same forward, with a `detach` where a chunk begins;
    - `chunks`: every chunk from its stored state: the same cut, and another forward;
    - `burn-in` (where asked for): every chunk from the state that at least so many steps before it make of a
      stored one, no gradient through them.

    What lies between `whole` and `cut` is the cut; between `cut` and `chunks`, the forward alone.
    """
    from .torch import measure
    begins = sorted(stored)
    if not begins or begins[0] != 0 or begins[-1] >= steps:
        raise Error(f"stored states of steps {begins} for a sequence of {steps}\n"
                    "hint: the state before the first step of every chunk, step 0 among them")
    ends = [*begins[1:], steps]
    cut = lambda state: tree_map(lambda x: x.detach() if isinstance(x, torch.Tensor) else x, state)

    def followed(at_chunk: Callable[[Any], Any]) -> Any:
        state, total = stored[0], 0.0
        for first, last in zip(begins, ends):
            loss, state = run(at_chunk(state) if first else state, first, last)
            total = total + loss
        return total

    def chunks() -> Any:
        return sum(run(cut(stored[first]), first, last)[0] for first, last in zip(begins, ends))

    def burnt() -> Any:
        total = 0.0
        for first, last in zip(begins, ends):
            from_step = max((b for b in begins if b <= max(0, first - burn_in)), default=0)
            state = cut(stored[from_step])
            if from_step < first:
                with torch.no_grad():
                    state = run(state, from_step, first)[1]
            total = total + run(state, first, last)[0]
        return total

    arms = {"whole": lambda: followed(lambda state: state), "cut": lambda: followed(cut), "chunks": chunks}
    if burn_in:
        arms["burn-in"] = burnt
    of_whole = measure(module, arms, optimizer, clip, **options)
    of_cut = measure(module, {name: arms[name] for name in arms if name != "whole"}, optimizer, clip, **options)
    apart, length = 0.0, 0.0
    with torch.no_grad():
        state = stored[0]
        for first, last in zip(begins[:-1], begins[1:]):
            state = run(state, first, last)[1]
            for fresh, kept in zip(_leaves(state), _leaves(stored[last])):
                apart += float((fresh.double() - kept.double()).square().sum())
                length += float(fresh.double().square().sum())
    return Rechunked(of_whole, of_cut, (apart / length)**0.5 if length else 0.0)


def _leaves(state: Any) -> list[torch.Tensor]:
    found = torch.utils._pytree.tree_leaves(state)
    return [x for x in found if isinstance(x, torch.Tensor) and x.is_floating_point()]
