"""The update that an optimizer really makes: its own step on a snapshot, and back."""
from __future__ import annotations

import contextlib
import copy
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import torch

from ._backcut import Error

Clip = Union[float, Callable[[], Any], None]


@dataclass(frozen=True)
class Step:
    """One arm's step: its gradients as clipped, what was added to every parameter, and what was asked for after it."""

    clipped: dict[str, torch.Tensor | None]
    update: dict[str, torch.Tensor]
    after: Any


def steps(
    params: Mapping[str, torch.Tensor],
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer],
    grads: Mapping[str, Mapping[str, Any]],
    clip: Clip = None,
    then: Callable[[], Any] | None = None,
    closures: Mapping[str, Callable[[], Any]] | None = None,
) -> dict[str, Step]:
    """What clip and optimizer make of every arm's gradients, each from the state that is there now.

    `params`: by name, all that the optimizers may change. `grads`: for every arm a gradient by name, a tensor or an
    array; `None` or a missing name is a parameter that no gradient arrived at, which optimizers pass over. `optimizer`:
    one or several, which step in turn. `clip`: the largest global norm of all these gradients, or a function that
    changes the parameters' `grad` as your own step does. `then` is called where the parameters have moved, once per
    arm. `closures`: for every arm, what adds its gradients anew and returns its loss, for optimizers that ask again
    while they step (LBFGS). Afterwards parameters, gradients, optimizers and the generators of random numbers are as they were, and
    graphs that were recorded before can still be differentiated.
    """
    optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)
    _refuse(params, optimizers, closures)
    made = {}
    for arm, grad in grads.items():
        with _kept(list(params.values()), optimizers):
            before = {name: p.detach().clone() for name, p in params.items()}
            for name, p in params.items():
                value = grad.get(name)
                p.grad = None if value is None else torch.as_tensor(value).detach().to(p, copy=True)
            _clip(params, clip)
            clipped = {name: None if p.grad is None else p.grad.clone() for name, p in params.items()}
            for one in optimizers:
                if isinstance(one, torch.optim.LBFGS):
                    one.step(_asked(params, clip, (closures or {})[arm]))
                else:
                    one.step()
            update = {name: _wide(p.detach()) - _wide(before[name]) for name, p in params.items()}
            made[arm] = Step(clipped, update, then() if then else None)
    return made


def _clip(params: Mapping[str, torch.Tensor], clip: Clip) -> None:
    if callable(clip):
        clip()
    elif clip is not None:
        torch.nn.utils.clip_grad_norm_(list(params.values()), clip)


def _asked(params: Mapping[str, torch.Tensor], clip: Clip, closure: Callable[[], Any]) -> Callable[[], Any]:
    def again() -> Any:
        for p in params.values():
            p.grad = None
        with torch.enable_grad():
            loss = closure()
        _clip(params, clip)
        return loss
    return again


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    # A difference of halves need not be one.
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def _refuse(params: Mapping[str, torch.Tensor], optimizers: Sequence[torch.optim.Optimizer], closures: Any) -> None:
    known = {id(p) for p in params.values()}
    for optimizer in optimizers:
        if isinstance(optimizer, torch.optim.LBFGS) and closures is None:
            raise Error("LBFGS asks for the loss again and again while it steps\nhint: say how in `closures`")
        for g, group in enumerate(optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                if id(p) not in known and p.requires_grad:
                    raise Error(f"{type(optimizer).__name__} also changes a tensor of shape {tuple(p.shape)} (group {g}, "
                                f"number {i}), of which no gradient was asked for\n"
                                "hint: hand in the module that holds all it changes")


@contextlib.contextmanager
def _kept(params: list[torch.Tensor], optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[None]:
    """Whatever a step changes is as before when the block ends."""
    values, grads = [p.detach().clone() for p in params], [p.grad for p in params]
    whole = [*optimizers, *(inner for one in optimizers for inner in vars(one).values()
                            if isinstance(inner, torch.optim.Optimizer))]
    attributes = [dict(vars(one)) for one in whole]
    # Values come back bit by bit, so what a recorded graph keeps of them is still right.
    with torch.random.fork_rng(sorted({p.get_device() for p in params if p.is_cuda})), \
            torch.autograd._unsafe_preserve_version_counter(tuple(params)):
        try:
            for one in whole:
                # The step works on copies: nobody who holds the optimizer's own tensors sees them move.
                one.state = defaultdict(dict, {p: copy.deepcopy(state) for p, state in one.state.items()})
                one.param_groups = [{key: value if key == "params" else copy.deepcopy(value)
                                     for key, value in group.items()} for group in one.param_groups]
            yield
        finally:
            for one, known in zip(whole, attributes):
                vars(one).clear()
                vars(one).update(known)
            with torch.no_grad():
                for p, value, grad in zip(params, values, grads):
                    p.copy_(value)
                    p.grad = grad
