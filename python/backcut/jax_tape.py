"""JAX: declared edges, one forward, and the backward graph of every cut.

    def loss(params, tape, x, y):
        def step(h, at):
            t, x, y = at
            h = tape.carry("h", h, t - 1)                       # what step t - 1 handed on
            h = cell(params, tape.taken("x", x, t), h)
            return h, ((h @ params["out"] - y)**2).mean()
        each = jax.lax.scan(step, zeros, (jnp.arange(64), x, y))[1]
        return each.mean(), each

    found = backcut.jax.replay(loss, ["FF", "F_SG", "SEG-8"], params, x, y, steps=64)

A tape hands back what it is given, so a forward under it is the forward without it. What a cut leaves of each edge is
a traced argument that only the backward reads: it passes through `jit`, `vmap`, `grad`, `lax.scan` and `nn.scan`.
Forward-mode derivatives (`jax.jvp`, `jax.hessian`) refuse it, as they refuse every `custom_vjp`; a state that
`associative_scan` or a fused kernel carries has no step at which an edge could be declared.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _jax_edges as edge
from ._backcut import Error
from ._compare import compare
from ._cut import Cut
from ._jax_trees import called, key_of, updates, widened
from ._replay import Replay, Undeclared
from ._tape import MEMORY, Credit, Edges, Kind, Lanes

Draw = tuple[int, int]
LANES = "backcut lanes"


@partial(jax.tree_util.register_dataclass, data_fields=["near", "far"], meta_fields=["axis"])
@dataclass(frozen=True)
class Sides:
    """A cache of what steps stored: two sides with equal numbers, for two ways of credit. Steps are axis `axis`."""

    near: Any
    far: Any
    axis: int


class _Declared(Edges):
    """The edges, and the names of the places where credit arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[str] = []


@jax.tree_util.register_pytree_node_class
class Tape:
    """The declared edges of a rollout of so many steps. `Tape(64)` is full credit, as if it were not there;
    `Tape.of(loss, params, ...)` knows its edges and gives their cuts: `tape.under("SEG-8")`, an argument for `jit`.

    A step index `t` may be traced. Step -1 hands on what stands before the first step, which no cut touches.
    """

    def __init__(self, steps: int) -> None:
        if not steps > 0:
            raise Error(f"a rollout of {steps} steps\nhint: steps=64, the number of steps that learn")
        self.steps, self.edges = steps, _Declared()
        # The step after the last one may read too: a bootstrapped value does.
        self.edges.steps = steps + 1
        self.credit: dict[str, Any] | None = None
        self._places: dict[str, Any] | None = None
        self._lanes: str | None = None

    @classmethod
    def of(cls, loss: Callable[..., Any], params: Any, *args: Any, steps: int) -> Tape:
        """The edges that `loss(params, tape, *args)` declares. Nothing is computed."""
        tape = cls(steps)
        jax.eval_shape(lambda params, args: loss(params, tape, *args), params, args)
        return tape

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        # What declares is itself on its way through transformations; a cut's tape is compiled once for all cuts.
        known = self.edges if self.credit is None else (
            tuple(self.edges.kinds.items()), frozenset(self.edges.made_constant), tuple(self.edges.marks))
        return (self.credit, self._places), (self.steps, known, self._lanes)

    @classmethod
    def tree_unflatten(cls, known: tuple[Any, ...], children: tuple[Any, ...]) -> Tape:
        tape = cls(known[0])
        if isinstance(known[1], _Declared):
            tape.edges = known[1]
        else:
            kinds, constant, marks = known[1]
            tape.edges.kinds, tape.edges.made_constant, tape.edges.marks = dict(kinds), set(constant), list(marks)
        tape._lanes = known[2]
        tape.credit, tape._places = children
        return tape

    def under(self, cut: str | Cut, draw: Draw | None = None) -> Tape:
        """The same edges under a cut. `draw`: a seed and an update, for cuts that are drawn."""
        found = self.edges.credit(cut, draw)
        if found.most:
            raise Error(f"{cut} counts the states that a path passes, for which one backward has no room\n"
                        "hint: replay(...) runs lanes side by side and honours it")
        return self.with_credit(jax.tree_util.tree_map(lambda x: x[0], _tables(self, Lanes([found]))))

    def under_each(self, cuts: Sequence[str | Cut], draw: Draw | None = None) -> Tape:
        """The same edges under several cuts, stacked: what `vmap` takes."""
        tapes = [self.under(cut, draw).credit for cut in cuts]
        return self.with_credit(jax.tree_util.tree_map(lambda *x: jnp.stack(x), *tapes))

    def with_credit(self, credit: Any, lanes: str | None = None) -> Tape:
        leaves, known = jax.tree_util.tree_flatten(self)
        tape: Tape = jax.tree_util.tree_unflatten(known, leaves)
        tape.credit, tape._lanes = credit, lanes
        return tape

    def with_places(self, places: dict[str, Any]) -> Tape:
        tape = self.with_credit(self.credit, self._lanes)
        tape._places = places
        return tape

    # What a program declares.

    def carry(self, name: str, h: Any, t: Any) -> Any:
        """What step `t` hands to the next one: any tree. Every value in it is an edge, `h.0`, `h.c`."""
        return self._each(name, h, Kind.CARRIED, lambda leaf, x: edge.passed(x, self._carried(leaf, "stored", t)), t + 1)

    def projected(self, name: str, x: Any, t: Any, read: Any = None) -> Any:
        """What weights make of an edge: what `FD` makes constant. Of the carried `name` that step `t` handed on; or, with
        the step that reads it, of what step `t` made."""
        leaves, structure = self._leaves(name, x)
        for leaf, _ in leaves:
            whole = leaf if leaf in self.edges.kinds else name
            if self.edges.kinds.get(whole) in (Kind.CARRIED, Kind.READ):
                self.edges.made_constant.add(whole)
            else:
                self.edges.declare(leaf, Kind.PROJECTED)
        if self.credit is None:
            return x
        share = lambda leaf: (self._carried(leaf, "weights", t) if read is None
                              else self._read(leaf, "weights", read, t))
        credit = self.credit
        known = lambda leaf: leaf if leaf in credit else name
        return structure.unflatten([edge.passed(x, share(known(leaf))) if edge.is_number(x) else x
                                    for leaf, x in leaves])

    def state(self, name: str, s: Any, t: Any, decay: float = 1.0) -> Any:
        """A physical state that step `t` hands to the next one: any tree. `decay` is what your own program multiplies
        its credit with (`g_decay`, `grad_decay`); a cut that names the edge says another number."""
        def crossed(leaf: str, x: Any) -> Any:
            found = self._of(leaf)
            share = jnp.where(jnp.asarray(t) < 0, 1.0, found["factor"] * jnp.where(found["is_named"], 1.0, decay))
            if "gate" in found:
                share = share * _at(found["gate"], t, self.steps, before=1.0)
            if self._lanes is None:
                return edge.passed(x, share)
            own = jax.lax.axis_index(self._lanes)
            return edge.stepped(self._lanes, x, jnp.where(jnp.asarray(t) < 0, own, found["source"]), share)
        return self._each(name, s, Kind.STATE, crossed, t + 1)

    def edge(self, name: str, x: Any, made: Any = None, read: Any = None) -> Any:
        """Any value or tree, which a part of a cut keeps, scales or closes (`FF:name=D`); or, with the step that made it and
        the one that reads it, an edge of memory."""
        if (made is None) != (read is None):
            raise Error(f"`{name}` has one of the steps `made` and `read`\nhint: both, or neither")
        if made is None:
            return self._each(name, x, Kind.VALUE, lambda leaf, x: edge.passed(x, self._of(leaf)["factor"]), None)
        return self._each(name, x, Kind.READ, lambda leaf, x: edge.passed(x, self._read(leaf, "stored", read, made)), read)

    def taken(self, name: str, x: Any, t: Any) -> Any:
        """What step `t` takes in from outside: no edge, but a place where undeclared credit shows."""
        return self._noted(name, x, t)

    def cache(self, shape: tuple[int, ...], dtype: Any = None, axis: int = 1) -> Sides:
        """Zeros for what every step stores, entries of `shape`; steps become axis `axis`."""
        whole = jnp.zeros((*shape[:axis], self.steps, *shape[axis:]), dtype)
        return Sides(whole, whole, axis)

    def store(self, name: str, cache: Sides, n: Any, project: Callable[[Any], Any], t: Any) -> Sides:
        """The cache with what step `t` stores: `project(n)`, of the representation `n`."""
        self.edges.declare(name, Kind.STORED)
        where = (slice(None),) * cache.axis
        put = lambda side, entry: side.at[(*where, _checked(t, self.steps))].set(entry)
        return Sides(put(cache.near, project(n)), put(cache.far, project(jax.lax.stop_gradient(n))), cache.axis)

    def read(self, name: str, cache: Sides, t: Any) -> Any:
        """All entries as step `t` reads them; those of later steps are still zero."""
        self.edges.declare(name, Kind.STORED)
        if self.credit is None:
            return self._noted(name, cache.near, t)
        shaped = lambda row: row.reshape((-1,) + (1,) * (cache.near.ndim - cache.axis - 1))
        found = self._of(name)
        near, far = (shaped(_at(found[side], t, self.steps)) for side in ("stored", "far"))
        return self._noted(name, edge.routed(cache.near, cache.far, near, far), t)

    def attention(self, name: str, q: Any, n: Any, project: Callable[[Any], tuple[Any, Any]], mask: Any = None,
                  scale: float | None = None) -> Any:
        """Causal attention of all steps at once: `jax.nn.dot_product_attention` with `k, v = project(n)`.

        `q`, `k` and `v` are `[..., steps, heads, width]`. The edges are `name.keys` and `name.values`. `mask`: which
        pairs exist, `[..., heads or 1, steps, steps]`, besides those that causality leaves.
        """
        sides = [f"{name}.keys", f"{name}.values"]
        for side in sides:
            self.edges.declare(side, Kind.STORED)
        (k, v), (far_k, far_v) = project(n), project(jax.lax.stop_gradient(n))
        if k.shape != q.shape or v.shape[:-1] != q.shape[:-1] or q.shape[-3] != self.steps:
            raise Error(f"`{name}` attends with queries {q.shape}, keys {k.shape} and values {v.shape} over {self.steps} "
                        "steps\nhint: [..., steps, heads, width], as many heads of keys as of queries")
        scale = q.shape[-1]**-0.5 if scale is None else scale
        if self.credit is None:
            seen = _attended(scale, q, k, v, mask)
        else:
            shares = [self._of(side)[which] for side in sides for which in ("stored", "far")]
            seen = _attention(scale, q, k, v, far_k, far_v, mask, *shares)
        if self._places is not None:
            return jax.vmap(lambda x, place: edge.noted(x, place, False), (-3, 0), -3)(seen, self._places[name])
        self._mark(name)
        return seen

    # What the active cut says.

    def _of(self, leaf: str) -> Any:
        assert self.credit is not None
        if leaf not in self.credit:
            raise Error(f"`{leaf}` was not declared when this cut was asked for; `{', '.join(self.credit)}` were\n"
                        "hint: Tape.of(loss, ...) with the same loss and the same shapes")
        return self.credit[leaf]

    def _carried(self, leaf: str, which: str, t: Any) -> Any:
        return _at(self._of(leaf)[which], t, self.steps, before=1.0)

    def _read(self, leaf: str, which: str, t: Any, j: Any) -> Any:
        return _at(_at(self._of(leaf)[which], t, self.steps), j, self.steps, before=1.0)

    def _leaves(self, name: str, tree: Any) -> tuple[list[tuple[str, Any]], Any]:
        paths, structure = jax.tree_util.tree_flatten_with_path(tree)
        return [(".".join([name, *map(key_of, path)]), x) for path, x in paths], structure

    def _each(self, name: str, tree: Any, kind: Kind, crossed: Callable[[str, Any], Any], read: Any) -> Any:
        leaves, structure = self._leaves(name, tree)
        for leaf, x in leaves:
            if edge.is_number(x):
                self.edges.declare(leaf, kind)
        if self.credit is not None:
            leaves = [(leaf, crossed(leaf, x) if edge.is_number(x) else x) for leaf, x in leaves]
        tree = structure.unflatten([x for _, x in leaves])
        return tree if read is None else self._noted(name, tree, read)

    def _mark(self, name: str) -> None:
        if name not in self.edges.marks:
            self.edges.marks.append(name)

    def _noted(self, name: str, tree: Any, t: Any) -> Any:
        if not any(edge.is_number(x) for x in jax.tree_util.tree_leaves(tree)):
            return tree
        if self._places is not None:
            return edge.noted(tree, _at(self._places[name], t, self.steps, before=0.0, beyond=0.0), False)
        self._mark(name)
        return tree


def _checked(t: Any, steps: int) -> Any:
    """A step that is known is one of the rollout's."""
    if isinstance(t, (int, np.integer)) and not -1 <= t < steps:
        raise Error(f"step {t} of a rollout of {steps} steps\nhint: say how many there are: steps=...")
    return t


def _at(table: Any, t: Any, steps: int, before: float = float("nan"), beyond: float = float("nan")) -> Any:
    """A table's entry or row for a step. Nobody knows a traced step before it runs: one that is none gives nan."""
    if beyond != beyond:
        _checked(t, steps)
    row = table[jnp.clip(t, 0, steps - 1)]
    return jnp.where(t < 0, before, jnp.where(t >= steps, beyond, row)).astype(row.dtype)


def _attended(scale: float, q: Any, k: Any, v: Any, mask: Any) -> Any:
    if q.dtype == jnp.float64:  # of which the framework's own keeps a single's digits
        return jnp.einsum("...nts,...snh->...tnh", _weights(scale, q, k, mask), v)
    return jax.nn.dot_product_attention(q, k, v, mask=mask, scale=scale, is_causal=True)


def _weights(scale: float, q: Any, k: Any, mask: Any) -> Any:
    seen = jnp.tri(q.shape[-3], dtype=bool)
    seen = seen if mask is None else seen & mask
    scores = jnp.einsum("...tnh,...snh->...nts", q, k) * scale
    return jax.nn.softmax(jnp.where(seen, scores, jnp.finfo(scores.dtype).min), -1)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(scale: float, q: Any, k: Any, v: Any, far_k: Any, far_v: Any, mask: Any, *shares: Any) -> Any:
    return _attended(scale, q, k, v, mask)


def _attention_bwd(scale: float, kept: Any, credit: Any) -> Any:
    """Scores and weights anew, then the credit of every pair to the side that its shares say."""
    q, k, v, mask, shares = kept
    wide = lambda x: x.astype(jnp.promote_types(x.dtype, jnp.float32))
    wq, wk, wv, g = map(wide, (q, k, v, credit))
    weights = _weights(scale, wq, wk, mask)
    by_weight = jnp.einsum("...tnh,...snh->...nts", g, wv)
    by_score = weights * (by_weight - (by_weight * weights).sum(-1, keepdims=True)) * scale
    to = lambda pairs, share, other: jnp.einsum("...nts,...tnh->...snh", edge.scaled(pairs, share), other)
    keys, values = ([to(pairs, share, other) for share in sides]
                    for pairs, other, sides in ((by_score, wq, shares[:2]), (weights, g, shares[2:])))
    to_q = jnp.einsum("...nts,...snh->...tnh", by_score, wk)
    found = (to_q, keys[0], values[0], keys[1], values[1])
    return (*(x.astype(like.dtype) for x, like in zip(found, (q, k, v, k, v))), None, *map(jnp.zeros_like, shares))


_attention.defvjp(
    lambda scale, q, k, v, far_k, far_v, mask, *shares: (_attended(scale, q, k, v, mask), (q, k, v, mask, shares)),
    _attention_bwd)


def _tables(tape: Tape, lanes: Lanes) -> dict[str, Any]:
    """What lanes leave of every edge, one after the other along the first axis."""
    made: dict[str, Any] = {}
    stacked = lambda share: jnp.asarray(np.stack(lanes.each(share)), float)
    for name, kind in tape.edges.kinds.items():
        if kind in MEMORY:
            found = {which: stacked(lambda cut, which=which: getattr(cut, which)[name][..., :tape.steps][:tape.steps])
                     for which in ("stored", "weights")}
            made[name] = found | {"far": found["weights"] - found["stored"]} if kind is Kind.STORED else found
        elif kind is Kind.STATE:
            source, factor = lanes.passed(name)
            is_named = stacked(lambda cut: np.float64(cut.states[name] != (1.0, True)))
            made[name] = {"source": jnp.asarray(source), "factor": jnp.asarray(factor, float), "is_named": is_named}
        else:
            made[name] = {"factor": stacked(lambda cut: np.float64(cut.values[name]))}
    return made


def _closed(tape: Tape) -> Tape:
    """No credit between steps, by any declared edge."""
    whole = tape.under("FF")
    assert whole.credit is not None
    # What a step made itself it reads.
    own = lambda key, table: table.ndim == 2 and key != "far"
    shut = lambda key, table: (table if key == "source" else jnp.eye(tape.steps) if own(key, table)
                               else jnp.zeros_like(table))
    between = lambda name: tape.edges.kinds[name] is not Kind.VALUE
    return tape.with_credit({
        name: {key: shut(key, table) for key, table in found.items()} if between(name) else found
        for name, found in whole.credit.items()})


def parts(found: Any) -> tuple[Any, Any]:
    """A loss, and each step's where it is given too."""
    return found if isinstance(found, tuple) and len(found) == 2 else (found, None)


@partial(jax.jit, static_argnums=0)
def _many(loss: Callable[..., Any], params: Any, lanes: Tape, seeds: Any, args: Any) -> Any:
    """The loss, and every lane's gradient. That the loss has no lanes is checked by `vmap`: there is one forward."""
    def one(params: Any, tape: Tape, seed: Any) -> Any:
        value, back = jax.vjp(lambda params: parts(loss(params, tape, *args))[0], params)
        return value, back(seed.astype(value.dtype))[0]
    return jax.vmap(one, (None, 0, 0), (None, 0), axis_name=LANES)(params, lanes, seeds)


@partial(jax.jit, static_argnums=0)
def _lengths(loss: Callable[..., Any], params: Any, tape: Tape, args: Any) -> Any:
    """Of every step's loss, the length of its credit at what each step read or took in."""
    zeros = {name: jnp.zeros(tape.steps) for name in tape.edges.marks}
    run = lambda places: parts(loss(params, tape.with_places(places), *args))[1]
    losses, back = jax.vjp(run, zeros)
    rows = lambda t: back((jnp.arange(len(losses)) == t).astype(losses.dtype))[0]
    found = jax.lax.map(rows, jnp.arange(len(losses)))
    return jnp.sqrt(sum(x**2 for x in found.values()))


def undeclared(loss: Callable[..., Any], params: Any, *args: Any, steps: int) -> Undeclared:
    """Which losses reach earlier steps by edges that `loss(params, tape, *args)` does not declare. It returns the
    loss and a vector, one loss per step. It is one backward per step, in the memory of one."""
    tape = Tape.of(loss, params, *args, steps=steps)
    if not tape.edges.kinds:
        raise Error("nothing was declared\nhint: call tape.carry, store, attention, state or edge")
    credit, whole = (np.asarray(_lengths(loss, params, under, args), np.float64)
                     for under in (_closed(tape), tape.under("FF")))
    return Undeclared(credit, whole, tuple(tape.edges.marks))


def replay(loss: Callable[..., Any], cuts: Sequence[str | Cut], params: Any, *args: Any, steps: int, tx: Any = None,
           state: Any = None, draw: Draw | None = None, lanes: bool = True, extra: Mapping[str, Any] | None = None,
           **options: Any) -> Replay:
    """The gradients of `loss(params, tape, *args)` under every cut, from one forward and one compilation.

    `loss` returns a number; or a number and a vector, one loss per step, by which credit through undeclared edges is
    told. `tx`, `state` and `extra` make every cut's update, as in `measure`; other options go to `backcut.compare`.
    `draw`: a seed and an update, for cuts that are drawn (RSEG, RT, URT). `lanes`: all backwards side by side, in the
    memory of as many; without it one after another in the memory of one, and each runs the forward again.
    """
    tape = Tape.of(loss, params, *args, steps=steps)
    if not tape.edges.kinds:
        raise Error("nothing was declared\nhint: call tape.carry, store, attention, state or edge")
    names = [str(cut) for cut in cuts]
    if not names or len(set(names)) < len(names):
        raise Error(f"the cuts {', '.join(names) or '(none)'}\nhint: at least one, and each once")
    credits = [tape.edges.credit(cut, draw) for cut in names]
    gradients: dict[str, Any] = {}
    for group in [credits] if lanes else [[credit] for credit in credits]:
        value, found = _backward(loss, params, tape, group, args)
        gradients |= found
    of_steps = parts(jax.eval_shape(lambda: loss(params, tape, *args)))[1]
    why_not, other = "", None
    if of_steps is None:
        why_not = "not looked at; return the loss and a vector of every step's loss"
    elif not tape.edges.marks:
        why_not = "not looked at; no declared edge goes from step to step, and no tape.taken(...) says what one takes in"
    else:
        other = undeclared(loss, params, *args, steps=steps)
    return Replay(float(value), gradients, _compared(params, gradients, tx, state, extra, options),
                  {name: kind.value for name, kind in tape.edges.kinds.items()}, other, why_not)


def _backward(loss: Callable[..., Any], params: Any, tape: Tape, credits: list[Credit], args: Any) -> Any:
    lanes = Lanes(credits)
    stacked = tape.with_credit(_tables(tape, lanes), LANES if any(credit.most for credit in credits) else None)
    value, found = _many(loss, params, stacked, jnp.asarray(lanes.seeds()), args)
    whole = lambda of: jax.tree_util.tree_map(lambda g: g[of[0]] if len(of) == 1 else g[np.asarray(of)].sum(0), found)
    return value, {credit.cut: whole(of) for credit, of in zip(credits, lanes.sums())}


def _compared(params: Any, gradients: dict[str, Any], tx: Any, state: Any, extra: Mapping[str, Any] | None,
              options: dict[str, Any]) -> Any:
    """What is said of gradients and made updates; halves are widened for it, which changes none of their numbers."""
    found = {cut: widened(tree) for cut, tree in gradients.items()}
    for cut, tree in found.items():
        for name, leaf in tree.items():
            if not np.isfinite(leaf).all():
                raise Error(f"the gradient under {cut} is not finite in `{name}`\n"
                            "hint: the program's own gradient is not either, or its steps do not run from 0 to steps - 1")
    if tx is None:
        return compare(widened(params), found, **options)
    made = updates(tx, state, params, gradients, **(extra or {}))
    return compare(widened(params), found, called(tx, state), updates={cut: widened(u) for cut, u in made.items()},
                   **options)
