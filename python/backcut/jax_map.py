"""JAX: what every single edge of a tape carries.

    found = backcut.jax.edge_map(loss, params, x, y, steps=64, tx=tx, state=state, held_out=(x2, y2))
    found                                   # in a notebook, a picture per edge; found.svg() elsewhere

A gradient is affine in what one edge lets through, so one differentiation of the backward says exactly what closing any
single edge takes away.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._backcut import Error
from ._map import EdgeMap
from ._tape import Kind
from .jax_tape import Tape, parts


def _gates(tape: Tape) -> dict[str, Any]:
    """For every edge between steps all of its crossings, open."""
    shape = lambda kind: (tape.steps,) if kind in (Kind.CARRIED, Kind.STATE) else (tape.steps, tape.steps)
    return {name: jnp.ones(shape(kind)) for name, kind in tape.edges.kinds.items() if kind is not Kind.VALUE}


def gated(tape: Tape, gates: Mapping[str, Any]) -> Tape:
    """Full credit with a factor at every crossing. What is closed is closed to what was stored; weights that read it
    go on learning."""
    credit = dict(tape.under("FF").credit)
    own = jnp.eye(tape.steps)
    for name, gate in gates.items():
        kind = tape.edges.kinds[name]
        if kind is Kind.STATE:
            credit[name] = credit[name] | {"gate": gate}
        elif kind is Kind.CARRIED:
            credit[name] = credit[name] | {"stored": gate}
        else:
            near = jnp.tril(gate, -1) + own
            which = "weights" if kind is Kind.PROJECTED else "stored"
            credit[name] = credit[name] | {which: near, "far": jnp.tril(1 - gate, -1)}
    return tape.with_credit(credit)


@partial(jax.jit, static_argnums=0)
def _slope(loss: Callable[..., Any], params: Any, tape: Tape, gates: Any, args: Any) -> Any:
    return jax.grad(lambda params: parts(loss(params, gated(tape, gates), *args))[0])(params)


@partial(jax.jit, static_argnums=0)
def _carried(loss: Callable[..., Any], params: Any, tape: Tape, gates: Any, args: Any, along: Any) -> Any:
    """By every gate, the slope of the gradient's part along each of these directions."""
    def part(gates: Any, direction: Any) -> Any:
        products = jax.tree_util.tree_map(lambda g, a: (g * a).sum(), _slope(loss, params, tape, gates, args), direction)
        return sum(x.astype(float) for x in jax.tree_util.tree_leaves(products))
    return [jax.grad(part)(gates, direction) for direction in along]


def edge_map(loss: Callable[..., Any], params: Any, *args: Any, steps: int, tx: Any = None, state: Any = None,
             held_out: Sequence[Any] | None = None, extra: Mapping[str, Any] | None = None) -> EdgeMap:
    """What every single crossing of every declared edge of `loss(params, tape, *args)` carries of the gradient; and, with
    `tx`, `state` and `held_out`, of what the next update takes from `loss(params, tape, *held_out)`, through clip and
    optimizer, to first order."""
    if (tx is None) != (held_out is None):
        raise Error("a map of what helps a held-out loss needs that loss and the optimizer\n"
                    "hint: tx=..., state=..., held_out=(x, y), or none of them")
    tape = Tape.of(loss, params, *args, steps=steps)
    gates = _gates(tape)
    if not gates:
        raise Error("nothing leads from step to step\nhint: declare edges with carry, store, attention or state")
    # A tape that declares is no argument of a compiled function.
    under = tape.under("FF")
    own = _slope(loss, params, under, gates, args)
    add = lambda tree: sum(float(x) for x in jax.tree_util.tree_leaves(tree))
    length = add(jax.tree_util.tree_map(lambda g: (g.astype(float)**2).sum(), own))
    along = [jax.tree_util.tree_map(lambda g: g / length if length else g, own)]
    drop = None
    if tx is not None and held_out is not None:
        update = getattr(tx, "update", tx)

        @jax.jit
        def taken(grads: Any) -> Any:
            of = lambda params: parts(loss(params, under, *held_out))[0]
            made = update(grads, state, params, **(extra or {}))[0]
            return of(params) - of(jax.tree_util.tree_map(lambda p, u: p + u, params, made))
        drop, seeds = jax.value_and_grad(taken)(own)
        # The slope of a square root at zero times zero: there a gradient of zero moves nothing.
        along.append(jax.tree_util.tree_map(lambda x: jnp.nan_to_num(x, posinf=0.0, neginf=0.0), seeds))
    found = [{name: _table(x, steps) for name, x in each.items()} for each in
             _carried(loss, params, under, gates, args, along)]
    return EdgeMap(found[0], found[1] if len(found) > 1 else None, None if drop is None else float(drop))


def _table(slope: Any, steps: int) -> Any:
    """Slopes as a square of steps; `nan` where there is no such edge."""
    values, table = np.asarray(slope, np.float64), np.full((steps, steps), np.nan)
    if values.ndim == 1:
        made = np.arange(steps - 1)
        table[made + 1, made] = values[:-1]
    else:
        earlier = np.tri(steps, k=-1, dtype=bool)
        table[earlier] = values[earlier]
    return table
