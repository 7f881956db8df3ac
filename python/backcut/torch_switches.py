"""PyTorch: every detach and `no_grad` block of an unchanged training step as a switch.

    with backcut.torch.switches(optimizer, clip=1.0, held=lambda: loss(net, held_out)) as s:
        train_step()
    print(s)                    # what opening each of them does to the gradient, the update and the held-out loss

The step runs as it always does: its gradients and updates are those of the untouched program, bit for bit. Behind what
stands in the way of credit the graph is kept, and what arrives there goes on when the step's `backward` is asked again.
Not seen: what a compiled function stops inside, `torch.inference_mode`, and what leaves PyTorch and comes back
(`.numpy()`, `.item()`).
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import Function
from torch.overrides import TorchFunctionMode

from ._backcut import Error
from ._step import Clip, steps
from ._table import Table
from ._tape import Kind
from ._torch_edges import Plan
from ._torch_graph import nodes
from .torch_tape import Tape

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OF_BLOCKS = tuple(os.path.join(_TORCH, *of) for of in (("autograd", "grad_mode.py"), ("utils", "_contextlib.py")))
_LEAVES = ("numpy", "__array__", "__deepcopy__", "__reduce_ex__")


@dataclass
class Switch:
    """A place where a program stops credit. `calls`: how often it was passed. `reached`: whether credit arrives there.
    `note`: why it can not be opened."""

    kind: str
    file: str
    line: int
    calls: int = 0
    reached: bool = False
    note: str = ""

    @property
    def place(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


class _Gate(Function):
    """A value that was stopped: a number for the program, behind which there is nothing. What arrives here goes on,
    from the stopped value's own graph, when its switch is asked for."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, leaf: torch.Tensor, switch: Switch, asked: list[Switch]) -> torch.Tensor:
        ctx.switch, ctx.asked = switch, asked
        ctx.set_materialize_grads(False)
        if x is leaf:
            return leaf.detach()
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if grads[0] is not None:
            ctx.switch.reached = True
        return None, grads[0] if any(ctx.switch is one for one in ctx.asked) else None, None, None


class _Same(Function):
    """The value itself, no view of it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


@dataclass
class _Arm:
    """One way to differentiate: a switch opened, a declared edge closed, or the program as it is."""

    opened: Switch | None = None
    plan: Plan | None = None
    grads: dict[int, torch.Tensor] = field(default_factory=dict)


class switches(TorchFunctionMode):
    """Lists what stops credit in the block, and says what opening each of it would do.

    `optimizer` (one or several), `clip` (the largest global norm, or a function that changes `grad` as your step does)
    and `held` (a loss on a batch that is held out) add what becomes of the update; they are asked at the optimizer's
    first step in the block. `tape`: closing each of its declared edges is shown beside them. The block needs the memory
    of a graph in which nothing is detached.
    """

    def __init__(self, optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None, clip: Clip = None,
                 held: Callable[[], Any] | None = None, tape: Tape | None = None) -> None:
        super().__init__()
        if (clip is not None or held is not None) and optimizer is None:
            raise Error("a clip or a held-out loss without an optimizer\nhint: switches(optimizer, clip=..., held=...)")
        self.optimizers = ([] if optimizer is None else [optimizer] if isinstance(optimizer, torch.optim.Optimizer)
                           else list(optimizer))
        self.clip, self.held, self.tape = clip, held, tape
        self.found: dict[tuple[str, str, int], Switch] = {}
        self.why_no_update = "" if self.optimizers else "no optimizer was given"
        # Of every switch the values that it stopped: with their graphs, and as the leaves that the program went on with.
        self._stopped: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        self._leaves: set[int] = set()
        self._kept: list[torch.Tensor] = []
        self._asked: list[Switch] = []
        self._off: Switch | None = None
        self._busy = self._ended = False
        self._params: dict[int, torch.Tensor] = {}
        self._arms: dict[str, _Arm] = {}
        self._made: Any = None
        self._undo: list[Callable[[], Any]] = []

    # What the block runs.

    def __enter__(self) -> switches:
        self._own_backward = torch.autograd.backward
        torch.autograd.backward = self._backward
        self._own_enabled = torch.is_grad_enabled
        torch.is_grad_enabled = self._is_enabled
        for optimizer in self.optimizers:
            self._undo.append(optimizer.register_step_pre_hook(lambda *_: self._step()).remove)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        torch.autograd.backward, torch.is_grad_enabled = self._own_backward, self._own_enabled
        for undo in self._undo:
            undo()
        self._ended = True
        self._stopped.clear()
        self._kept.clear()
        if self.optimizers and self._made is None and not self.why_no_update:
            self.why_no_update = "the optimizer made no step in the block"

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self._busy:
            return func(*args, **kwargs)
        if name == "_set_grad_enabled":
            return self._switched(func, *args)
        x = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if self._off is not None and ("out" in kwargs or _writes(name)):
            torch._C._set_grad_enabled(False)
            try:
                return func(*args, **kwargs)
            finally:
                torch._C._set_grad_enabled(True)
        if x is not None and x.requires_grad and self._own_enabled():
            if func is torch.Tensor.detach:
                return self._gated(x, self._at("detach"))
            if func is torch.Tensor.detach_ and x.grad_fn is not None and not x._is_view():
                return self._gated(x, self._at("detach_"), inside=True)
            if name == "__get__" and func == torch.Tensor.data.__get__ and x.grad_fn is not None:
                return self._gated(x, self._at("data"))
            if name in _LEAVES:
                args = x.detach(), *args[1:]
            if func is torch.Tensor.requires_grad_ and x.grad_fn is not None:
                x.retain_grad()
                self._kept.append(x)
                return x
        result = func(*args, **kwargs)
        if self._off is None:
            return result
        block = self._off
        return _each(result, lambda y: self._gated(y, block) if y.requires_grad and y is not x else y)

    def _switched(self, func: Any, on: bool) -> Any:
        frame = _caller(sys._getframe(1))
        if frame is None or not self._own_enabled():
            return func(on)
        if on:
            self._off = None
        elif self._off is None:
            self._off = self._at("no_grad", frame)
            self._off.calls += 1
        return None

    def _is_enabled(self) -> bool:
        """Inside a block that is a switch a program sees what it would see; PyTorch's own blocks restore what is."""
        frame = sys._getframe(1)
        if self._off is None or frame.f_code.co_filename in _OF_BLOCKS and _caller(frame) is None:
            return self._own_enabled()
        return False

    def _at(self, kind: str, place: tuple[str, int] | None = None) -> Switch:
        file, line = place or _outside(sys._getframe(2))
        return self.found.setdefault((kind, file, line), Switch(kind, file, line))

    def _gated(self, x: torch.Tensor, switch: Switch, inside: bool = False) -> torch.Tensor:
        if switch.kind != "no_grad":
            switch.calls += 1
        behind = _Same.apply(x) if inside else x
        leaf = x.detach().requires_grad_()
        self._stopped.setdefault(id(switch), []).append((behind, leaf))
        self._leaves.add(id(leaf))
        if not inside:
            return _Gate.apply(leaf, leaf, switch, self._asked)  # type: ignore[no-any-return]
        # Nothing is written: what was saved of `x` stays good.
        with torch.autograd._unsafe_preserve_version_counter(x):
            return _Gate.apply(x.detach_(), leaf, switch, self._asked)  # type: ignore[no-any-return]

    # What is asked once more.

    def _backward(self, tensors: Any, grad_tensors: Any = None, retain_graph: Any = None, create_graph: bool = False,
                  grad_variables: Any = None, inputs: Any = None) -> None:
        self._own_backward(tensors, grad_tensors, True, create_graph, inputs=inputs)
        if self._busy or self._made is not None:
            return
        self._busy, grads = True, [x.grad for x in self._kept]
        try:
            roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
            given = [grad_tensors] if isinstance(grad_tensors, torch.Tensor) else list(grad_tensors or [])
            seeds = [torch.ones_like(root) if g is None else g for root, g in zip(roots, given or [None] * len(roots))]
            only = None if inputs is None else {id(x) for x in ([inputs] if isinstance(inputs, torch.Tensor) else inputs)}
            for arm in self._ways():
                try:
                    found = self._gradients(roots, seeds, arm)
                except RuntimeError as error:
                    if arm.opened is None or "modified by an inplace operation" not in str(error):
                        raise
                    arm.opened.note = "behind it lie numbers that were changed since, by an update or in place"
                    continue
                for leaf, g in found:
                    if only is None or id(leaf) in only:
                        self._params[id(leaf)] = leaf
                        arm.grads[id(leaf)] = arm.grads[id(leaf)] + g if id(leaf) in arm.grads else g
        finally:
            self._busy = False
            for x, grad in zip(self._kept, grads):
                x.grad = grad

    def _gradients(self, roots: list[torch.Tensor], seeds: list[torch.Tensor], arm: _Arm) -> list[Any]:
        """What arrives at every leaf. From an open switch it goes on, as often as one lies behind another."""
        stopped = self._stopped.get(id(arm.opened), []) if arm.opened else []
        starts = [*roots, *(x for x, _ in stopped)]
        ends = {id(x): x for x in starts if x.grad_fn is None}
        for node in nodes({x.grad_fn: None for x in starts if x.grad_fn is not None}):
            if hasattr(node, "variable"):
                ends.setdefault(id(node.variable), node.variable)
        leaves = [leaf for key, leaf in ends.items() if key not in self._leaves]
        total: list[Any] = []
        record = self.tape.record if self.tape and arm.plan else None
        before = record.plan if record else None
        self._asked[:] = [arm.opened] if arm.opened else []
        try:
            if record:
                record.plan = arm.plan
            wanted = leaves + [leaf for _, leaf in stopped]
            while roots and wanted:
                slopes = torch.autograd.grad(roots, wanted, seeds, retain_graph=True, allow_unused=True)
                total += [(leaf, g) for leaf, g in zip(leaves, slopes) if g is not None]
                onwards = [(x, g) for (x, _), g in zip(stopped, slopes[len(leaves):]) if g is not None]
                roots, seeds = [x for x, _ in onwards], [g for _, g in onwards]
        finally:
            self._asked.clear()
            if record:
                record.plan = before
        return total

    def _ways(self) -> Iterator[_Arm]:
        """The program as it is, every switch that credit reaches opened, every declared edge closed."""
        # An arm that was not there before differed in nothing until now.
        base = self._arms.get("as it is", _Arm()).grads
        for name, arm in self._named():
            self._arms.setdefault(name, _Arm(arm.opened, grads=dict(base))).plan = arm.plan
        # The program itself comes last: what is copied from it above is that of before.
        yield from sorted(self._arms.values(), key=lambda arm: arm.opened is None and arm.plan is None)

    def _named(self) -> Iterator[tuple[str, _Arm]]:
        yield "as it is", _Arm()
        for switch in self.switches:
            if switch.reached:
                yield f"open {switch}", _Arm(opened=switch)
        if self.tape is not None:
            edges = self.tape.record.edges
            for name, kind in edges.kinds.items():
                how = "D" if kind in (Kind.STATE, Kind.VALUE, Kind.PROJECTED) else "SG"
                yield f"close {name}", _Arm(plan=Plan(self.tape.record, [edges.credit(f"FF:{name}={how}")]))

    def _step(self) -> None:
        if self._busy or self._made is not None or not self._arms:
            return
        whole = {str(id(p)): p for one in self.optimizers for group in one.param_groups for p in group["params"]
                 if p.requires_grad}
        grads = {arm: {name: way.grads.get(int(name)) for name in whole} for arm, way in self._arms.items()}
        self._busy = True
        try:
            made = steps(whole, self.optimizers, grads, self.clip, self._look if self.held else None)
        finally:
            self._busy = False
        ours = made["as it is"].clipped
        # A norm that sums its tensors in another order is another by rounding.
        off = [name for name, p in whole.items() if _apart(p.grad, ours[name]) > 64 * torch.finfo(p.dtype).eps]
        if off:
            self.why_no_update = ("the gradient of your step is not what this clip makes of the losses' (clipped or scaled "
                                  "elsewhere?)")
            return
        self._made = made

    def _look(self) -> float:
        assert self.held is not None
        with torch.no_grad():
            return float(self.held())

    # What was found.

    @property
    def switches(self) -> list[Switch]:
        """All of them, in the order of their lines."""
        return sorted(self.found.values(), key=lambda switch: (switch.file, switch.line))

    @property
    def table(self) -> Table:
        """A row per switch that credit reaches and per declared edge. `gradient`, `clipped` and `update`: their length
        with it opened (a declared edge: closed) over that of the program as it is, beside the cosine of the two.
        `held`: what it adds to the loss that is held out, after the update."""
        if not self._ended:
            raise Error("there is a result once the block has ended")
        base = self._arms.get("as it is", _Arm()).grads
        rows = []
        place = lambda arm: (arm.opened is None, arm.opened and (arm.opened.file, arm.opened.line))
        for name, arm in sorted(self._arms.items(), key=lambda item: place(item[1])):
            if name == "as it is":
                continue
            row: dict[str, Any] = {"switch": name, "calls": arm.opened.calls if arm.opened else None}
            if arm.opened is not None and arm.opened.note:
                row["note"] = arm.opened.note
                rows.append(row)
                continue
            keys = list(base | arm.grads)
            row["gradient"], row["cosine"] = _beside([arm.grads.get(k) for k in keys], [base.get(k) for k in keys])
            if self._made is not None:
                one, other = self._made[name], self._made["as it is"]
                row["clipped"], _ = _beside(list(one.clipped.values()), list(other.clipped.values()))
                row["update"], row["update cosine"] = _beside(list(one.update.values()), list(other.update.values()))
                if self.held is not None:
                    row["held"] = one.after - other.after
            rows.append(row)
        asked = {id(arm.opened) for arm in self._arms.values()}
        rows += [{"switch": f"open {switch}", "calls": switch.calls, "note": "reached after the first update alone"}
                 for switch in self.switches if switch.reached and id(switch) not in asked]
        order = ["switch", "calls", "gradient", "cosine", "clipped", "update", "update cosine", "held", "note"]
        return Table.of_rows([name for name in order if any(name in row for row in rows)] or order[:4], rows)

    def __repr__(self) -> str:
        if not self._ended:
            return "switches: the block has not ended"
        open_ones = [switch for switch in self.switches if switch.reached]
        rest = [switch for switch in self.switches if not switch.reached]
        lines = [f"{len(open_ones)} place{'' if len(open_ones) == 1 else 's'} where credit arrives and is stopped"]
        if self._arms:
            lines.append(repr(self.table))
        elif self.found:
            lines.append("no backward ran in the block")
        if self._made is not None and self.held is not None:
            lines.append(f"held: the held-out loss after the update, {self._made['as it is'].after:.6g} as it is")
        if self.optimizers and self.why_no_update:
            lines.append(f"no update is compared: {self.why_no_update}")
        if rest:
            lines.append("no credit arrives at: " + ", ".join(f"{switch} ({switch.calls})" for switch in rest))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _beside(one: Sequence[Any], other: Sequence[Any]) -> tuple[float | None, float | None]:
    """The ratio of two lengths, and the cosine."""
    zero = torch.zeros((), dtype=torch.float64)
    pairs = [(zero if a is None else a.double(), zero if b is None else b.double()) for a, b in zip(one, other)]
    sums = [float(sum(((x * y).sum() for x, y in found), zero)) for found in (
        pairs, [(a, a) for a, _ in pairs], [(b, b) for _, b in pairs])]
    lengths = sums[1]**0.5, sums[2]**0.5
    return (lengths[0] / lengths[1] if lengths[1] else None,
            sums[0] / lengths[0] / lengths[1] if lengths[0] and lengths[1] else None)


def _apart(one: torch.Tensor | None, other: torch.Tensor | None) -> float:
    """The difference, relative to one of them; what is not there is zero."""
    a, b = (torch.zeros(()) if x is None else x.detach().double() for x in (one, other))
    length = float(a.norm())
    return float((a - b).norm()) / length if length else float(b.norm())


def _each(result: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(result, torch.Tensor):
        return change(result)
    if type(result) in (tuple, list):
        return type(result)(_each(value, change) for value in result)
    return result


def _writes(name: str) -> bool:
    """Whether a function writes into what it is given: `add_`, `__setitem__`, `__iadd__`."""
    if name.startswith("__"):
        return name in ("__setitem__", "__set__", "__delete__") or (name.startswith("__i") and name not in (
            "__invert__", "__int__", "__index__", "__init__"))
    return name.endswith("_")


def _outside(frame: Any) -> tuple[str, int]:
    """The innermost line that is no part of PyTorch."""
    while frame.f_back is not None and (frame.f_code.co_filename.startswith(_TORCH) or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _caller(frame: Any) -> tuple[str, int] | None:
    """Whose block this is; `None` if PyTorch's own."""
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename in _OF_BLOCKS):
        function = frame.f_locals.get("func") if frame.f_code.co_filename == _OF_BLOCKS[1] else None
        if hasattr(function, "__code__"):  # a decorated function
            code = function.__code__
            return None if code.co_filename.startswith(_TORCH) else (code.co_filename, code.co_firstlineno)
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith(_TORCH):
        return None
    return frame.f_code.co_filename, frame.f_lineno
