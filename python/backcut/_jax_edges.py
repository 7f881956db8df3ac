"""Identities whose backward asks numbers that are chosen beside the program, not in it.

Each gives back what it is given, so a forward does not change by a bit. The numbers are traced arguments that
backward rules alone read: `vmap` over them leaves the forward unbatched, and `jit` compiles once for all of them.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp


def is_number(x: Any) -> bool:
    """Whether credit can pass: counters, masks and random keys have no gradient."""
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.inexact))


@jax.custom_jvp
def scaled(credit: Any, share: Any) -> Any:
    """Credit times a share; nothing of what is not finite passes a closed edge, as through a stop_gradient."""
    return jnp.where(share == 0, jnp.zeros_like(credit), credit * share.astype(credit.dtype))


@scaled.defjvp
def _scaled_jvp(values: Any, moved: Any) -> Any:
    # By the share its slope is the credit, at a closed edge too: that is what opening it would bring.
    (credit, share), (by_credit, by_share) = values, moved
    return scaled(credit, share), scaled(by_credit, share) + credit * by_share.astype(credit.dtype)


@jax.custom_vjp
def passed(x: Any, share: Any) -> Any:
    """`x`; of its credit a share passes."""
    return x


passed.defvjp(lambda x, share: (x, share), lambda share, credit: (scaled(credit, share), jnp.zeros_like(share)))


@jax.custom_vjp
def routed(near: Any, far: Any, to_near: Any, to_far: Any) -> Any:
    """`near`, which has the numbers of `far`; either side receives its share of the credit."""
    return near


routed.defvjp(lambda near, far, to_near, to_far: (near, (to_near, to_far)),
              lambda shares, credit: (*(scaled(credit, share) for share in shares), *map(jnp.zeros_like, shares)))


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def stepped(axis: str, x: Any, source: Any, share: Any) -> Any:
    """`x`; credit goes on to another lane: each takes a share of its source's."""
    return x


def _stepped_bwd(axis: str, kept: Any, credit: Any) -> Any:
    source, share = kept
    return scaled(jax.lax.all_gather(credit, axis)[source], share), None, jnp.zeros_like(share)


stepped.defvjp(lambda axis, x, source, share: (x, (source, share)), _stepped_bwd)


@jax.custom_vjp
def noted(x: Any, place: Any, is_lifted: Any = False) -> Any:
    """The tree `x`; the length of its credit is what a gradient at `place` (a zero) says. Where lifted, credit goes on
    with a largest entry of about one: then no path is too long for a float, and what is zero has no path."""
    return x


def _noted_bwd(kept: Any, credit: Any) -> Any:
    place, is_lifted = kept
    leaves = [leaf for leaf in jax.tree_util.tree_leaves(credit) if leaf.dtype != jax.dtypes.float0]
    largest = jnp.max(jnp.stack([jnp.abs(leaf).max(initial=0).astype(place.dtype) for leaf in leaves]))
    # By the largest entry, for squares of small numbers vanish.
    unit = jnp.where(largest > 0, jnp.clip(largest, *(float(x) for x in _range(place.dtype))), 1)
    length = unit * jnp.sqrt(sum(((leaf.astype(place.dtype) / unit)**2).sum() for leaf in leaves))
    by = jnp.where(is_lifted, 1 / unit, 1)
    up = lambda leaf: leaf if leaf.dtype == jax.dtypes.float0 else leaf * by.astype(leaf.dtype)
    return jax.tree_util.tree_map(up, credit), length, None


def _range(kind: Any) -> tuple[Any, Any]:
    """Numbers that have an inverse."""
    return jnp.finfo(kind).tiny * 4, jnp.finfo(kind).max / 4


noted.defvjp(lambda x, place, is_lifted: (x, (place, is_lifted)), _noted_bwd)
