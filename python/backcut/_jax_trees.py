"""JAX: trees by name, and what an optimizer makes of them."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._backcut import Error


def named(tree: Any, separator: str = ".") -> dict[str, Any]:
    """The leaves of a tree as numpy arrays by name: `{"block0": {"w": x}}` gives `block0.w`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    found = {}
    for path, leaf in paths:
        name = separator.join(key_of(entry) for entry in path) or "value"
        if name in found:
            raise Error(f"two leaves are named `{name}`\nhint: use another separator")
        found[name] = np.asarray(leaf)
    return found


def widened(tree: Any) -> dict[str, Any]:
    """The leaves by name in one precision that `compare` knows. Halves become singles, with the same numbers."""
    found = named(tree)
    kind = np.float64 if any(leaf.dtype == np.float64 for leaf in found.values()) else np.float32
    return {name: np.asarray(leaf, kind) for name, leaf in found.items()}


def key_of(entry: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def updates(tx: Any, state: Any, params: Any, grads: Mapping[str, Any], **extra: Any) -> dict[str, dict[str, Any]]:
    """What an optimizer adds to the parameters under every arm's gradient, by name: `tx.update(g, state, params)`.

    `tx`: any optax transformation, or a function called as its `update` is (give `jax.jit(tx.update)` for the bits of
    a compiled step). `grads`: by arm, trees like `params` or what `gradients` gave. Every arm starts from `state`,
    which does not change. `extra` goes to `update` (`value=...` for those that ask).
    """
    update = getattr(tx, "update", tx)
    return {arm: named(update(_like(params, grad, arm), state, params, **extra)[0]) for arm, grad in grads.items()}


def _like(params: Any, grad: Any, arm: str) -> Any:
    """A gradient by name as a tree like the parameters'."""
    places, structure = jax.tree_util.tree_flatten(params)
    if jax.tree_util.tree_structure(grad) == structure:
        return grad
    given, names = named(grad), list(named(params))
    if set(given) != set(names):
        odd = sorted(set(given) ^ set(names))[0]
        raise Error(f"the gradient of arm `{arm}` is no tree like the parameters: `{odd}` is in one of them\n"
                    "hint: give what `gradients` returns, or trees that jax.grad made")
    return jax.tree_util.tree_unflatten(structure, [jnp.asarray(given[name]) for name in names])


def called(tx: Any, state: Any) -> str:
    """A name for an optimizer that has none: what made it, and the states that it keeps."""
    made_by = getattr(getattr(tx, "update", tx), "__qualname__", type(tx).__name__).split(".<locals>")[0]
    kept = list(dict.fromkeys(type(part).__name__ for part in _parts(state) if part._fields))
    return f"the optimizer `{made_by}`" + (f" with {', '.join(kept)}" if kept else "")


def _parts(state: Any) -> list[Any]:
    """The named tuples of a state, the outer ones first."""
    own = [state] if hasattr(state, "_fields") else []
    inner = state.values() if isinstance(state, Mapping) else state if isinstance(state, tuple | list) else ()
    return own + [part for value in inner for part in _parts(value)]
