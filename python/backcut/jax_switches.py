"""JAX: every `stop_gradient` of an unchanged program as a switch, named by file and line.

    found = backcut.jax.switches(loss, params, batch, tx=tx, state=state, held_out=(other,))
    print(found)                            # what opening each one does

The program is traced as it stands and its `stop_gradient`s are replaced; nobody edits it.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from . import _jax_edges as edge
from ._backcut import Error
from ._compare import Comparison, compare
from ._jax_trees import called, named, updates, widened
from ._table import Table

CLOSED = "as it is"


@dataclass(frozen=True)
class Switch:
    """A line with `stop_gradient`s. `places`: how many the traced program has there; one inside a loop counts once."""

    name: str
    file: str
    line: int
    places: int


@dataclass(frozen=True, repr=False)
class Switches:
    """What opening each `stop_gradient` does. `comparison`: its gradients and made updates, beside the program's own
    (`as it is`). `held_out`: by switch, the held-out loss after that update, and after the program's own. `elsewhere`:
    how many stand in library code (a softmax stops at its largest entry), and were left alone. `rounding`: how far
    the rewritten program's gradient lies from the program's own while every switch is closed; 0 for the same bits.
    `silent`: switches at which no credit waits."""

    switches: list[Switch]
    gradients: Mapping[str, Any]
    comparison: Comparison
    held_out: Mapping[str, float]
    elsewhere: int
    rounding: float
    silent: tuple[str, ...]

    @property
    def table(self) -> Table:
        """A row per switch."""
        rows = self.comparison.summary()
        places = {CLOSED: None, **{switch.name: switch.places for switch in self.switches}}
        columns: dict[str, Any] = {"opened": list(rows["arm"]), "places": [places[arm] for arm in rows["arm"]]}
        for key in ("gradient.ratio", "gradient.cosine", "gradient.difference", "applied.ratio", "applied.cosine"):
            if key in rows.columns:
                columns[key] = list(rows[key])
        if self.held_out:
            columns["held-out loss"] = [self.held_out[arm] for arm in rows["arm"]]
        return Table(columns)

    def __repr__(self) -> str:
        count = f"{len(self.switches)} line" + ("" if len(self.switches) == 1 else "s")
        lines = [f"{count} with stop_gradient; each row opens one of them alone", repr(self.table)]
        if self.silent:
            lines.append(f"no credit waits at {', '.join(self.silent)}: what stands there is a constant, or cancels")
        if self.rounding:
            lines.append(f"with all of them closed the rewritten program is off by {self.rounding:.2g} of the gradient, "
                         "by the order of its sums")
        if self.elsewhere:
            lines.append(f"{self.elsewhere} more in libraries were left alone")
        return "\n".join(lines)


def switches(loss: Callable[..., Any], params: Any, *args: Any, tx: Any = None, state: Any = None,
             held_out: Sequence[Any] | None = None, extra: Mapping[str, Any] | None = None,
             libraries: bool = False, **options: Any) -> Switches:
    """Every `stop_gradient` that the gradient of `loss(params, *args)` meets, and what opening it does to the gradient,
    to the update that `tx` makes, and to `loss(params + update, *held_out)`.

    `loss`: the function that your `jax.grad` differentiates. The row `as it is` is its own gradient, unchanged.
    `libraries`: those of installed packages too, not only your own files'. What stands inside a `custom_vjp` or a
    `while_loop` belongs to its own rule, or has no gradient, and is not seen.
    """
    closed, structure = jax.make_jaxpr(loss, return_shape=True)(params, *args)
    if jax.tree_util.tree_structure(structure) != jax.tree_util.tree_structure(0) or structure.shape:
        raise Error("the loss is not one number\nhint: give the function that jax.grad differentiates; an auxiliary "
                    "result goes with lambda params, *args: loss(params, *args)[0]")
    sites: dict[tuple[str, int], int] = {}
    _count(closed.jaxpr, sites)
    wanted = {site: n for site, n in sites.items() if libraries or not _is_library(site[0])}
    if not wanted:
        elsewhere = sum(sites.values())
        raise Error(f"the loss has no stop_gradient of its own ({elsewhere} in libraries)\n"
                    "hint: nothing is cut here; backcut.jax.reach says how far the gradient goes")
    known = _names(list(wanted))
    gates = {site: i for i, site in enumerate(wanted)}

    @jax.jit
    def slope(gate: Any) -> Any:
        def run(params: Any) -> Any:
            return _evaluated(closed.jaxpr, closed.consts, jax.tree_util.tree_leaves((params, *args)), gate, gates)[0]
        return jax.grad(run)(params)

    gradients = {CLOSED: jax.jit(jax.grad(loss))(params, *args)}
    for site, i in gates.items():
        gradients[known[site]] = slope(jnp.zeros(len(gates)).at[i].set(1.0))
    shut = slope(jnp.zeros(len(gates)))
    silent = tuple(known[site] for site in gates if not _off(shut, gradients[known[site]]))
    theta = widened(params)
    found = {arm: widened(tree) for arm, tree in gradients.items()}
    after: dict[str, float] = {}
    if tx is None:
        if held_out is not None:
            raise Error("a held-out loss follows an update, and nobody makes one\nhint: tx=..., state=...")
        comparison = compare(theta, found, **options)
    else:
        made = updates(tx, state, params, gradients, **(extra or {}))
        comparison = compare(theta, found, called(tx, state), updates={a: widened(u) for a, u in made.items()}, **options)
        if held_out is not None:
            value = jax.jit(loss)
            for arm, update in made.items():
                moved = jax.tree_util.tree_map(lambda p, u: p + u, params, _shaped(params, update))
                after[arm] = float(value(moved, *held_out))
    return Switches([Switch(known[site], *site, n) for site, n in wanted.items()], gradients, comparison, after,
                    sum(sites.values()) - sum(wanted.values()), _off(gradients[CLOSED], shut), silent)


def _off(own: Any, rewritten: Any) -> float:
    """0 where all bits agree; else the distance, relative to the program's own gradient."""
    flat = lambda tree: np.concatenate([x.ravel() for x in widened(tree).values()])
    a, b = flat(own), flat(rewritten)
    if a.tobytes() == b.tobytes():
        return 0.0
    return float(np.linalg.norm(a - b) / np.linalg.norm(a))


def _shaped(params: Any, found: Mapping[str, Any]) -> Any:
    structure = jax.tree_util.tree_structure(params)
    return structure.unflatten([jnp.asarray(found[name]) for name in named(params)])


def _site(eqn: Any) -> tuple[str, int]:
    """The file and line that called `stop_gradient`."""
    frames = list(getattr(eqn.source_info.traceback, "frames", ()))
    calls = [i for i, frame in enumerate(frames) if frame.function_name == "stop_gradient"]
    if not calls or calls[0] + 1 >= len(frames):
        return "(unknown)", 0
    caller = frames[calls[0] + 1]
    return caller.file_name, caller.line_num


def _is_library(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file or file.startswith(os.path.dirname(jax.__file__))


def _names(sites: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """`file:line`, with as many folders as tell the files apart."""
    files, depth = {file for file, _ in sites}, 1
    short = lambda file: "/".join(file.split(os.sep)[-depth:])
    while len({short(file) for file in files}) < len(files):
        depth += 1
    return {site: f"{short(site[0])}:{site[1]}" for site in sites}


def _inner(eqn: Any) -> list[Any]:
    """The programs inside an instruction that a backward differentiates as they stand, each with its constants."""
    name, params = eqn.primitive.name, eqn.params
    if name in ("jit", "pjit", "closed_call", "core_call", "scan"):
        return [(params["jaxpr"].jaxpr, params["jaxpr"].consts)]
    if name in ("checkpoint", "remat2", "remat"):
        return [(params["jaxpr"], [])]
    if name == "cond":
        return [(branch.jaxpr, branch.consts) for branch in params["branches"]]
    return []


def _count(jaxpr: Any, found: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """How many there are at every line."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "stop_gradient":
            site = _site(eqn)
            found[site] = found.get(site, 0) + 1
        for inner, _ in _inner(eqn):
            _count(inner, found)
    return found


def _evaluated(jaxpr: Any, consts: Sequence[Any], values: Sequence[Any], gate: Any, gates: dict[Any, int]) -> list[Any]:
    """The program's results, with gates where its `stop_gradient`s stood."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values]))
    read = lambda var: var.val if isinstance(var, jax.extend.core.Literal) else known[var]
    for eqn in jaxpr.eqns:
        with eqn.ctx.manager:
            known.update(zip(eqn.outvars, _result(eqn, [read(var) for var in eqn.invars], gate, gates)))
    return [read(var) for var in jaxpr.outvars]


def evaluated(program: Any, *values: Any) -> list[Any]:
    """What a traced program gives."""
    return _evaluated(program.jaxpr, program.consts, values, None, {})


def opened(program: Any, *values: Any) -> list[Any]:
    """The same, with no stop on the way of its credit. JAX's own rules stay as they are: it remembers what they
    made of a jitted function."""
    sites = dict.fromkeys(_count(program.jaxpr, {}), 0)
    return _evaluated(program.jaxpr, program.consts, values, jnp.ones(1), sites)


def _result(eqn: Any, values: list[Any], gate: Any, gates: dict[Any, int]) -> list[Any]:
    if eqn.primitive.name == "stop_gradient" and _site(eqn) in gates:
        return [edge.passed(values[0], gate[gates[_site(eqn)]])]
    inner = _inner(eqn)
    if not any(site in gates for jaxpr, _ in inner for site in _count(jaxpr, {})):
        made = eqn.primitive.get_bind_params(eqn.params)
        # Functions among the parameters were arguments of their own before JAX 0.10.
        subfuns, params = made if isinstance(made, tuple) else ((), made)
        found = eqn.primitive.bind(*subfuns, *values, **params)
        return list(found) if eqn.primitive.multiple_results else [found]
    params, runs = eqn.params, [lambda *xs, of=of: _evaluated(*of, xs, gate, gates) for of in inner]
    if eqn.primitive.name == "cond":
        return list(jax.lax.switch(values[0], runs, *values[1:]))
    if eqn.primitive.name in ("checkpoint", "remat2", "remat"):
        run = jax.checkpoint(runs[0], prevent_cse=params["prevent_cse"], policy=params["policy"])
        return list(run(*values))
    if eqn.primitive.name != "scan":
        return list(runs[0](*values))
    fixed, carried = params["num_consts"], params["num_carry"]

    def step(carry: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
        found = runs[0](*values[:fixed], *carry, *xs)
        return found[:carried], found[carried:]
    last, each = jax.lax.scan(step, values[fixed:fixed + carried], values[fixed + carried:], length=params["length"],
                              reverse=params["reverse"], unroll=params["unroll"])
    return [*last, *each]
