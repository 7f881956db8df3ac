"""JAX: trees by name, optax's state, memory cuts as values, and how far a gradient reaches.

A cut is placed where something is stored or handed on, as literal `stop_gradient`s: the forward is the same
under every cut, bit by bit.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _jax_edges as edge
from ._backcut import Error
from ._compare import Comparison, Optimizer, compare
from ._cut import Cut, memory_cut
from ._jax_trees import called, named, updates
from ._reach import Reach
from .jax_map import edge_map
from .jax_switches import Switches, evaluated, opened, switches
from .jax_tape import Tape, replay, undeclared

__all__ = ["Cache", "Switches", "Tape", "adam_state", "carry", "edge_map", "gradients", "measure", "named", "reach",
           "replay", "switches", "undeclared", "updates"]

stop = jax.lax.stop_gradient


def gradients(loss: Callable[..., Any], arms: Mapping[str, Any], params: Any, *args: Any) -> dict[str, dict[str, Any]]:
    """The gradient of `loss(params, arm, *args)` for every arm's value, by name: what `backcut.compare` takes."""
    slope = lambda arm: jax.jit(jax.grad(lambda params: loss(params, arm, *args)))(params)
    return {name: named(slope(arm)) for name, arm in arms.items()}


def measure(loss: Callable[..., Any], arms: Mapping[str, Any], params: Any, *args: Any, tx: Any = None,
            state: Any = None, optimizer: Optimizer | None = None, extra: Mapping[str, Any] | None = None,
            **options: Any) -> Comparison:
    """`backcut.compare` of the gradients of `loss(params, arm, *args)`, the first arm as the reference, and of what
    `tx` makes of them from `state`: any optax transformation, for it is asked itself.

    An `Optimizer` with the settings of `tx` adds what only a rule can say; it is checked against the made updates.
    """
    found = gradients(loss, arms, params, *args)
    if tx is None:
        return compare(named(params), found, optimizer, **options)
    made = updates(tx, state, params, found, **(extra or {}))
    return compare(named(params), found, optimizer or called(tx, state), updates=made, **options)


def adam_state(state: Any, kind: str | None = None, clip: float | None = None, *, tx: Any = None, params: Any = None,
               **settings: Any) -> Optimizer:
    """Adam's moments from a state, with the settings it was made with (optax does not keep them).

    Goes in the next version: `measure(loss, arms, params, tx=tx, state=state)` has the update of any optimizer,
    made by itself. Until then nothing is guessed: every setting is named, and where the state is optax's `tx`
    and `params` are needed, by which it is held to what `tx` really does.
    """
    warnings.warn("adam_state goes in the next version; write backcut.jax.measure(loss, arms, params, tx=tx, "
                  "state=state), whose updates are made by tx itself", DeprecationWarning, stacklevel=2)
    found = [leaf for leaf in jax.tree_util.tree_leaves(state, is_leaf=_is_adam) if _is_adam(leaf)]
    if len(found) != 1:
        raise Error(f"the state holds {len(found)} of Adam's states (count, mu, nu)\n"
                    "hint: give the state of one optax.adam or optax.adamw, alone or in a chain")
    said = {"kind": kind, **settings}
    lacking = [key for key in ("kind", "rate", "beta1", "beta2", "eps", "decay") if said.get(key) is None]
    if lacking:
        raise Error(f"nobody said {', '.join(lacking)}, and the state does not hold them\n"
                    "hint: name every setting of the optimizer, or use backcut.jax.measure(..., tx=tx, state=state)")
    of_optax = type(found[0]).__module__.split(".")[0] == "optax"
    if of_optax and type(found[0]).__name__ != "ScaleByAdamState":
        raise Error(f"{type(found[0]).__name__} is the state of another optimizer than Adam and AdamW\n"
                    "hint: use backcut.jax.measure(..., tx=tx, state=state), which needs to know none")
    if of_optax and (tx is None or params is None):
        raise Error(f"{called(tx, state)} may be adam, adamw, nadam, adamax, lamb and others: their states are alike\n"
                    "hint: give tx and params, or use backcut.jax.measure(..., tx=tx, state=state)")
    step = int(found[0].count)
    moments = [named(found[0].mu), named(found[0].nu)] if step else []
    optimizer = Optimizer(str(kind), settings, clip, step, moments)
    if tx is not None and params is not None:
        drawn, values = np.random.default_rng(0), named(params)
        probe = lambda size: {name: (size * drawn.normal(size=value.shape)).astype(value.dtype)
                              for name, value in values.items()}
        probes = {"a large gradient": probe(1e2), "a small gradient": probe(1e-4)}
        compare(values, probes, optimizer, updates=updates(tx, state, params, probes))
    return optimizer


def _is_adam(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("count", "mu", "nu"))


class Cache:
    """A cut for an attention cache of `steps` positions.

        cache = Cache("SEG-8", steps)
        keys = cache.empty((rows, heads, width), dtype)
        keys, k = cache.store(keys, n, lambda n: split(n @ w_k), t)   # k: what the query of step t reads

    `n` is the representation that is stored, `project` makes a key or value of it. Works inside `lax.scan`. Later
    queries read what was stored from one side within their own segment and from another across segments; a
    cut that needs one side keeps one. Segments count from step `first`.
    """

    def __init__(self, cut: str | Cut, steps: int, first: int = 0, axis: int = 1) -> None:
        self.cut, self.steps, self.first, self.axis = memory_cut(cut), steps, first, axis
        self.sides = {None: ("near",), 1: ("far",)}.get(self.cut.segment, ("far", "near"))

    def empty(self, shape: tuple[int, ...], dtype: Any = None) -> dict[str, Any]:
        """A cache of zeros for entries of `shape`; positions become axis `axis`."""
        whole = (*shape[:self.axis], self.steps, *shape[self.axis:])
        return {side: jnp.zeros(whole, dtype) for side in self.sides}

    def is_near(self, t: Any) -> Any:
        """For every position, whether it lies in the segment of step `t`."""
        length = self.cut.segment or self.steps
        positions = jnp.arange(self.steps)
        return (positions - self.first) // length == (t - self.first) // length

    def store(self, cache: dict[str, Any], n: Any, project: Callable[[Any], Any], t: Any) -> tuple[dict[str, Any], Any]:
        """The cache with the entry of step `t`, and what the query of step `t` reads of all of them."""
        own = project(n)
        new = {"near": lambda: own, "far": lambda: self._far(n, own, project)}
        place = (slice(None),) * self.axis
        cache = {side: cache[side].at[(*place, t)].set(new[side]()) for side in self.sides}
        near = cache.get("near", jnp.expand_dims(own, self.axis))
        is_near = self.is_near(t).reshape((-1,) + (1,) * (own.ndim - self.axis))
        return cache, jnp.where(is_near, near, cache.get("far", near))

    def _far(self, n: Any, own: Any, project: Callable[[Any], Any]) -> Any:
        if self.cut.share is None:
            return stop(own)
        return project(_shared(self.cut, n))


def _shared(cut: Cut, x: Any) -> Any:
    return stop(x) + cut.share * (x - stop(x)) if cut.share else stop(x)


def carry(cut: str | Cut, h: Any, t: Any, project: Callable[[Any], Any] | None = None) -> Any:
    """What step `t + 1` may see of the recurrent state `h` that step `t` hands on: the state itself, or with
    `project` what its recurrent weights make of it.

    `FD` makes that projection (the product with recurrent weights, without their bias) a constant, so it needs
    `project`; under every other cut weights receive credit
    and only the state may be a constant. `t` may be traced.
    """
    cut = memory_cut(cut)
    if cut.segment is None:
        return h if project is None else project(h)
    if cut.share is None:
        if project is None:
            raise Error("FD makes a constant of what recurrent weights make of a state\n"
                        "hint: give `project`, or use F_SG, which stops at the state itself")
        # What stands before the first step was stored by none: weights that read it learn from it.
        return jax.tree_util.tree_map(lambda x: jnp.where(t < 0, x, stop(x)), project(h))
    ends = (t + 1) % cut.segment == 0
    handed = jax.tree_util.tree_map(lambda x: jnp.where(ends, _shared(cut, x), x), h)
    return handed if project is None else project(handed)


def reach(losses: Callable[[Callable[[str, Any, Any], Any]], Any], steps: int | None = None,
          updates: Sequence[int] = ()) -> Reach:
    """How far each step's loss reaches into stored states.

    `losses(store)` runs a training step and returns the losses of its steps, a vector. Wherever it stores a
    state (a hidden state, a cache entry) for a later step it calls `x = store("h", t, x)` and goes on with what
    comes back: the same number, at which gradients are taken. `t` may be traced, so this works inside
    `lax.scan`. Place `store` where the state is made, before any `stop_gradient`.

    To see a state that is kept across updates, run two of them, count their steps on, and name in `updates` the
    steps at which another one begins.
    """
    shapes: dict[str, Any] = {}

    def collect(name: str, t: Any, x: Any) -> Any:
        seen = shapes.setdefault(name, jax.ShapeDtypeStruct(jnp.shape(x), jnp.result_type(x)))
        if seen.shape != jnp.shape(x):
            raise Error(f"`{name}` is stored with shapes {seen.shape} and {jnp.shape(x)}\n"
                        "hint: give states of different shapes different names")
        return x

    made = jax.eval_shape(lambda: losses(collect))
    if len(made.shape) != 1:
        raise Error(f"the losses have shape {made.shape}\nhint: return one loss per step, as a vector")
    if not shapes:
        raise Error("nothing was stored\nhint: call store(name, t, x) on every state that a later step reads")
    rows = made.shape[0]
    if not all(a < b for a, b in zip([0, *updates], [*updates, rows])):
        raise Error(f"updates that begin at {list(updates)} of {rows} steps\n"
                    "hint: name the first step of every update but the first, in order")
    count = steps or rows
    zeros = {name: jnp.zeros(count) for name in shapes}

    def noted(places: dict[str, Any], is_lifted: Any) -> Any:
        return losses(lambda name, t, x: edge.noted(x, places[name][t], is_lifted))

    program = jax.make_jaxpr(noted)(zeros, jnp.asarray(False))
    # One loss after another: the whole Jacobian would be as large as steps times steps times states.
    @partial(jax.jit, static_argnums=0)
    def lengths(is_open: bool, is_lifted: Any) -> Any:
        run = opened if is_open else evaluated
        of = lambda places: run(program, *jax.tree_util.tree_leaves(places), is_lifted)[0]
        _, back = jax.vjp(of, zeros)
        return jax.lax.map(lambda t: back((jnp.arange(rows) == t).astype(made.dtype))[0], jnp.arange(rows))

    tables = lambda *how: {name: np.asarray(x, np.float64) for name, x in lengths(*how).items()}
    plain, lifted, whole = tables(False, False), tables(False, True), tables(True, True)
    drawn = np.random.default_rng(0)
    found, reads = {}, {}
    for name, shape in shapes.items():
        # Credit that is not zero, and smaller or larger than its type holds.
        odd = np.where(lifted[name] > 0, np.nextafter(0.0, 1.0), 0.0)
        norms = np.where(np.isnan(plain[name]), np.inf, np.where(plain[name] > 0, plain[name], odd))
        found[name] = np.where(np.tri(*norms.shape, dtype=bool) | (norms > 0), norms, np.nan)
        other = jnp.asarray(drawn.normal(size=shape.shape), shape.dtype)

        def changed(j: Any, name: str = name, other: Any = other) -> Any:
            return losses(lambda own, t, x: jnp.where(t == j, x + other, x) if own == name else x)
        # The last one changes nothing: the same program's bits for the rest to be held to.
        each = np.asarray(jax.jit(lambda changed=changed: jax.lax.map(changed, jnp.arange(count + 1).at[-1].set(-2)))())
        told = (each[:-1] != each[-1]).T
        reads[name] = np.where(np.isnan(found[name]), np.nan, told | (whole[name] != 0))
    return Reach(found, tuple(updates), reads=reads, smallest=float(jnp.finfo(made.dtype).tiny))
