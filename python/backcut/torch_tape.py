"""PyTorch: declared edges, one forward, and the backward graph of every cut.

    tape = backcut.torch.Tape()
    for t in tape.steps(64):
        h = cell(x[t], h)
        loss = loss + tape.loss(criterion(head(h), y[t]))
        h = tape.carry("h", h)              # what this step hands to the next
    found = tape.replay(loss, net, ["FF", "F_SG", "SEG-8"])

A tape hands back what it is given, so a forward under it is the forward without it. Only a backward asks what passes
each edge, and it may be asked again under another cut.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ._backcut import Error
from ._compare import compare
from ._replay import Replay
from ._step import Clip, steps
from ._tape import Kind, Lanes, mapped
from ._torch_edges import Attention, Crossing, Edge, Plan, Read, Record
from ._torch_graph import Marks, Undeclared, closed, ways
from ._torch_map import EdgeMap, Gates, edge_map

# Up to so many numbers in what an edge carries, lanes side by side are faster than one backward after another.
_SMALL = 1 << 14


def tensors_of(model: Any) -> dict[str, torch.Tensor]:
    """What learns, by name: of a module, of a mapping, or of several tensors."""
    if isinstance(model, torch.nn.Module):
        named: Iterable[tuple[str, Any]] = model.named_parameters()
    elif isinstance(model, Mapping):
        named = model.items()
    else:
        named = ((str(i), tensor) for i, tensor in enumerate(model))
    found = {name: p for name, p in named if p.requires_grad}
    if not found:
        raise Error("nothing learns: no tensor requires a gradient\nhint: give the module, or its tensors by name")
    return found


class Tape:
    """The declared edges of one rollout. Make a new one for every forward.

    `cut`: what a plain `loss.backward()` gives, full credit unless it is said. `draw`: a seed and an update, for
    cuts that are drawn. A step's number `t` is that of the loop `for t in tape.steps(n)`, unless it is given.
    """

    def __init__(self, cut: Any = "FF", draw: tuple[int, int] | None = None) -> None:
        self.record = Record(cut=str(cut), draw=draw)
        self.marks = Marks()
        self._states: list[torch.Tensor] = []
        self._entries: dict[str, dict[int, tuple[torch.Tensor, torch.Tensor | None]]] = {}
        self._sizes: list[int] = []

    # What a rollout declares.

    def steps(self, count: int) -> Iterator[int]:
        """Counts steps, and notes where each of them begins: then it can be told which credit passes by edges that
        nobody declared, and steps need no number."""
        try:
            for t in range(count):
                self.marks.begin(t)
                yield t
        finally:  # a loop may be left early
            self.marks.end()

    def step(self, t: int | None) -> None:
        """Says that step `t` begins here, where `steps` is no loop for you; `None` after the last one."""
        if t is None:
            self.marks.end()
        else:
            self.marks.begin(t)

    def loss(self, value: torch.Tensor, t: int | None = None) -> torch.Tensor:
        """Notes a step's loss. Then running totals are none of the ways by which credit reaches earlier steps."""
        self.marks.note(value, self._step(t))
        return value

    def carry(self, name: str, h: Any, t: int | None = None) -> Any:
        """What step `t` hands to the next one: a tensor, or any tree of them. Each is an edge, `h.0`, `h.c`.

        What step `t` itself still reads, it reads before this.
        """
        t = self._step(t)
        if isinstance(h, torch.Tensor):
            return self._edge(h, Kind.CARRIED, (name, t, None, False))
        return mapped(h, name, lambda x, leaf: self._edge(x, Kind.CARRIED, (leaf, t, None, False)))

    def projected(self, name: str, x: Any, t: int | None = None, read: int | None = None) -> Any:
        """What weights make of an edge, without their bias: what FD makes constant. Of what was carried as `name` from
        step `t` to the next; or, with the step that reads it, of what step `t` made."""
        t = self._step(t)

        def leaf(x: Any, leaf: str) -> Any:
            edges = self.record.edges
            whole = leaf if leaf in edges.kinds else name
            if t < 0:  # nothing was handed on yet, and nothing may be declared
                edges.made_constant.add(whole)
                return x
            if edges.kinds.get(whole) in (Kind.CARRIED, Kind.READ):
                edges.made_constant.add(whole)
                return self._edge(x, edges.kinds[whole], (whole, t, read, True))
            return self._edge(x, Kind.PROJECTED, (leaf, t, t + 1 if read is None else read, True))
        return mapped(x, name, leaf)

    def state(self, name: str, s: Any, t: int | None = None, decay: float = 1.0) -> Any:
        """A physical state that step `t` hands to the next one: any tree. `decay` scales its credit under every cut
        (`g_decay`, `grad_decay`)."""
        t = self._step(t)

        def leaf(x: Any, leaf: str) -> Any:
            if decay != 1.0:
                self.record.decays[leaf] = decay
            return self._edge(x, Kind.STATE, (leaf, t, None, False))
        return mapped(s, name, leaf)

    def edge(self, name: str, x: Any, made: int | None = None, read: int | None = None) -> Any:
        """Any value, which a cut can keep, scale or close by its name (`FF:name=D`); or, with the step that made it and
        the one that reads it, an edge of memory."""
        if (made is None) != (read is None):
            raise Error(f"`{name}` has a step that made it or one that reads it, and not both\n"
                        "hint: edge(name, x, made=j, read=t), or neither for a value")
        kind = Kind.VALUE if made is None else Kind.READ
        return mapped(x, name, lambda x, leaf: self._edge(x, kind, (leaf, made or 0, read, False)))

    def store(self, name: str, n: torch.Tensor, project: Callable[[torch.Tensor], torch.Tensor] | None = None,
              t: int | None = None) -> None:
        """Stores step `t`'s entry of a cache: what `project` makes of `n`, or `n` itself. `project` runs twice, for
        two sides with the same numbers; nothing is projected anew when it is read."""
        t = self._step(t)
        self.record.edges.declare(name, Kind.READ if project is None else Kind.STORED)
        self.record.see(t)
        entries = self._entries.setdefault(name, {})
        if t in entries:
            raise Error(f"step {t} stores `{name}` twice\nhint: make a new Tape for every forward")
        if project is None:
            entries[t] = n, None
            return
        near = project(n)
        far = project(n.detach()) if torch.is_grad_enabled() else near
        self._same(name, near, far)
        entries[t] = near, far

    def read(self, name: str, t: int | None = None, axis: int = 1, window: int | None = None) -> torch.Tensor:
        """What step `t` reads of a cache: the entries up to its own (or the last `window` of them), stacked."""
        t = self._step(t)
        entries = self._entries.get(name, {})
        first = min(entries, default=0) if window is None else max(min(entries, default=0), t + 1 - window)
        wanted = range(first, t + 1)
        missing = [j for j in wanted if j not in entries]
        if missing or not wanted:
            raise Error(f"step {t} reads `{name}` of step {missing[0] if missing else t}, which stored nothing\n"
                        "hint: store(name, n, project, t) comes first, at every step")
        sides = [entries[j] for j in wanted]
        self._sizes.append(sides[-1][0].numel() * len(sides))
        self.record.reads[name, t] = wanted
        has_far = [far for _, far in sides if far is not None]
        return _read(self.record, name, t, axis, wanted, *(near for near, _ in sides), *has_far)  # type: ignore[no-any-return]

    def attention(self, name: str, q: torch.Tensor, n: torch.Tensor,
                  project: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
                  mask: torch.Tensor | None = None, scale: float | None = None) -> torch.Tensor:
        """Causal attention of all steps at once, by `scaled_dot_product_attention`. `q`: queries `[..., step, width]`;
        `project` makes keys and values of that shape from the representations `n`. `mask`: of the pairs that are
        seen as well, True or a number that is added. The edges are `name.keys` and `name.values`."""
        near = project(n)
        far = project(n.detach()) if torch.is_grad_enabled() else near
        for side, a, b in zip(("keys", "values"), near, far):
            self._same(f"{name}.{side}", a, b)
            self.record.edges.declare(f"{name}.{side}", Kind.STORED)
        steps = near[0].shape[-2]
        if q.shape[-2] != steps or q.shape[:-2] != near[0].shape[:-2]:
            raise Error(f"`{name}` has queries of shape {tuple(q.shape)} and keys of shape {tuple(near[0].shape)}\n"
                        "hint: one query for every step and head; repeat keys that several heads share")
        if self.record.parallel.setdefault(f"{name}.keys", steps) != steps:
            raise Error(f"`{name}` has {steps} steps, and had {self.record.parallel[f'{name}.keys']}\n"
                        "hint: give every attention a name of its own")
        self.record.parallel[f"{name}.values"] = steps
        self.record.see(steps - 1)
        self._sizes.append(near[0].numel())
        if mask is not None:
            lower = torch.ones(steps, steps, dtype=torch.bool, device=q.device).tril()
            mask = mask & lower if mask.dtype == torch.bool else mask.masked_fill(~lower, -torch.inf)
        values = [q, *near, *far]
        if torch.is_autocast_enabled(q.device.type):
            values = [x.to(torch.get_autocast_dtype(q.device.type)) for x in values]
        return _attend(self.record, name, q.shape[-1]**-0.5 if scale is None else scale, mask, *values)  # type: ignore[no-any-return]

    def _step(self, t: int | None) -> int:
        if t is not None:
            return t
        if self.marks.step is None:
            raise Error("no step has begun here\nhint: for t in tape.steps(n): ..., or give the step's number")
        return self.marks.step

    def _edge(self, x: Any, kind: Kind, crossing: Crossing) -> Any:
        if torch.compiler.is_compiling():
            return _outside(self, x, kind, crossing)
        name = crossing[0]
        if not isinstance(x, torch.Tensor):
            if isinstance(x, (int, float, bool, str)):
                return x
            raise Error(f"`{name}` is a {type(x).__name__}, of which credit can not be followed\n"
                        "hint: hand in tensors, or tuples, lists and dictionaries of them")
        record = self.record
        if record.edges.kinds.get(name) is not kind:
            record.edges.declare(name, kind)
        record.cross(crossing)
        if not (x.requires_grad and torch.is_grad_enabled()):
            return x
        serial = -1
        if kind is Kind.STATE:
            serial = len(self._states)
            self._states.append(x)
        self._sizes.append(x.numel())
        return _applied(x, record, crossing, serial)

    def _same(self, name: str, near: torch.Tensor, far: torch.Tensor) -> None:
        if near is not far and not torch.equal(near.detach(), far.detach()) and not near.isnan().any():
            raise Error(f"`{name}` is projected to other numbers the second time\n"
                        "hint: keep what is random (dropout) out of `project`")

    # Backward graphs.

    def gradients(self, loss: torch.Tensor, model: Any, cuts: Sequence[Any], draw: tuple[int, int] | None = None,
                  lanes: bool | None = None) -> dict[str, dict[str, torch.Tensor | None]]:
        """The gradient of every cut, by name; `None` where no credit arrives under it.

        `draw`: a seed and an update, for cuts that are drawn. `lanes`: all cuts in one backward, side by side, which
        needs the memory of them all; by default where what edges carry is small, and every operation allows it.
        """
        params, record = tensors_of(model), self.record
        if loss.numel() != 1:
            raise Error(f"a loss of shape {tuple(loss.shape)}\nhint: one number, such as its mean")
        names = list(dict.fromkeys(str(cut) for cut in ([cuts] if isinstance(cuts, str) else cuts)))
        if not names:
            raise Error("there is no cut\nhint: [\"FF\", \"F_SG\"]")
        found = [record.edges.credit(name, draw) for name in names]
        side_by_side = lanes if lanes is not None else len(found) > 2 and self._are_small()
        if side_by_side:
            try:
                return dict(zip(names, self._by_lanes(loss, params, Lanes(found))))
            except RuntimeError:
                # Some operation can not be differentiated side by side: compiled code, a function without the rule.
                if lanes:
                    raise
        return {name: self._one(loss, params, Plan(record, [cut])) for name, cut in zip(names, found)}

    def _are_small(self) -> bool:
        return bool(self._sizes) and sorted(self._sizes)[len(self._sizes) // 2] <= _SMALL

    def _by_lanes(self, loss: torch.Tensor, params: dict[str, torch.Tensor], lanes: Lanes) -> list[Any]:
        reached: list[str] = []

        def back(seed: torch.Tensor) -> list[torch.Tensor]:
            slopes = torch.autograd.grad(loss, list(params.values()), seed.reshape(loss.shape), retain_graph=True,
                                         allow_unused=True)
            reached.extend(name for name, slope in zip(params, slopes) if slope is not None)
            return [slope for slope in slopes if slope is not None]
        plan = Plan(self.record, lanes.cuts, lanes)
        with self.under(plan):
            each = dict(zip(reached, plan.gradients(back, loss)))
        return [{name: each[name][of].sum(0) if name in each else None for name in params} for of in lanes.sums()]

    def _one(self, loss: torch.Tensor, params: dict[str, torch.Tensor], plan: Plan) -> dict[str, torch.Tensor | None]:
        """One cut: one backward, or as many as states may be passed on the way, each from where the last one ended."""
        total: list[torch.Tensor | None] = [None] * len(params)
        roots, seeds = [loss], [torch.ones_like(loss)]
        with self.under(plan):
            for left in range(plan.credits[0].most or 0, -1, -1):
                slopes = torch.autograd.grad(roots, list(params.values()), seeds, retain_graph=True, allow_unused=True)
                total = [b if a is None else a if b is None else a + b for a, b in zip(total, slopes)]
                if not (plan.caught and left):
                    break
                roots, seeds = [self._states[serial] for serial in plan.caught], list(plan.caught.values())
                plan.caught = {}
        return dict(zip(params, total))

    @contextlib.contextmanager
    def under(self, plan: Plan) -> Iterator[None]:
        """Backwards inside the block follow a plan."""
        before, self.record.plan = self.record.plan, plan
        try:
            yield
        finally:
            self.record.plan = before

    def replay(self, loss: torch.Tensor, model: Any, cuts: Sequence[Any],
               optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None, clip: Clip = None, *,
               draw: tuple[int, int] | None = None, lanes: bool | None = None, **options: Any) -> Replay:
        """The gradients of many cuts from the one forward that was recorded, compared with the first cut's; with an
        optimizer also the updates that it makes of them, by its own step on a snapshot.

        `clip`: the largest global norm, or a function that changes the parameters' `grad` as your own step does.
        `draw`: a seed and an update, for cuts that are drawn. `options` go to `backcut.compare`. The graph stays: your
        own `loss.backward()` may follow.
        """
        params = tensors_of(model)
        found = self.gradients(loss, params, cuts, draw, lanes)
        updates = None
        if optimizer is not None:
            made = steps(params, optimizer, found, clip)
            updates = {cut: arrays(step.update, params) for cut, step in made.items()}
            options["optimizer"] = " and ".join(type(one).__name__ for one in (
                [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else optimizer))
        compared = compare(arrays(params, params), {cut: arrays(grad, params) for cut, grad in found.items()},
                           updates=updates, **options)
        undeclared, why_not = self._undeclared(loss, params)
        return Replay(float(loss.detach()), found, compared, self._declared(), undeclared, why_not)  # type: ignore[arg-type]

    def _declared(self) -> dict[str, str]:
        counts: dict[str, int] = {}
        for (name, *_), count in self.record.crossings.items():
            counts[name] = counts.get(name, 0) + count
        for (name, _), entries in self.record.reads.items():
            counts[name] = counts.get(name, 0) + len(entries)
        for name, count in self.record.parallel.items():
            counts[name] = counts.get(name, 0) + count * (count + 1) // 2
        return {name: f"{kind.value}, {counts.get(name, 0)} times" for name, kind in self.record.edges.kinds.items()}

    def undeclared(self, loss: torch.Tensor, model: Any) -> Undeclared | None:
        """Credit that reaches earlier steps by edges that nobody declared; `None` if no step was marked."""
        return self._undeclared(loss, tensors_of(model))[0]

    def _undeclared(self, loss: torch.Tensor, params: dict[str, torch.Tensor]) -> tuple[Undeclared | None, str]:
        if not self.marks.are_known:
            return None, "not looked for; where a loop over steps is `for t in tape.steps(n)` it is told here"
        found = ways(self.record, self.marks, loss)
        if not found:
            return Undeclared(0.0, ()), ""
        full = Plan(self.record, [self.record.edges.credit("FF")])
        whole = self._one(loss, params, full)
        hooks = closed(found)
        try:
            without = self._one(loss, params, full)
        finally:
            for hook in hooks:
                hook.remove()
        squares = [(g.double().square().sum(), (g - (0 if h is None else h)).double().square().sum())
                   for g, h in zip(whole.values(), without.values()) if g is not None]
        length, lost = (float(sum(column)) ** 0.5 for column in zip(*squares))
        pairs = tuple(dict.fromkeys((way.t, way.j) for way in found))
        return Undeclared(lost / length if length else 0.0, pairs, found[0].node.name()), ""


    def without(self, loss: torch.Tensor, model: Any, edges: Iterable[tuple[str, int, int]]) -> dict[str, torch.Tensor | None]:
        """The gradient with single edges closed: of each its name, the step that reads and the one that made."""
        gates = Gates(self.record, loss.device)
        for name, read, made in edges:
            gates.close(name, read, made)
        return self._one(loss, tensors_of(model), gates)

    def map(self, loss: torch.Tensor, model: Any, optimizer: torch.optim.Optimizer | None = None,
            clip: float | None = None, held: Callable[[], torch.Tensor] | None = None) -> EdgeMap:
        """What every single edge carries, of the gradient and, with an optimizer and a loss that is held out, of what
        the next update does to it: one differentiation of the backward. Exact for closing any one edge (of the
        held-out loss: to first order); singles do not add up."""
        return edge_map(self.record, self.under, loss, tensors_of(model), optimizer, clip, held)


def arrays(tensors: Mapping[str, torch.Tensor | None], like: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Arrays in one precision: double if any parameter has it, else single. Zeros for what is not there."""
    dtype = torch.float64 if any(p.dtype == torch.float64 for p in like.values()) else torch.float32
    return {name: (torch.zeros_like(p) if (x := tensors[name]) is None else x).detach().to("cpu", dtype).numpy().copy()
            for name, p in like.items()}


# Called at every step of a rollout.
_applied = Edge.apply
# Compiled code would remember what the cut was when it was compiled: there a graph ends at a tape's calls.
_outside = torch.compiler.disable(Tape._edge)
_read = torch.compiler.disable(Read.apply)
_attend = torch.compiler.disable(Attention.apply)
