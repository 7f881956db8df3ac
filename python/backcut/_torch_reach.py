"""How far each step's loss reaches into stored states, in PyTorch, and whether anything is cut where nothing arrives.

The program runs once and as it is. Beside what `detach`, `.data` and `no_grad` make of a value its source is kept, so
that the same graph can be asked twice: as it stands, and with its stops open. What is zero even then is not read.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from ._backcut import Error
from ._reach import Reach, Way
from ._torch_edges import asked_open

# Powers of two, so that what is scaled and scaled back keeps its bits.
_SCALE = {torch.float64: 2.0**400, torch.float32: 2.0**80, torch.bfloat16: 2.0**80, torch.float16: 2.0**8}
_FREE_OF_MODES = torch._C.DisableTorchFunction


class _Stop(torch.autograd.Function):
    """An identity; whether credit passes it backwards is asked then."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, stops: _Stops, place: str) -> torch.Tensor:
        with _FREE_OF_MODES(), torch.enable_grad():
            ctx.edge = get_gradient_edge(x.view_as(x) if x.is_leaf else x)
        ctx.stops, ctx.place = stops, place
        stops.gates += 1
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        if ctx.edge.node._sequence_nr() > ctx.stops.open_to or (ctx.edge.node, ctx.edge.output_nr) in ctx.stops.own:
            return None, None, None
        if bool((slopes[0] != 0).any()):
            ctx.stops.passed.setdefault(ctx.place)
        return slopes[0], None, None


class _Stops(TorchFunctionMode):
    """Keeps the source of whatever a stop made, and puts it behind a gate where something differentiable reads it.

    No tensor that the program sees changes: neither its numbers nor whether it requires a gradient. What can not be
    followed (numpy, custom functions, random draws without gradients) is not, and then nothing is said of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open_to = -1.0
        self.passed: dict[str, None] = {}
        self.own: set[tuple[Any, int]] = set()
        self.gates = 0
        self._sources: Any = WeakTensorKeyDictionary()
        self._tick = torch.zeros((), requires_grad=True)

    def count(self) -> int:
        """The number that the next operation in the graph gets."""
        with torch.enable_grad(), _FREE_OF_MODES():
            return int(self._tick.view_as(self._tick).grad_fn._sequence_nr())  # type: ignore[union-attr]

    def source(self, x: Any) -> tuple[torch.Tensor, str] | None:
        """What a constant was made of, and where it became one; if it still holds those numbers."""
        found = self._sources.get(x) if isinstance(x, torch.Tensor) and not x.requires_grad else None
        return found[:2] if found is not None and found[2] == _version(x) else None

    def _keep(self, made: Any, source: Any, place: str) -> None:
        for x, y in zip(tree_leaves(made), tree_leaves(source)):
            if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor) and y.requires_grad and not x.requires_grad:
                self._sources[x] = (y, place, _version(x))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name, owner = getattr(func, "__name__", ""), getattr(getattr(func, "__self__", None), "__name__", "")
        if torch.compiler.is_compiling() or name in _OF_NO_VALUE or name in ("__get__", "__set__") and owner not in _VIEWS:
            return func(*args, **kwargs)
        leaves = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        sources = {id(x): found for x in leaves if (found := self.source(x)) is not None}
        live = any(x.requires_grad for x in leaves)
        if name == "detach_" and args[0].requires_grad:
            with torch.enable_grad():
                before = args[0].clone()
            func(*args, **kwargs)
            self._keep(args[0], before, _place())
            return args[0]
        stops = name == "detach" or owner == "data"
        graph = torch.is_grad_enabled() and live and not stops
        if not sources and (graph or not live):
            return func(*args, **kwargs)
        writes = name == "__setitem__" or name.endswith("_") and not name.endswith("__")
        if graph and not writes:
            gated = lambda x: _Stop.apply(sources[id(x)][0], self, sources[id(x)][1]) if id(x) in sources else x
            args, kwargs = tree_map(gated, (args, kwargs))
            return func(*args, **kwargs)
        made = func(*args, **kwargs)
        if name in _RANDOM or name.startswith("rand"):
            return made
        # Not in the graph: made once more beside it, from what a graph would have read.
        place = next(iter(sources.values()))[1] if sources else _place()
        raw = lambda x: sources[id(x)][0] if id(x) in sources else x
        if not writes:
            if stops:
                self._keep(made, raw(args[0]), place)
            elif any(x.is_floating_point() for x in tree_leaves(made) if isinstance(x, torch.Tensor)):
                self._beside(made, func, tree_map(raw, (args, kwargs)), place)
        elif not args[0].requires_grad:
            self._written(func, args, kwargs, raw, place)
        return made

    def _beside(self, made: Any, func: Any, given: Any, place: str) -> None:
        try:
            with torch.enable_grad():
                self._keep(made, func(*given[0], **given[1]), place)
        except RuntimeError:
            pass

    def _written(self, func: Any, args: Any, kwargs: Any, raw: Callable[[Any], Any], place: str) -> None:
        """What was written into a constant is a part of its source from then on."""
        old = self._sources.get(args[0])
        target = old[0] if old is not None else None
        try:
            with torch.enable_grad():
                # Without a source the numbers before are lost, and it is what was read of them that counts.
                fresh = (args[0] if target is None else target).clone()
                func(fresh, *tree_map(raw, args[1:]), **tree_map(raw, kwargs))
        except RuntimeError:
            return
        self._keep(args[0], fresh, place)


# What reads no numbers, or would tell that a constant requires a gradient.
_OF_NO_VALUE = frozenset(
    "size dim numel stride is_contiguous numpy item tolist __array__ __bool__ __float__ __int__ __len__ __hash__ "
    "__repr__ __format__ backward register_hook retain_grad requires_grad_ data_ptr storage untyped_storage "
    "storage_offset __deepcopy__ __reduce_ex__ is_shared share_memory_ __dlpack__ __dlpack_device__ "
    "_set_grad_enabled is_floating_point is_complex element_size get_device ndimension "
    "record_stream pin_memory type_as_dtype argmax argmin equal allclose zeros_like ones_like empty_like full_like "
    "new_zeros new_ones new_empty new_full new_tensor __contains__".split())
_VIEWS = frozenset("T mT H mH real imag data".split())
_RANDOM = frozenset("dropout alpha_dropout feature_dropout bernoulli bernoulli_ multinomial normal normal_ uniform_ "
                    "exponential_ random_ poisson rrelu gumbel_softmax".split())


def _version(x: torch.Tensor) -> int:
    return -1 if x.is_inference() else x._version


def _place() -> str:
    """The file and line outside of frameworks that called."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and "/backcut/_torch_reach" not in name and not name.startswith("<"):
            return f"{name.rsplit('/', 1)[-1]}:{frame.f_lineno}"
        frame = frame.f_back
    return "somewhere"


class _Noted:
    """A state of one step: what its parts are in the graph as it stands, and in the graph with open stops."""

    def __init__(self, value: Any, stops: _Stops) -> None:
        parts = [x for x in tree_leaves(value) if isinstance(x, torch.Tensor) and x.is_floating_point()]
        with _FREE_OF_MODES():
            sources = [found[0] for x in parts if (found := stops.source(x)) is not None]
            self.live = [get_gradient_edge(x) for x in parts if x.requires_grad]
            self.opened = self.live + [get_gradient_edge(x) for x in sources]
        self.at = stops.count()
        self.dtype = parts[0].dtype if parts else torch.float32


class reach:
    """How far each step's loss reaches into stored states.

        with backcut.torch.reach() as r:
            for t in range(steps):
                h = cell(x[t], h)
                r.state("h", h)                 # where the state is made, before any detach
                r.loss(criterion(head(h), y[t]))
        r.result                                # "SEG-16 with offset 3 at `h`; full at `cache.1`"

    or without touching the loop: `r.watch(cell, "h")` takes what the module returns at every call, as a hook. A
    state may be any tree of tensors (an LSTM's pair). A layer that runs all steps at once is looked at by what it
    reads: `x = r.state("x", x, time=1)` with the axis of its steps. `r.physical("velocity", v)` notes a simulator's
    state: then memory is looked at with physics closed, and physics with memory closed.

    Call `r.update()` between updates to see a state that is kept across them. Gradients are taken when the block
    ends, a few backwards per loss, and no parameter's `grad` is touched. If the loop itself calls `backward` inside
    the block, give `retain_graph=True` there.
    """

    def __init__(self) -> None:
        self._states: dict[str, list[_Noted]] = {}
        self._whole: dict[str, tuple[_Noted, int, int]] = {}
        self._physical: set[str] = set()
        self._losses: dict[int, torch.Tensor] = {}
        self._boundaries: list[int] = []
        self._hooks: list[Any] = []
        self._result: Reach | None = None
        self._stops = _Stops()

    def state(self, name: str, value: Any, time: int | None = None) -> Any:
        """Notes a state that was just made: the next step of its name. With `time`, the axis of a value's steps, it
        is all of them at once. Go on with what is returned."""
        if time is None:
            self._states.setdefault(name, []).append(_Noted(value, self._stops))
            return value
        if name in self._whole:
            raise Error(f"`{name}` was noted twice with all its steps\nhint: give each layer a name of its own")
        if not value.requires_grad and self._stops.source(value) is None:
            with _FREE_OF_MODES():
                value = value.clone().requires_grad_()
        self._whole[name] = (_Noted(value, self._stops), time % value.dim(), value.shape[time])
        return value

    def physical(self, name: str, value: Any) -> Any:
        """Notes a physical state, of a simulator that is differentiated, as `state` does."""
        self._physical.add(name)
        return self.state(name, value)

    def watch(self, module: torch.nn.Module, name: str, select: Callable[[Any], Any] | None = None) -> None:
        """Notes what a module returns, at every call: all tensors in it, and of `nn.LSTM`, `nn.GRU` and `nn.RNN` what
        they hand on (the second half). `select` takes something else."""
        if select is None:
            select = (lambda output: output[1]) if isinstance(module, torch.nn.RNNBase) else lambda output: output

        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            value = select(output)
            if not any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in tree_leaves(value)):
                raise Error(f"`{name}` returns a {type(value).__name__} without a tensor in it\n"
                            "hint: select=lambda output: ... takes the state out of it")
            self.state(name, value)
        self._hooks.append(module.register_forward_hook(hook))

    def loss(self, value: torch.Tensor, step: int | None = None) -> torch.Tensor:
        """Notes the loss of a step. Losses count from 0, as states do, unless their step is said."""
        if value.numel() != 1:
            raise Error(f"a loss of shape {tuple(value.shape)}\nhint: one number per step, such as its mean")
        self._losses[max(self._losses, default=-1) + 1 if step is None else step] = value
        return value

    def update(self) -> None:
        """Says that another update begins here."""
        self._boundaries.append(max(self._losses, default=-1) + 1)

    def __enter__(self) -> reach:
        self._stops.__enter__()
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._stops.__exit__(kind, *rest)
        for hook in self._hooks:
            hook.remove()
        if kind is None:
            self._result = self._measured()
        # The graph of all steps is not needed any more.
        self._states, self._losses, self._whole, self._stops = {}, {}, {}, _Stops()

    @property
    def result(self) -> Reach:
        if self._result is None:
            raise Error("reach has a result once its `with` block has ended")
        return self._result

    def _measured(self) -> Reach:
        names = [*self._states, *self._whole]
        if not self._losses or not names:
            raise Error("no loss or no state was noted\nhint: r.loss(...) and r.state(...) at every step")
        if self._physical and self._physical.issuperset(names):
            raise Error("only physical states were noted\nhint: r.state(...) for what is memory")
        return _Measured(self._states, self._whole, self._losses, self._stops, self._physical).reach(
            tuple(b for b in self._boundaries if 0 < b <= max(self._losses)))


class _Measured:
    """The questions that are asked of a recorded graph."""

    def __init__(self, states: dict[str, list[_Noted]], whole: dict[str, tuple[_Noted, int, int]],
                 losses: dict[int, torch.Tensor], stops: _Stops, physical: set[str]) -> None:
        self.states, self.whole, self.losses, self.stops, self.physical = states, whole, losses, stops, physical
        self.rows = max(losses) + 1
        self.counts = {**{name: len(noted) for name, noted in states.items()},
                       **{name: count for name, (_, _, count) in whole.items()}}
        self.smallest = max(torch.finfo(loss.dtype).smallest_normal for loss in losses.values())
        self.asks_twice = stops.gates > 0 or any(
            type(node).__name__ in ("ScaledBackward", "EdgeBackward") for node in self._nodes())
        # Steps are told apart by the first memory state that is noted in each.
        self.first = next((noted for name, noted in states.items() if name not in physical), [])

    def reach(self, boundaries: tuple[int, ...]) -> Reach:
        memory, physical = set(self.counts) - self.physical, self.physical
        whole = self._asked(set(self.counts), lambda t: nullcontext())
        self._align(whole)
        credit, reads, taken = whole
        # The latest state of every name that a loss reads is of its own step, and what is closed lies before it.
        self.latest = {name: [max(np.flatnonzero(np.nan_to_num(row) > 0), default=t) for t, row in enumerate(reads[name])]
                       for name in reads}
        if physical:
            for these, those in ((memory, physical), (physical, memory)):
                for table, found in zip(whole, self._asked(these, self._closing(those))):
                    table.update(found)
        ways: tuple[Way, ...] = ()
        if self._is_cut(*whole) and self.first:
            crossings = self._crossings()
            ways = self._ways(crossings)
            if ways:
                # What the noted states carry alone, every other way closed.
                for table, found in zip(whole, self._asked(memory, self._others_closed(crossings))):
                    table.update(found)
        constants = {name: [j for j, x in enumerate(noted) if not x.live] for name, noted in self.states.items()}
        return Reach(credit, boundaries, constants, reads, taken, tuple(self.stops.passed), ways, self._weights(),
                     frozenset(physical), self.smallest)

    def _nodes(self) -> list[Any]:
        return _graph([loss.grad_fn for loss in self.losses.values() if loss.grad_fn is not None])

    def _align(self, tables: Any) -> None:
        """A state that was noted before the first step belongs to none."""
        for name, noted in self.states.items():
            read = np.nan_to_num(tables[1][name]) > 0
            if len(noted) == self.rows + 1 and np.diagonal(read, 1).any():
                self.states[name] = noted[1:]
                self.counts[name] -= 1
                for table in tables:
                    table[name] = table[name][:, 1:]

    def _is_cut(self, credit: Any, reads: Any, taken: Any) -> bool:
        return any((np.nan_to_num(reads[name]) > 0)[~(np.nan_to_num(credit[name]) > 0)].any()
                   or (np.nan_to_num(taken[name]) > 1e-3).any() for name in credit)

    def _asked(self, names: set[str], closing: Callable[[int], Any]) -> tuple[dict[str, Any], ...]:
        """Norms of what arrives, of what would with open stops, and of what those take away, relative to it."""
        ordered = [name for name in self.counts if name in names]
        tables = [{name: self._empty(name) for name in ordered} for _ in range(3)]
        for t, loss in self.losses.items():
            with closing(t):
                here = self._slopes(t, loss, ordered, -1.0)
                # A stop at its own step's state, or after it, lies in the loss's head: what it takes is no memory.
                self.stops.own = {(edge.node, edge.output_nr) for noted in self.states.values() if t < len(noted)
                                  for edge in noted[t].opened}
                there = self._slopes(t, loss, ordered, self._until(t)) if self.asks_twice else here
            for name in ordered:
                for j in range(self.counts[name]):
                    closed, opened = here.get((name, j), {}), there.get((name, j), {})
                    norms = [_length(closed.values()), _length(opened.values()), _length(_apart(closed, opened))]
                    if max(norms) > 0 or not np.isnan(tables[0][name][t, j]):
                        share = norms[2] / norms[1] if norms[1] else 0.0
                        for table, value in zip(tables, (norms[0], norms[1], share)):
                            table[name][t, j] = value
        return tuple(tables)

    def _until(self, t: int) -> float:
        if not self.first or self.whole:
            return float("inf")
        at = [noted[t].at for name, noted in self.states.items() if t < len(noted)]
        return float(max(at)) if at else float("inf")

    def _empty(self, name: str) -> Any:
        table = np.full((self.rows, max(self.counts[name], 1)), np.nan)
        for t in self.losses:
            # What is noted after a loss was made can not have been on its way.
            table[t, :t + 1] = 0.0
        return table

    def _slopes(self, t: int, loss: torch.Tensor, names: list[str],
                open_to: float) -> dict[tuple[str, int], dict[int, Any]]:
        """Every state's gradient by its parts, in double precision, free of underflow as far as a scaled loss shows
        it."""
        places: list[tuple[str, int, int]] = []
        edges: list[GradientEdge] = []
        for name in names:
            for j, noted in enumerate([self.whole[name][0]] if name in self.whole else self.states[name]):
                for part, edge in enumerate(noted.opened):
                    if open_to < 0 and part >= len(noted.live):
                        continue
                    places.append((name, j, part))
                    edges.append(edge)
        if not (edges and loss.requires_grad):
            return {}
        self.stops.open_to = open_to
        found = self._backward(t, loss, edges, 1.0)
        scale = _SCALE.get(loss.dtype, 1.0)
        small = [x for x in map(_norm, found) if 0 < x < self.smallest**0.5]
        if small and any(_norm(x) < self.smallest**0.5 for x in found):
            again = self._backward(t, loss, edges, scale)
            found = [a if _norm(a) >= self.smallest**0.5 or b is None or not bool(torch.isfinite(b).all())
                     else b.double() / scale for a, b in zip(found, again)]
        self.stops.open_to = -1.0
        parts: dict[tuple[str, int], dict[int, Any]] = {}
        for (name, j, part), slope in zip(places, found):
            if slope is None:
                continue
            if name in self.whole:
                for step, piece in enumerate(slope.unbind(self.whole[name][1])):
                    parts.setdefault((name, step), {})[part] = piece.double()
            else:
                parts.setdefault((name, j), {})[part] = slope.double()
        return parts

    def _backward(self, t: int, loss: torch.Tensor, edges: list[GradientEdge], scale: float) -> list[Any]:
        if self.stops.open_to >= 0:
            asked_open.append(self.stops.passed)
        try:
            found = torch.autograd.grad(loss, edges, torch.full_like(loss, scale), retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            hint = ("look with checkpointing off: it changes no gradient" if "checkpoint" in str(error) else
                    "inside the block call backward(retain_graph=True), or not at all")
            said = str(error).partition("\n")[0]
            raise Error(f"the loss of step {t} can not be differentiated again: {said}\nhint: {hint}") from error
        finally:
            asked_open.clear()
        return [None if x is None else x.detach() for x in found]

    # What was not noted.

    def _closing(self, names: Iterable[str]) -> Callable[[int], Any]:
        """For every loss, closes these states but those of its own step."""
        return lambda t: _closed([edge for name in names for noted in self.states.get(name, [])[:self.latest[name][t]]
                                  for edge in noted.opened])

    def _others_closed(self, crossings: list[tuple[int, GradientEdge]]) -> Callable[[int], Any]:
        memory = [name for name in self.states if name not in self.physical]

        def closing(t: int) -> Any:
            # What was made after the latest state that the loss reads is the loss's own.
            latest = max(self.latest[name][t] for name in memory)
            edges = [edge for interval, edge in crossings if interval <= latest]
            return _closed(edges + [edge for name in self.physical for noted in self.states[name][:self.latest[name][t]]
                                    for edge in noted.opened])
        return closing

    def _noted_edges(self) -> set[tuple[Any, int]]:
        return {(edge.node, edge.output_nr) for noted in self.states.values() for one in noted for edge in one.opened}

    def _crossings(self) -> list[tuple[int, GradientEdge]]:
        """Values that pass from one step to a later one and carry something of their own: not what was noted, nor what
        is only made of it, nor parameters and casts of them."""
        ends = [noted.at for noted in self.first]
        interval = lambda node: int(np.searchsorted(ends, node._sequence_nr(), side="left"))
        noted = self._noted_edges()
        nodes = self._nodes()
        is_leaf = lambda node: type(node).__name__ == "AccumulateGrad"
        below: dict[Any, bool] = {}     # whether a noted state lies upstream
        fresh: dict[Any, bool] = {}     # whether weights were used upstream on something that is no noted state
        moves: dict[Any, int] = {}      # the earliest step from which it evolved without passing what was noted
        for node in nodes:
            if is_leaf(node):
                continue
            nexts = [(n, nr) for n, nr in node.next_functions if n is not None]
            unnoted = [n for n, nr in nexts if (n, nr) not in noted]
            below[node] = any((n, nr) in noted or below.get(n, False) for n, nr in nexts)
            # Weights used on a noted state, or on what was made of one, are read by it and no way past it.
            uses = any(is_leaf(n) for n in unnoted) and len(node.next_functions) > 1 and not below[node]
            fresh[node] = uses or any(fresh.get(n, False) for n in unnoted)
            own = interval(node)
            still = type(node).__name__.rstrip("0123456789") in _MOVES
            earliest = [moves.get(n, own) for n in unnoted if not is_leaf(n)]
            moves[node] = min([own if not still else 10**9, *earliest])
        crosses = lambda n, nr, reader: not is_leaf(n) and (n, nr) not in noted and 1 <= interval(n) < interval(reader)
        todo = [(n, nr) for node in nodes if not is_leaf(node) for n, nr in node.next_functions
                if n is not None and crosses(n, nr, node) and (fresh[n] or moves[n] < interval(n))]
        found = dict.fromkeys(todo)
        behind: set[Any] = set()
        while todo:
            node, _ = todo.pop()
            # What it evolved from goes with it.
            for n, nr in node.next_functions if node not in behind else ():
                if n is not None and (n, nr) not in noted:
                    todo.append((n, nr))
                    if crosses(n, nr, node):
                        found[n, nr] = None
            behind.add(node)
        return [(interval(n), GradientEdge(n, nr)) for n, nr in found]

    def _ways(self, crossings: list[tuple[int, GradientEdge]]) -> tuple[Way, ...]:
        if not crossings:
            return ()
        ways = []
        every = self._closing(self.states)
        for t, loss in self.losses.items():
            earlier = [(k, edge) for k, edge in crossings if k < t]
            if not (earlier and loss.requires_grad):
                continue
            with every(t):
                slopes = self._backward(t, loss, [edge for _, edge in earlier], 1.0)
            norms = [(_norm(slope), k, edge) for slope, (k, edge) in zip(slopes, earlier)]
            latest = max(norms, key=lambda found: (found[0] > 0, found[1]))
            if latest[0] > 0:
                held = [_length(x.values()) for x in self._slopes(t, loss, list(self.states), -1.0).values()]
                total = (latest[0]**2 + sum(x**2 for x in held))**0.5
                ways.append(Way(t, latest[1], latest[0] / total, type(latest[2].node).__name__))
        return tuple(ways)

    def _weights(self) -> bool | None:
        """Whether weights that read a stopped state still learn from it: they do, if the stop stands at the state
        itself, or at what was made of it without weights."""
        noted = self._noted_edges()
        said = set()
        for node in self._nodes():
            if type(node).__name__ != "_StopBackward" or node.place not in self.stops.passed:
                continue
            behind, todo, learns = set(), list(node.next_functions), False
            while todo:
                n, nr = todo.pop()
                if n is None or (n, nr) in noted or n in behind:
                    continue
                behind.add(n)
                learns = learns or type(n).__name__ == "AccumulateGrad"
                todo.extend(n.next_functions)
            said.add(not learns)
        return said.pop() if len(said) == 1 else None


# What moves numbers and makes none.
_MOVES = frozenset(f"{name}Backward" for name in (
    "Cat Stack Select Slice View Unsqueeze Permute Transpose T Expand Index IndexSelect Clone Roll UnsafeView Squeeze "
    "Split SplitWithSizes Unbind Alias AsStrided Reshape ReshapeAlias ToCopy Contiguous Narrow Repeat Detach Flatten "
    "IndexPut CopySlices Gather ViewAs").split()) | {"CopySlices", "_StopBackward"}


def _graph(roots: list[Any]) -> list[Any]:
    """All nodes, what is made first before what is made of it."""
    seen, todo = set(roots), list(roots)
    while todo:
        for n, _ in todo.pop().next_functions:
            if n is not None and n not in seen:
                seen.add(n)
                todo.append(n)
    leaf = lambda node: type(node).__name__ == "AccumulateGrad"
    return sorted(seen, key=lambda node: (not leaf(node), 0 if leaf(node) else node._sequence_nr()))


@contextmanager
def _closed(edges: list[GradientEdge]) -> Iterator[None]:
    """Lets nothing pass what these edges stand for. What arrives at them is still seen."""
    def zeroed(number: int) -> Any:
        return lambda slopes: tuple(None if i == number else slope for i, slope in enumerate(slopes))
    hooks = [edge.node.register_prehook(zeroed(edge.output_nr)) for edge in edges]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _norm(x: Any) -> float:
    return 0.0 if x is None else float(x.double().norm())


def _length(parts: Iterable[Any]) -> float:
    return float(np.sqrt(sum(_norm(x)**2 for x in parts)))


def _apart(a: dict[int, Any], b: dict[int, Any]) -> list[Any]:
    """The difference, part by part."""
    return [b[part] if part not in a else a[part] if part not in b else a[part] - b[part] for part in {*a, *b}]
