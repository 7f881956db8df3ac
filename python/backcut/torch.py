"""PyTorch: parameters and gradients by name, the optimizer's state, memory cuts as values, and how far a
gradient reaches.

A cut is placed where something is stored or handed on, as literal `detach`es: the forward is the same under
every cut, bit by bit.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from ._backcut import Error
from ._compare import Comparison, Optimizer, compare
from ._cut import Cut, memory_cut
from ._torch_reach import reach
from .torch_switches import switches as switches
from .torch_tape import Tape as Tape


def named(module: torch.nn.Module) -> dict[str, Any]:
    """Trainable parameters as numpy arrays by name."""
    return {name: _array(p) for name, p in module.named_parameters() if p.requires_grad}


def gradients(module: torch.nn.Module) -> dict[str, Any]:
    """The gradients that `backward` left, by name; zeros for a parameter that none arrived at."""
    return {name: np.zeros(p.shape, _array(p).dtype) if p.grad is None else _array(p.grad)
            for name, p in module.named_parameters() if p.requires_grad}


def _array(tensor: torch.Tensor) -> Any:
    # A copy: the optimizer and the next backward write into the same memory.
    return tensor.detach().cpu().numpy().copy()


def gradients_of(module: torch.nn.Module, arms: Mapping[str, Callable[[], torch.Tensor]]) -> dict[str, dict[str, Any]]:
    """For every arm, the gradients of the loss that its function returns. What `grad` held before stays."""
    before = [p.grad for p in module.parameters()]
    found = {}
    try:
        for name, loss in arms.items():
            module.zero_grad(set_to_none=True)
            loss().backward()
            found[name] = gradients(module)
    finally:
        for p, grad in zip(module.parameters(), before):
            p.grad = grad
    return found


def optimizer_state(optimizer: torch.optim.Optimizer, module: torch.nn.Module, clip: float | None = None) -> Optimizer:
    """Settings and moments of SGD, Adam or AdamW, by the module's names. `clip`: what you hand to
    `clip_grad_norm_`, which no optimizer knows."""
    kind = type(optimizer).__name__.lower()
    if kind not in ("sgd", "adam", "adamw"):
        raise Error(f"the optimizer {type(optimizer).__name__} is not known\nhint: SGD, Adam and AdamW are")
    group, settings = _one_group(optimizer), {}
    for flag in ("amsgrad", "maximize", "nesterov", "dampening"):
        if group.get(flag):
            raise Error(f"{type(optimizer).__name__} with {flag} is not known\nhint: compare gradients alone")
    settings = {"rate": float(group["lr"]), "decay": float(group["weight_decay"])}
    if kind == "sgd":
        settings["momentum"] = float(group["momentum"])
        if not group["momentum"]:
            return Optimizer("sgd", settings, clip, 0)
        wanted = ["momentum_buffer"]
    else:
        beta1, beta2 = (float(beta) for beta in group["betas"])
        settings |= {"beta1": beta1, "beta2": beta2, "eps": float(group["eps"])}
        wanted = ["exp_avg", "exp_avg_sq"]
    params = {name: p for name, p in module.named_parameters() if p.requires_grad}
    states = {name: optimizer.state.get(p, {}) for name, p in params.items()}
    has = {name for name, state in states.items() if state.get(wanted[0]) is not None}
    if not has:
        return Optimizer(kind, settings, clip, 0)
    if has != set(params):
        lacking = next(name for name in params if name not in has)
        raise Error(f"the optimizer has made updates, but none of `{lacking}`\n"
                    "hint: hand all trainable parameters of the module to one optimizer")
    counts = {int(state["step"]) if "step" in state else 1 for state in states.values()}
    if len(counts) > 1:
        raise Error(f"parameters were updated {sorted(counts)} times\nhint: they need one count of updates")
    moments = [{name: _array(state[key]) for name, state in states.items()} for key in wanted]
    return Optimizer(kind, settings, clip, counts.pop(), moments)


def _one_group(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    groups = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
    for other in groups[1:]:
        for key, value in other.items():
            if value != groups[0].get(key):
                raise Error(f"parameter groups differ in `{key}`: {groups[0].get(key)} and {value}\n"
                            "hint: compare gradients alone, or each group with an optimizer of its own")
    return groups[0]


def measure(
    module: torch.nn.Module,
    arms: Mapping[str, Callable[[], torch.Tensor]],
    optimizer: torch.optim.Optimizer | None = None,
    clip: float | None = None,
    **options: Any,
) -> Comparison:
    """`backcut.compare` on a module: the losses of all arms at this state, the first arm as the reference."""
    state = None if optimizer is None else optimizer_state(optimizer, module, clip)
    return compare(named(module), gradients_of(module, arms), state, **options)


class Cache:
    """A cut for an attention cache.

        keys = Cache("SEG-8")
        k = keys.store(n, lambda n: split(w_k(n)))     # a list: what the query of this step reads

    `n` is the representation that is stored, `project` makes a key or value of it. Entries are read oldest
    first, the own one last.
    """

    def __init__(self, cut: str | Cut, window: int | None = None) -> None:
        self.cut, self.window = memory_cut(cut), window
        self._entries: list[tuple[Any, Any]] = []

    def store(self, n: torch.Tensor, project: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
        near = project(n)
        if self.cut.segment is None:
            far = near
        elif self.cut.share is None:
            far = near.detach()
        else:
            far = project(_shared(self.cut, n))
        t = len(self._entries)
        self._entries.append((far, near))
        first = 0 if self.window is None else max(0, t + 1 - self.window)
        return [self._entries[j][self.cut.is_near(j, t)] for j in range(first, t + 1)]


def _shared(cut: Cut, x: torch.Tensor) -> torch.Tensor:
    return x.detach() + cut.share * (x - x.detach()) if cut.share else x.detach()


def carry(cut: str | Cut, h: Any, t: int, project: Callable[[Any], Any] | None = None) -> Any:
    """What step `t + 1` may see of the recurrent state `h` that step `t` hands on: the state itself (a tensor or
    a tuple of them), or with `project` what its recurrent weights make of it.

    `FD` makes that projection (the product with recurrent weights, without their bias) a constant, so it needs
    `project`; under every other cut weights receive credit
    and only the state may be a constant. `carry("SEG-8", h, t)` is the `detach()` every eight steps.
    """
    cut = memory_cut(cut)
    if cut.share is None:
        if project is None:
            raise Error("FD makes a constant of what recurrent weights make of a state\n"
                        "hint: give `project`, or use F_SG, which stops at the state itself")
        made = project(h)
        if t < 0:  # what stands before the first step was stored by none
            return made
        return tuple(x.detach() for x in made) if isinstance(made, tuple) else made.detach()
    if cut.segment is not None and cut.ends(t):
        h = tuple(_shared(cut, x) for x in h) if isinstance(h, tuple) else _shared(cut, h)
    return h if project is None else project(h)
