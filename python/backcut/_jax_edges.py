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
def noted(x: Any, place: Any) -> Any:
    """The tree `x`; the length of its credit is what a gradient at `place` (a zero) says."""
    return x


def length(credit: Any) -> Any:
    """Of a tree, by its largest entry: squares of small numbers vanish."""
    leaves = [jnp.abs(leaf) for leaf in jax.tree_util.tree_leaves(credit) if leaf.dtype != jax.dtypes.float0]
    largest = jnp.stack([leaf.max(initial=0).astype(float) for leaf in leaves]).max() if leaves else jnp.zeros(())
    unit = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1)
    total = sum(((leaf.astype(float) / unit)**2).sum() for leaf in leaves)
    return unit * jnp.sqrt(total) if leaves else largest


noted.defvjp(lambda x, place: (x, place), lambda place, credit: (credit, length(credit).astype(place.dtype)))


@jax.custom_vjp
def lifted(x: Any, is_lifted: Any) -> Any:
    """The tree `x`; where lifted, its credit goes on with entries of about one: no path is too long for a float."""
    return x


def _lifted_bwd(is_lifted: Any, credit: Any) -> Any:
    leaves = [leaf for leaf in jax.tree_util.tree_leaves(credit) if leaf.dtype != jax.dtypes.float0]
    largest = jnp.stack([jnp.abs(leaf).max(initial=0).astype(float) for leaf in leaves]).max()
    _, exponent = jnp.frexp(jnp.where(jnp.isfinite(largest), largest, 1))
    by = jnp.where(is_lifted & (largest > 0), -exponent, 0)
    up = lambda leaf: leaf if leaf.dtype == jax.dtypes.float0 else jnp.ldexp(leaf, by).astype(leaf.dtype)
    return jax.tree_util.tree_map(up, credit), None


lifted.defvjp(lambda x, is_lifted: (x, is_lifted), _lifted_bwd)
