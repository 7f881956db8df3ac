"""Claims about a backward graph that are errors where they are wrong."""
from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from ._backcut import Error


class _Wall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, name: str) -> torch.Tensor:
        ctx.name = name
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        if bool((slopes[0] != 0).any()):
            raise Error(f"credit arrives at `{ctx.name}`, where it is forbidden (a gradient of length "
                        f"{float(slopes[0].double().norm()):.3g})\nhint: a detach is missing behind it, or stands elsewhere")
        return slopes[0], None


def edge(name: str, x: Any, forbid: bool = False) -> Any:
    """`x` itself, a tensor or a tree of them. With `forbid`, a backward by which credit arrives here is an error that
    says so: a claim about a detach, tested whenever the program trains."""
    if not forbid:
        return x
    return tree_map(lambda part: _Wall.apply(part, name) if isinstance(part, torch.Tensor) and part.requires_grad
                    else part, x)


def credit_between(a: Any, b: Any) -> list[tuple[int, float]]:
    """For every part of `b`, the length of the gradient that anything in `a` sends there."""
    parts = list(b.parameters()) if isinstance(b, torch.nn.Module) else [
        x for x in tree_leaves(b) if isinstance(x, torch.Tensor)]
    if not parts:
        raise Error("there is no tensor to which credit could go\nhint: a tensor, a tree of them, or a module")
    still = [i for i, x in enumerate(parts) if not x.requires_grad]
    if still:
        raise Error(f"part {still[0]} requires no gradient, so nothing could arrive there, cut or not\n"
                    "hint: give it before it is detached")
    lengths = [0.0] * len(parts)
    # A fixed random weight per number, so that what goes in opposite directions does not cancel.
    draws = torch.Generator().manual_seed(0)
    for x in tree_leaves(a):
        if isinstance(x, torch.Tensor) and x.requires_grad:
            seed = (torch.rand(x.shape, generator=draws, dtype=torch.float64) + 0.5).to(x)
            found = torch.autograd.grad(x, parts, seed, retain_graph=True, allow_unused=True)
            lengths = [max(old, 0.0 if g is None else float(g.double().norm())) for old, g in zip(lengths, found)]
    return [(i, length) for i, length in enumerate(lengths) if length > 0]
