"""Tests of a backward graph: gradcheck for detaches.

    from backcut.testing import assert_no_credit, assert_reach

    def test_truncation():
        assert_reach(net, "SEG-16", losses=lambda: losses(net, x, y), watch={"h": net.cell})
        assert_no_credit(target, to=net.critic)

Under pytest both are fixtures as well, without an import. An assertion that can not see what it asserts fails.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._backcut import Error
from ._reach import Reach


def assert_reach(subject: Any, cut: str, *, losses: Callable[[], Iterable[Any]] | None = None,
                 watch: Mapping[str, Any] | str | None = None, state: str | None = None,
                 window: int | None = None) -> Reach:
    """That credit goes as far as a cut says.

    `subject`: a `Reach`; a function that runs a program and notes with the `reach` it is given (`r.state`, `r.loss`);
    or a module, with `losses`, which runs it and gives one loss per step, and `watch`: by name, the modules whose
    outputs are the state (of one module its own, if nothing is said). `window`: how many steps the forward reads.
    """
    __tracebackhide__ = True
    found = subject if isinstance(subject, Reach) else _looked(subject, losses, watch)
    try:
        found.check(cut, state, window)
    except Error as error:
        raise AssertionError(f"{error}\n\n{found!r}") from None
    return found


def _looked(subject: Any, losses: Any, watch: Any) -> Reach:
    import torch

    from .torch import reach
    if not isinstance(subject, torch.nn.Module):
        if not callable(subject):
            raise Error(f"a {type(subject).__name__} has no backward graph\nhint: a module, a function, or a Reach")
        with reach() as r:
            subject(r)
        return r.result
    if losses is None:
        raise Error("a module alone has no loss\nhint: losses=lambda: [...], one per step")
    parts = {watch: subject} if isinstance(watch, str) else watch or {"state": subject}
    with reach() as r:
        for name, part in parts.items():
            r.watch(part, name)
        for loss in losses():
            r.loss(loss)
    return r.result


def assert_no_credit(a: Any, *, to: Any) -> None:
    """That no gradient of `a` (a tensor or a tree of them) arrives at `to` (a tensor, a tree, a module)."""
    __tracebackhide__ = True
    from ._torch_forbid import credit_between
    found = credit_between(a, to)
    if found:
        part, length = found[0]
        names = [name for name, _ in to.named_parameters()] if hasattr(to, "named_parameters") else []
        where = f"`{names[part]}`" if names else f"part {part}"
        raise AssertionError(f"credit arrives at {where} (a gradient of length {length:.3g}), and at {len(found)} in all")
