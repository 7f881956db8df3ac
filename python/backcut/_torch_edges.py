"""Identities whose backward asks what passes: the autograd functions of a tape, and what they ask.

A recorded graph holds a `Record` and numbers, never a tape: a tape holds tensors of the graph, and a circle through the
graph would never be freed.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import torch
from torch.autograd import Function

from ._backcut import Error
from ._tape import Credit, Edges, Kind, Lanes

Tables = tuple[torch.Tensor, torch.Tensor]


# Where an edge is crossed: its name, the step that made it, the step that reads it (`None`: the next one), and whether
# it is what weights made of it.
Crossing = tuple[str, int, Optional[int], bool]


@dataclass
class Record:
    """What a rollout declared, and the plan of the backward that runs."""

    edges: Edges = field(default_factory=Edges)
    crossings: dict[Crossing, int] = field(default_factory=dict)
    reads: dict[tuple[str, int], range] = field(default_factory=dict)
    parallel: dict[str, int] = field(default_factory=dict)
    decays: dict[str, float] = field(default_factory=dict)
    cut: str = "FF"
    draw: tuple[int, int] | None = None
    plan: Plan | None = None
    _own: Plan | None = None

    def cross(self, crossing: Crossing) -> None:
        count = self.crossings.get(crossing, 0)
        self.crossings[crossing] = count + 1
        if not count:
            self.see(crossing[1] if crossing[2] is None else max(crossing[1], crossing[2]))

    def see(self, t: int) -> None:
        # What the last step hands on is read by one more.
        if t + 2 > self.edges.steps:
            self.edges.steps = t + 2

    def now(self) -> Plan | None:
        """The plan that was put in place, or that of a plain backward."""
        if self.plan is not None:
            return self.plan
        if self.cut == "FF" and not self.decays:
            return None
        if self._own is None or self._own.steps != self.edges.steps:
            found = self.edges.credit(self.cut, self.draw)
            if found.most:
                raise Error(f"{found.cut} counts the states that a path passes, for which a plain backward has no room\n"
                            "hint: replay(loss, model, cuts) honours it")
            self._own = Plan(self, [found])
        return self._own


class Plan:
    """What passes every edge: for one cut, or for the lanes of several in a backward that is vmapped over them."""

    def __init__(self, record: Record, cuts: Sequence[Credit], lanes: Lanes | None = None) -> None:
        self.record, self.lanes, self.steps = record, lanes, record.edges.steps
        self.credits = [cuts[c] for c, _ in lanes.of] if lanes else list(cuts)
        self.shares: dict[Crossing, Any] = {}
        self.rows: dict[tuple[str, int], list[tuple[Any, Any]]] = {}
        self.tables: dict[str, Tables | None] = {}
        # Of states that one backward may not pass: what arrived there.
        self.caught: dict[int, torch.Tensor] | None = {} if lanes is None and cuts[0].most else None
        # Shares that differ between lanes, a column each, and what a vmapped backward sees of it.
        self.columns: dict[tuple[float, ...], int] = {}
        self.batched: torch.Tensor | None = None
        self._seen: dict[Any, Any] = {}

    def crossed(self, crossing: Crossing, serial: int, g: torch.Tensor) -> torch.Tensor | None:
        """What is left of the gradient at a crossing. `serial`: which state edge it is, -1 if it is none."""
        share = self.shares.get(crossing)
        if share is None:
            share = self.shares[crossing] = self._of(crossing)
        left = self.passed(g, share)
        if self.caught is None or serial < 0 or crossing[1] < 0 or not self.credits[0].states[crossing[0]][1]:
            return left
        if left is not None:
            self.caught[serial] = left
        return None

    def _of(self, crossing: Crossing) -> Any:
        name, made, read, is_weights = crossing
        kind = self.record.edges.kinds[name]
        if made < 0:  # what stands before the first step was stored by none
            return 1.0
        if kind is Kind.VALUE:
            return self.share([found.values[name] for found in self.credits])
        if kind is not Kind.STATE:
            at = made if read is None else (read, made)
            return self.share([float((found.weights if is_weights else found.stored)[name][at])
                               for found in self.credits])
        decay = self.record.decays.get(name, 1.0)
        if self.lanes is None:
            factor, counts = self.credits[0].states[name]
            return 0.0 if counts and self.credits[0].most == 0 else factor * decay
        lanes, factors = self.lanes.passed(name)
        factors = [factor * decay for factor in factors]
        return self.share(factors) if lanes == list(range(len(lanes))) else _Moved(lanes, factors)

    def share(self, shares: Sequence[float]) -> Any:
        """A number, or the column of numbers that differ between lanes."""
        if all(share == shares[0] for share in shares):
            return shares[0]
        return _Column(self.columns.setdefault(tuple(shares), len(self.columns)))

    def passed(self, g: torch.Tensor, share: Any) -> torch.Tensor | None:
        """What a share leaves of a gradient."""
        if type(share) is float:
            return g if share == 1.0 else None if share == 0.0 else g * share
        if type(share) is _Column:
            key = g.dtype, g.device
            if key not in self._seen:
                assert self.batched is not None
                self._seen[key] = self.batched.to(g).unbind(0)
            return g * self._seen[key][share.index]  # type: ignore[no-any-return]
        if type(share) is _Moved:
            return _Move.apply(g, share)  # type: ignore[no-any-return]
        return g * share.to(g)  # type: ignore[no-any-return]

    def row(self, name: str, t: int, entries: range) -> list[tuple[Any, Any]]:
        """Shares of what step `t` reads: of the side through what was stored, and of the side through weights alone."""
        if (name, t) not in self.rows:
            found = [(cut.stored[name][t], cut.weights[name][t]) for cut in self.credits]
            self.rows[name, t] = [
                (self.share([float(stored[j]) for stored, _ in found]),
                 self.share([float(weights[j] - stored[j]) for stored, weights in found])) for j in entries]
        return self.rows[name, t]

    def table(self, name: str, steps: int, like: torch.Tensor) -> Tables | None:
        """The same for all pairs of steps at once; `None` where all credit passes by what was stored."""
        if name not in self.tables:
            lower = [(torch.from_numpy(cut.stored[name][:steps, :steps]).tril(),
                      torch.from_numpy((cut.weights[name] - cut.stored[name])[:steps, :steps]).tril())
                     for cut in self.credits]
            is_full = all(bool((near == torch.ones_like(near).tril()).all()) for near, _ in lower)
            near, far = (torch.stack(side) if self.lanes else side[0] for side in zip(*lower))
            self.tables[name] = None if is_full else (near, far)
        tables = self.tables[name]
        if tables is None:
            return None
        key = name, like.dtype, like.device
        if key not in self._seen:
            self._seen[key] = tables[0].to(like), tables[1].to(like)
        return self._seen[key]  # type: ignore[no-any-return]

    def gradients(self, back: Callable[[torch.Tensor], list[torch.Tensor]], like: torch.Tensor) -> list[torch.Tensor]:
        """Of every lane, by one backward. `back` takes the seed of the loss."""
        assert self.lanes is not None
        record = self.record
        # All columns are known before the backward begins.
        for crossing in record.crossings:
            self.shares[crossing] = self._of(crossing)
        for (name, t), entries in record.reads.items():
            self.row(name, t, entries)
        for name, steps in record.parallel.items():
            self.table(name, steps, like)
        seeds = torch.tensor(self.lanes.seeds(), dtype=like.dtype, device=like.device)
        columns = torch.tensor(list(self.columns) or [[0.0] * len(self.lanes.of)], dtype=torch.float64,
                               device=like.device).transpose(0, 1)
        whole = self.tables
        given = {name: tables for name, tables in whole.items() if tables is not None}

        def one(seed: torch.Tensor, columns: torch.Tensor, tables: dict[str, Tables]) -> list[torch.Tensor]:
            self.batched, self.tables, self._seen = columns, {**whole, **tables}, {}
            return back(seed)
        try:
            return torch.func.vmap(one)(seeds, columns, given)  # type: ignore[no-any-return]
        finally:
            self.batched, self.tables, self._seen = None, whole, {}


@dataclass(frozen=True)
class _Column:
    index: int


class _Moved:
    """For every lane of a state edge, the lane whose credit it brings and how much of it."""

    def __init__(self, lanes: list[int], factors: list[float]) -> None:
        self.lanes, self.factors = torch.tensor(lanes), torch.tensor(factors, dtype=torch.float64)


class _Move(Function):
    """Sees the lanes of a vmapped backward, and moves credit from one to the next."""

    @staticmethod
    def forward(x: torch.Tensor, moved: _Moved) -> torch.Tensor:
        raise Error("credit moves between lanes in a vmapped backward alone")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: torch.Tensor, moved: _Moved) -> tuple[torch.Tensor, int]:
        x = x.movedim(in_dims[0], 0)
        factors = moved.factors.to(x).view(-1, *[1] * (x.dim() - 1))
        return x.index_select(0, moved.lanes.to(x.device)) * factors, 0


# Where something asks what a graph would carry with its stops open (`reach`): the places that were passed so.
asked_open: list[dict[str, None]] = []


class Edge(Function):
    """The value itself. Its credit is what the plan leaves of it; where that is nothing, nothing is sent on."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, record: Record, crossing: Crossing, serial: int) -> torch.Tensor:
        ctx.asked = record, crossing, serial
        ctx.set_materialize_grads(False)
        # No view of `x`, which could not be written into.
        return x.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        record, crossing, serial = ctx.asked
        g, plan = grads[0], record.now()
        if asked_open and plan is not None:
            asked_open[-1].setdefault(f"the tape's cut of `{crossing[0]}`")
            plan = None
        return (g if plan is None or g is None else plan.crossed(crossing, serial, g)), None, None, None


class Scaled(Function):
    """The value itself, with a share of its credit."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, share: float) -> torch.Tensor:
        ctx.share = share
        return x.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if asked_open:
            asked_open[-1].setdefault(f"a share of {ctx.share:g}")
            return grads[0], None
        return grads[0] * ctx.share, None


class Read(Function):
    """Entries of a cache, stacked. The credit of each goes to its two sides as the plan says."""

    @staticmethod
    def forward(ctx: Any, record: Record, name: str, t: int, axis: int, entries: range, *sides: Any) -> torch.Tensor:
        ctx.record, ctx.asked, ctx.axis, ctx.has_far = record, (name, t, entries), axis, len(sides) > len(entries)
        ctx.set_materialize_grads(False)
        return torch.stack(sides[:len(entries)], axis)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (name, t, entries), g, plan = ctx.asked, grads[0], ctx.record.now()
        none = [None] * len(entries)
        near: list[Any] = none if g is None else list(g.unbind(ctx.axis))
        far: list[Any] = none
        if plan is not None and g is not None:
            row, whole = plan.row(name, t, entries), near
            near = [plan.passed(x, share) for x, (share, _) in zip(whole, row)]
            far = [plan.passed(x, share) for x, (_, share) in zip(whole, row)] if ctx.has_far else none
        return (None,) * 5 + (*near, *(far if ctx.has_far else ()))


# How many scores of a head are held at once where a derivative is taken.
_SCORES = 1 << 22


class Attention(Function):
    """Causal attention of all steps at once, forwards by the fused kernel. Backwards every pair's credit for key and
    value goes to one side or the other; the pair's scores are made again."""

    @staticmethod
    def forward(ctx: Any, record: Record, name: str, scale: float, mask: Optional[torch.Tensor], q: torch.Tensor,
                k: torch.Tensor, v: torch.Tensor, far_k: torch.Tensor, far_v: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(q, k, v, mask)
        ctx.record, ctx.name, ctx.scale = record, name, scale
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scale)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        q, k, v, mask = ctx.saved_tensors
        dtype, wide = q.dtype, torch.float64 if q.dtype == torch.float64 else torch.float32
        g, q, k, v = (x.to(wide) for x in (grads[0], q, k, v))
        steps, plan = k.shape[-2], ctx.record.now()
        sides = [None if plan is None else plan.table(f"{ctx.name}.{side}", steps, q) for side in ("keys", "values")]
        many = max(1, _SCORES // (steps * q[..., 0, 0].numel()))
        of_queries, others = [], [None] * 4
        for first in range(0, steps, many):
            rows = slice(first, first + many)
            cut = [None if tables is None else tuple(table[rows] for table in tables) for tables in sides]
            query, *found = _slopes(q[..., rows, :], k, v, g[..., rows, :], _seen(mask, rows, steps, q), ctx.scale, cut)
            of_queries.append(query)
            others = [b if a is None else a if b is None else a + b for a, b in zip(others, found)]
        slopes = [torch.cat(of_queries, -2) if len(of_queries) > 1 else of_queries[0], *others]
        return (None,) * 4 + tuple(None if x is None else x.to(dtype) for x in slopes)


def _seen(mask: torch.Tensor | None, rows: slice, steps: int, like: torch.Tensor) -> torch.Tensor:
    if mask is not None:
        return mask if mask.shape[-2] == 1 else mask[..., rows, :]
    return torch.ones(steps, steps, dtype=torch.bool, device=like.device).tril()[rows]


def _slopes(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, seen: torch.Tensor, scale: float,
            sides: Sequence[Any]) -> list[torch.Tensor | None]:
    """Gradients of queries, keys, values, and of the far sides of keys and values."""
    scores = q @ k.transpose(-1, -2) * scale
    scores = scores.masked_fill(~seen, -math.inf) if seen.dtype == torch.bool else scores + seen
    # A row that sees nothing attends to nothing.
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    of_weights = g @ v.transpose(-1, -2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True)) * scale
    to_keys = lambda pairs: pairs.transpose(-1, -2) @ q
    to_values = lambda pairs: pairs.transpose(-1, -2) @ g
    found = [(to(pairs), None) if tables is None else (to(pairs * tables[0]), to(pairs * tables[1]))
             for to, pairs, tables in ((to_keys, of_scores, sides[0]), (to_values, weights, sides[1]))]
    return [of_scores @ k, found[0][0], found[1][0], found[0][1], found[1][1]]
