"""PyTorch: parameters and gradients by name, the optimizer's state, memory cuts as values, and how far a
gradient reaches.

A cut is placed where something is stored or handed on, as literal `detach`es: the forward is the same under
every cut, bit by bit.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ._backcut import Error
from ._compare import Comparison, Optimizer, Unlike, compare
from ._cut import Cut, memory_cut
from ._step import Clip, steps
from ._tape import mapped
from ._torch_arms import arms as arms
from ._torch_edges import Scaled
from ._torch_forbid import edge as edge
from ._torch_reach import reach as reach
from ._torch_stored import rechunked as rechunked
from .torch_switches import switches as switches
from .torch_tape import Tape as Tape


def named(module: torch.nn.Module) -> dict[str, Any]:
    """Trainable parameters as numpy arrays by name."""
    return {name: _array(p) for name, p in _trained(module).items()}


def gradients(module: torch.nn.Module) -> dict[str, Any]:
    """The gradients that `backward` left, by name; zeros for a parameter that none arrived at."""
    return _dense(module, {name: p.grad for name, p in _trained(module).items()})


def _array(tensor: torch.Tensor) -> Any:
    # A copy: the optimizer and the next backward write into the same memory. Halves are exact in single precision.
    plain = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    plain = plain.float() if plain.dtype in (torch.bfloat16, torch.float16) else plain
    return plain.cpu().numpy().copy()


def gradients_of(module: torch.nn.Module, arms: Mapping[str, Callable[[], Any]]) -> dict[str, dict[str, Any]]:
    """For every arm, the gradients of the loss that its function returns, or of the losses that it returns or yields
    one after the other, whose gradients add up. What `grad` held before stays."""
    return {arm: _dense(module, found) for arm, found in _slopes(module, arms).items()}


def _dense(module: torch.nn.Module, found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.zeros(p.shape, _array(p).dtype) if found[name] is None else _array(found[name])
            for name, p in _trained(module).items()}


def _trained(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def _slopes(module: torch.nn.Module, arms: Mapping[str, Callable[[], Any]]) -> dict[str, dict[str, Any]]:
    before = [p.grad for p in module.parameters()]
    found = {}
    try:
        for name, loss in arms.items():
            module.zero_grad(set_to_none=True)
            backward(loss)
            found[name] = {key: p.grad for key, p in _trained(module).items()}
    finally:
        for p, grad in zip(module.parameters(), before):
            p.grad = grad
    return found


def backward(loss: Callable[[], Any]) -> torch.Tensor:
    """Adds a loss's gradients, or those of several that follow each other (gradient accumulation), and returns the sum."""
    made = loss()
    total = torch.zeros(())
    for one in [made] if isinstance(made, torch.Tensor) else made:
        one.backward()
        total = total + one.detach()
    return total


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
    params = _trained(module)
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
    arms: Mapping[str, Callable[[], Any]],
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | None = None,
    clip: Clip = None,
    **options: Any,
) -> Comparison:
    """`backcut.compare` on a module: the losses of all arms at this state, the first arm as the reference, and the
    updates that the optimizer really makes of them.

    The update is made, not computed: your clip and optimizer step on a snapshot, and everything goes back. So any
    optimizer will do, parameter groups and schedules too, or several that step in turn (actor and critic in one
    `nn.ModuleDict`). `clip`: what you hand to `clip_grad_norm_`, or a function that changes `grad` as your step does.
    An arm that returns or yields several losses accumulates their gradients. What only a rule says (rho, saturation)
    is there for SGD, Adam and AdamW, where that rule makes the updates that were made.
    """
    slopes = _slopes(module, arms)
    trees = [named(module), *(_dense(module, found) for found in slopes.values())]
    if optimizer is None:
        return compare(*_one_precision(trees, list(arms)), **options)
    again = {name: (lambda loss=loss: backward(loss)) for name, loss in arms.items()}
    made = steps(_trained(module), optimizer, slopes, clip, closures=again)
    updates = {arm: {name: _array(x) for name, x in step.update.items()} for arm, step in made.items()}
    return _compared(trees, list(arms), updates, optimizer, module, clip, options)


def _compared(trees: list[Any], names: list[str], updates: Mapping[str, Any], optimizer: Any, module: torch.nn.Module,
              clip: Any, options: Mapping[str, Any]) -> Comparison:
    """With what a known rule says, if it makes these updates."""
    params, grads = _one_precision(trees, names)
    wide = next(iter(params.values())).dtype
    updates = {arm: {name: x.astype(wide) for name, x in tree.items()} for arm, tree in updates.items()}
    if isinstance(optimizer, torch.optim.Optimizer) and not callable(clip):
        try:
            known = optimizer_state(optimizer, module, clip)
        except Error:
            known = None
        if known is not None:
            try:
                return compare(params, grads, known, updates=updates, **options)
            except Unlike:
                pass
    every = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else optimizer
    called = " and ".join(type(one).__name__ for one in every)
    return compare(params, grads, called + (" with a clip of its own" if callable(clip) else ""), updates=updates, **options)


def _one_precision(trees: list[Any], names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and gradients, in the widest precision that one of them has: that loses nothing."""
    wide = max((x.dtype for tree in trees for x in tree.values()), key=lambda kind: kind.itemsize, default=np.float32)
    same = [{name: x.astype(wide) for name, x in tree.items()} for tree in trees]
    return same[0], dict(zip(names, same[1:]))


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
    return Scaled.apply(x, cut.share) if cut.share else x.detach()  # type: ignore[no-any-return]


def carry(cut: str | Cut, h: Any, t: int, project: Callable[[Any], Any] | None = None) -> Any:
    """What step `t + 1` may see of the recurrent state `h` that step `t` hands on: the state itself (a tensor, or any
    tree of them), or with `project` what its recurrent weights make of it.

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
        # What stands before the first step was stored by none.
        return made if t < 0 else mapped(made, "h", lambda x, _: x.detach())
    if cut.segment is not None and cut.ends(t):
        stopped = lambda x, _: _shared(cut, x) if isinstance(x, torch.Tensor) else x
        h = _shared(cut, h) if isinstance(h, torch.Tensor) else mapped(h, "h", stopped)
    return h if project is None else project(h)
