"""What every single edge of a tape carries: of the gradient, and of what the next update does to a held-out loss."""
from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ._backcut import Error
from ._map import EdgeMap
from ._step import steps
from ._tape import Kind
from ._torch_edges import Crossing, Plan, Record, Tables


class Gates(Plan):
    """Full credit with a factor at every edge between steps, which can be differentiated."""

    def __init__(self, record: Record, device: torch.device) -> None:
        super().__init__(record, [record.edges.credit("FF")])
        size, self.of = record.edges.steps, {}
        for name, kind in record.edges.kinds.items():
            if kind is not Kind.VALUE:
                shape = (size,) if kind in (Kind.CARRIED, Kind.STATE) else (size, size)
                self.of[name] = torch.ones(shape, dtype=torch.float64, device=device)
        self._each: dict[str, Any] = {}

    def open(self) -> list[torch.Tensor]:
        return [gate.requires_grad_() for gate in self.of.values()]

    def close(self, name: str, read: int, made: int) -> None:
        known = name in self.of and 0 <= made < read < self.record.edges.steps
        if not known or self.of[name].dim() == 1 and read != made + 1:
            raise Error(f"there is no edge `{name}` from step {made} to step {read}\n"
                        f"hint: there are {', '.join(self.of) or 'none'}; what is carried goes to the next step alone")
        self.of[name][made if self.of[name].dim() == 1 else (read, made)] = 0.0

    def at(self, name: str, read: int | None, made: int) -> torch.Tensor:
        if name not in self._each:
            # Every gate by itself, of one operation: a slice each would be as long again as all of them.
            gate = self.of[name]
            self._each[name] = gate.unbind() if gate.dim() == 1 else [row.unbind() for row in gate.unbind()]
        found = self._each[name]
        return found[made] if self.of[name].dim() == 1 else found[made + 1 if read is None else read][made]  # type: ignore[no-any-return]

    def crossed(self, crossing: Crossing, serial: int, g: torch.Tensor) -> torch.Tensor | None:
        name, made, read, is_weights = crossing
        kind = self.record.edges.kinds[name]
        is_own = is_weights and kind is not Kind.PROJECTED or read == made
        if made < 0 or kind is Kind.VALUE or is_own:
            return g
        return g * (self.at(name, read, made) * self.record.decays.get(name, 1.0)).to(g)

    def row(self, name: str, t: int, entries: range) -> list[tuple[Any, Any]]:
        return [(1.0, 0.0) if j == t else (gate := self.at(name, t, j), 1 - gate) for j in entries]

    def table(self, name: str, steps: int, like: torch.Tensor) -> Tables | None:
        gate = self.of[name][:steps, :steps].to(like)
        near = gate.tril(-1) + torch.eye(steps, dtype=like.dtype, device=like.device)
        return near, (1 - gate).tril(-1)


def edge_map(record: Record, under: Callable[[Plan], Any], loss: torch.Tensor, params: dict[str, torch.Tensor],
             optimizer: torch.optim.Optimizer | None, clip: float | None, held: Callable[[], torch.Tensor] | None) -> EdgeMap:
    if (optimizer is None) != (held is None):
        raise Error("a map of what helps a held-out loss needs that loss and the optimizer\n"
                    "hint: map(loss, model, optimizer, clip, held), or none of them")
    gates = Gates(record, loss.device)
    if not gates.of:
        raise Error("nothing leads from step to step\nhint: declare edges with carry, store, attention or state")
    switches = gates.open()
    with under(gates):
        slopes = torch.autograd.grad(loss, list(params.values()), create_graph=True, allow_unused=True)
    found = {name: g for name, g in zip(params, slopes) if g is not None}
    own = {name: g.detach().double() for name, g in found.items()}
    length = sum(float((g * g).sum()) for g in own.values())
    drop = seeds = None
    if optimizer is not None and held is not None:
        drop, seeds = _of_update(params, optimizer, clip, held, own)

    def tables(along: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        # An edge that no path of the loss takes has no slope.
        value = sum((found[name].double() * along[name]).sum() for name in found)
        if not (isinstance(value, torch.Tensor) and value.requires_grad):
            each: Sequence[torch.Tensor | None] = [None] * len(switches)
        else:
            each = torch.autograd.grad(value, switches, retain_graph=True, allow_unused=True)
        return {name: _table(record, name, gate, slope) for (name, gate), slope in zip(gates.of.items(), each)}
    relative = {name: g / length if length else g for name, g in own.items()}
    return EdgeMap(tables(relative), None if seeds is None else tables(seeds), drop)


def _table(record: Record, name: str, gate: torch.Tensor, slope: torch.Tensor | None) -> Any:
    """Slopes as a square of steps; `nan` where no such edge was declared."""
    size = record.edges.steps
    values = np.zeros(tuple(gate.shape)) if slope is None else slope.detach().cpu().numpy()
    table = np.full((size, size), np.nan)
    if gate.dim() == 1:
        for crossing in record.crossings:
            if crossing[0] == name and 0 <= crossing[1] < size - 1:
                table[crossing[1] + 1, crossing[1]] = values[crossing[1]]
    else:
        pairs = [(crossing[2], crossing[1]) for crossing in record.crossings if crossing[0] == name]
        pairs += [(t, j) for (which, t), entries in record.reads.items() if which == name for j in entries]
        pairs += [(t, j) for t in range(record.parallel.get(name, 0)) for j in range(t)]
        for t, j in pairs:
            if t is not None and 0 <= j < t:
                table[t, j] = values[t, j]
    # The last step hands on what nobody reads.
    return table[:-1, :-1] if np.isnan(table[-1]).all() or not np.nan_to_num(table[-1]).any() else table


def _of_update(params: dict[str, torch.Tensor], optimizer: torch.optim.Optimizer, clip: float | None,
               held: Callable[[], torch.Tensor], grads: dict[str, torch.Tensor]) -> tuple[float, dict[str, torch.Tensor]]:
    """What the update takes from the held-out loss, and the slope of that by each gradient."""
    if callable(clip):
        raise Error("a clip of one's own can not be differentiated\nhint: clip=1.0, the largest global norm")

    def look() -> tuple[float, Sequence[torch.Tensor | None]]:
        loss = held()
        return float(loss.detach()), torch.autograd.grad(loss, list(params.values()), allow_unused=True)
    before = float(held().detach())
    made = steps(params, optimizer, {"all": {name: g.to(params[name]) for name, g in grads.items()}}, clip, look)["all"]
    after, slopes = made.after
    leaves = {name: g.to(params[name]).requires_grad_() for name, g in grads.items()}
    factor = torch.ones(())
    if clip is not None:
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in leaves.values()]))
        factor = torch.clamp(clip / (norm + 1e-6), max=1.0)
    clipped = {name: (g * factor).detach().requires_grad_() for name, g in leaves.items()}
    updates = _differentiable(params, optimizer, clipped)
    value = torch.zeros(())
    for (name, update), slope in zip(updates.items(), (slope for p, slope in zip(params, slopes) if p in grads)):
        wanted, moved = made.update[name].to(update), update.detach()
        if not torch.allclose(moved, wanted, rtol=1e-3, atol=1e-3 * float(moved.abs().max())):
            raise Error(f"{type(optimizer).__name__} moves `{name}` otherwise where it is differentiated\n"
                        "hint: map(loss, model) without an optimizer shows the gradient's edges")
        value = value if slope is None else value - (update * slope).sum()
    found = torch.autograd.grad(value, list(clipped.values()), allow_unused=True) if value.requires_grad else [None] * len(leaves)
    # The slope of a square root at zero times zero: there a gradient of zero moves nothing.
    back = [torch.zeros_like(g) if seed is None else seed.nan_to_num(0.0, 0.0, 0.0) for g, seed in zip(leaves.values(), found)]
    seeds = torch.autograd.grad([g * factor for g in leaves.values()], list(leaves.values()), back)
    return before - after, {name: seed.double() for name, seed in zip(leaves, seeds)}


def _differentiable(params: dict[str, torch.Tensor], optimizer: torch.optim.Optimizer,
                    grads: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The update as a function of clipped gradients, by the optimizer's own differentiable step on copies."""
    if "differentiable" not in optimizer.defaults:
        raise Error(f"{type(optimizer).__name__} has no step that can be differentiated\n"
                    "hint: map(loss, model) without an optimizer shows the gradient's edges")
    twins = {id(p): p.detach().clone() for p in params.values()}
    names = {id(p): name for name, p in params.items()}
    other = copy.copy(optimizer)
    other.defaults = {**optimizer.defaults, "differentiable": True}
    other.param_groups = [{**group, "params": [twins[id(p)] for p in group["params"] if id(p) in twins],
                           "differentiable": True, "foreach": False, "fused": False} for group in optimizer.param_groups]
    other.state = defaultdict(dict, {twins[id(p)]: copy.deepcopy(state) for p, state in optimizer.state.items()
                                     if id(p) in twins})
    other._optimizer_step_pre_hooks = other._optimizer_step_post_hooks = {}
    for key, twin in twins.items():
        twin.grad = grads.get(names[key])
    type(optimizer).step(other)
    return {name: twins[id(p)] - p.detach() for name, p in params.items() if name in grads}
