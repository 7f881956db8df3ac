"""Arms recorded around a library's own training step."""
from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ._backcut import Error
from ._compare import Comparison
from ._step import _kept, _wide


class arms:
    """Compares training steps that compute, clip and step in one function, as libraries have them.

        with backcut.torch.arms(trainer.optimizer, trainer.policy) as a:
            a("full", lambda: trainer.train_batch(batch))
            a("cut", lambda: trainer.train_batch(batch, detach=True))
        a.result                                # a `Comparison`, as `measure` gives it

    Every call runs its function from the same parameters, optimizer state and random numbers (PyTorch's, numpy's,
    Python's), records the first step that each optimizer makes in it (`step=1`: the second, ...), and puts all of that
    back, the module's buffers too. The gradient is taken as `backward` left it; what the optimizer then finds is what
    clipping, however it was called, made of it. Whatever else the function changes (a buffer of data, a logger) is not
    put back. `module` gives parameters their names.
    """

    def __init__(self, optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer],
                 module: torch.nn.Module | None = None, step: int = 0) -> None:
        self.optimizers = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)
        held = [p for one in self.optimizers for group in one.param_groups for p in group["params"]]
        names = {} if module is None else {id(p): name for name, p in module.named_parameters()}
        self._params = {names.get(id(p), f"parameter{i}"): p for i, p in enumerate(held)}
        if len(self._params) < len(held):
            raise Error("a parameter is held by two optimizers\nhint: hand over one of them")
        unnamed = [p for p in held if module is not None and id(p) not in names]
        if unnamed:
            raise Error(f"the module does not hold a tensor of shape {tuple(unnamed[0].shape)} that is trained\n"
                        "hint: hand over the module that holds all parameters, or none")
        self._module, self._step, self._found = module, step, dict[str, tuple[dict[str, Any], dict[str, Any]]]()
        self._clipped: dict[str, dict[str, Any]] = {}
        self._result: Comparison | None = None
        # Steps that each arm made, by optimizer.
        self.steps: dict[str, list[int]] = {}

    def __enter__(self) -> arms:
        return self

    def __call__(self, name: str, run: Callable[[], Any]) -> Any:
        """Runs an arm, and returns what its function returns."""
        if name in self._found:
            raise Error(f"the arm `{name}` was recorded already\nhint: give every arm a name of its own")
        raw: dict[str, Any] = {}
        clipped: dict[str, Any] = {}
        update: dict[str, Any] = {}
        counts = [0] * len(self.optimizers)
        hooks: list[Any] = []
        latest: dict[str, torch.Tensor] = {}
        before: dict[str, torch.Tensor] = {}
        name_of = {id(p): key for key, p in self._params.items()}

        def begins(i: int) -> Any:
            def hook(optimizer: Any, *_: Any) -> None:
                if counts[i] != self._step:
                    return
                for group in optimizer.param_groups:
                    for p in group["params"]:
                        key = name_of[id(p)]
                        raw[key] = latest.get(key)
                        clipped[key] = None if p.grad is None else p.grad.detach().clone()
                        before[key] = p.detach().clone()
            return hook

        def ends(i: int) -> Any:
            def hook(optimizer: Any, *_: Any) -> None:
                if counts[i] == self._step:
                    for group in optimizer.param_groups:
                        for p in group["params"]:
                            key = name_of[id(p)]
                            update[key] = _wide(p.detach()) - _wide(before[key])
                counts[i] += 1
                # What was accumulated for this step is no gradient of the next.
                for group in optimizer.param_groups:
                    for p in group["params"]:
                        latest.pop(name_of[id(p)], None)
            return hook

        def arrived(key: str) -> Any:
            def hook(p: torch.Tensor) -> None:
                latest[key] = p.grad.detach().clone()  # type: ignore[union-attr]
            return hook

        with contextlib.ExitStack() as stack:
            stack.enter_context(_generators())
            stack.enter_context(_buffers(self._module))
            stack.enter_context(_kept(list(self._params.values()), self.optimizers))
            for i, optimizer in enumerate(self.optimizers):
                hooks += [optimizer.register_step_pre_hook(begins(i)), optimizer.register_step_post_hook(ends(i))]
            for key, p in self._params.items():
                if p.requires_grad:
                    hooks.append(p.register_post_accumulate_grad_hook(arrived(key)))  # type: ignore[arg-type]
            try:
                made = run()
            finally:
                for hook in hooks:
                    hook.remove()
        lacking = [i for i, count in enumerate(counts) if count <= self._step]
        if lacking:
            raise Error(f"`{name}` made {counts[lacking[0]]} steps of {type(self.optimizers[lacking[0]]).__name__}, and "
                        f"step {self._step} was to be recorded\nhint: hand over the optimizer that this function steps")
        self._found[name], self._clipped[name], self.steps[name] = (raw, update), clipped, counts
        return made

    def __exit__(self, kind: Any, *_rest: Any) -> None:
        if kind is None:
            self._result = self._compared()

    @property
    def result(self) -> Comparison:
        if self._result is None:
            raise Error("arms have a result once their `with` block has ended")
        return self._result

    def _compared(self) -> Comparison:
        from .torch import _array, _compared
        if not self._found:
            raise Error("no arm was recorded\nhint: a(\"full\", lambda: trainer.train_batch(batch))")
        zeros = lambda p, grad: np.zeros(p.shape, _array(p).dtype) if grad is None else _array(grad)
        trees = [{key: _array(p) for key, p in self._params.items()}]
        trees += [{key: zeros(p, raw[key]) for key, p in self._params.items()} for raw, _ in self._found.values()]
        updates = {arm: {key: _array(x) for key, x in made.items()} for arm, (_, made) in self._found.items()}
        one = self.optimizers[0] if len(self.optimizers) == 1 else self.optimizers
        alone = self._step == 0 and self._module is not None and len(self.optimizers) == 1
        clip = self._clip()
        named_all = alone and clip is not _OTHER
        return _compared(trees, list(self._found), updates, one, self._module if named_all else None,
                         clip if named_all else _OTHER, {})

    def _clip(self) -> Any:
        """The clip of the global norm that made what the optimizer found of what arrived; `_OTHER` for anything else."""
        clip = None
        for arm, (raw, _) in self._found.items():
            pairs = [(raw[key], self._clipped[arm][key]) for key in raw if raw[key] is not None]
            if any((a is None) != (self._clipped[arm][key] is None) for key, a in raw.items()):
                return _OTHER
            length = float(torch.stack([a.float().norm() for a, _ in pairs]).norm()) if pairs else 0.0
            left = float(torch.stack([b.float().norm() for _, b in pairs]).norm()) if pairs else 0.0
            if all(torch.equal(a, b) for a, b in pairs):
                continue
            if not all(torch.allclose(a * (left / length), b, rtol=1e-4, atol=0.0) for a, b in pairs):
                return _OTHER
            # A clip divides by the norm and a little more.
            made = left * (length + 1e-6) / length
            if clip is not None and abs(made - clip) > 1e-4 * clip:
                return _OTHER
            clip = clip or made
        return clip


def _OTHER() -> None:
    """Stands for what was done to gradients and is no clip of the global norm."""


@contextlib.contextmanager
def _generators() -> Any:
    numbers, python = np.random.get_state(), random.getstate()
    try:
        yield
    finally:
        np.random.set_state(numbers)
        random.setstate(python)


@contextlib.contextmanager
def _buffers(module: torch.nn.Module | None) -> Any:
    held = [] if module is None else [(b, b.detach().clone()) for b in module.buffers()]
    modes = [] if module is None else [(m, m.training) for m in module.modules()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, value in held:
                buffer.copy_(value)
        for part, mode in modes:
            part.training = mode
