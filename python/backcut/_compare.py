"""Gradients under several arms, and what an optimizer makes of them."""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _backcut
from ._backcut import Error
from ._table import Table

_KINDS = {
    "sgd": {"rate": None, "momentum": 0.0, "decay": 0.0},
    "adam": {"rate": None, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.0},
    "adamw": {"rate": None, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01},
}


@dataclass
class Optimizer:
    """An optimizer's settings and what it remembers.

    `kind`: `sgd`, `adam` or `adamw`. `settings`: `rate`, `decay` and those of the kind (`momentum`; `beta1`, `beta2`,
    `eps`). `clip`: the clip of the **global** norm, if any. `step`: updates made so far. `moments`: the vectors it
    remembers, each by parameter (one for SGD with momentum; first and second for Adam and AdamW); left out before
    the first update. SGD and Adam add their decay to the gradient, as PyTorch's do; AdamW does not.
    """

    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    clip: float | None = None
    step: int = 0
    moments: list[Mapping[str, Any]] = field(default_factory=list)

    def checked(self) -> dict[str, Any]:
        if self.kind not in _KINDS:
            raise Error(f"the optimizer `{self.kind}` is not known\nhint: there are {', '.join(_KINDS)}")
        known = _KINDS[self.kind]
        for key in self.settings:
            if key not in known:
                raise Error(f"`{self.kind}` has no setting `{key}`\nhint: it has {', '.join(known)}")
        settings = {**known, **self.settings}
        if settings["rate"] is None:
            raise Error(f"`{self.kind}` needs a `rate`\nhint: settings={{'rate': 1e-3}}")
        if self.clip is not None and not self.clip > 0:
            raise Error(f"a global norm can not be clipped to {self.clip}\nhint: leave `clip` out for none")
        wanted = (1 if settings["momentum"] else 0) if self.kind == "sgd" else 2
        if self.step < 0 or wanted and (self.step == 0) == bool(self.moments):
            raise Error(f"`{self.kind}` after {self.step} updates with {len(self.moments)} moments\n"
                        "hint: give the count of updates and the moments together, or neither before the first")
        if self.moments and len(self.moments) != wanted:
            raise Error(f"`{self.kind}` has {wanted} moments, {len(self.moments)} were given")
        return {"kind": self.kind, **settings}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Findings as a tidy table: `quantity`, `arm`, `part`, `value`, `note` (why there is no value)."""

    table: Table
    reference: str

    def value(self, quantity: str, arm: str, part: str = "all") -> float | None:
        """One number."""
        found = self.table.where(quantity=quantity, arm=arm, part=part)
        if len(found) == 0:
            names = sorted(set(self.table["quantity"]))
            raise KeyError(f"no {quantity!r} of {arm!r} in {part!r}; quantities are {', '.join(names)}")
        value: float | None = found["value"][0]
        return value

    def summary(self) -> Table:
        """A row per arm: the whole gradient and, with an optimizer, the applied update, against the reference."""
        names = ["gradient.norm", "gradient.ratio", "gradient.cosine", "gradient.difference", "clip.factor",
                 "rho.median", "applied.sign-cosine", "applied.ratio", "applied.cosine", "applied.difference"]
        whole = {(row["quantity"], row["arm"]): row["value"] for row in self.table if row["part"] == "all"}
        shown = [name for name in names if (name, self.reference) in whole]
        arms = [arm for name, arm in whole if name == "gradient.norm"]
        return Table({"arm": arms, **{name: [whole.get((name, arm)) for arm in arms] for name in shown}})

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def compare(
    params: Mapping[str, Any],
    grads: Mapping[str, Mapping[str, Any]],
    optimizer: Optimizer | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    factorial: tuple[str, str, str, str] | None = None,
) -> Comparison:
    """Compares gradients under several arms with the first arm's, and the updates an optimizer makes of them.

    `params`: arrays by name. `grads`: for every arm, an array for every parameter. All are of one precision
    (float32 or float64). `groups`: parts by name, each a regular expression over parameters' names; what none of
    them matches is grouped by the name of its module. `factorial`: four arms a, b, c, d; adds |a - b|, |c - d| and
    the interaction |a - b - c + d| at every layer, relative to the first arm's length.

    The numbers are those of `backcut measure gradients` on the same arrays, to the last digit.
    """
    if not params or not grads:
        raise Error("there is nothing to compare\nhint: give parameters by name, and gradients by arm and name")
    kind = _precision(params, grads, optimizer)
    shapes = {name: np.shape(value) for name, value in params.items()}
    flat = [_flat(f"the gradient of arm `{arm}`", tree, shapes, kind) for arm, tree in grads.items()]
    request: dict[str, Any] = {
        "tensors": [{"name": name, "len": int(np.prod(shape)), "group": group}
                    for (name, shape), group in zip(shapes.items(), _grouped(list(shapes), groups))],
        "arms": list(grads), "optimizer": None, "clip": None, "step": 0, "factorial": None,
    }
    theta, moments = _flat("the parameters", params, shapes, kind), []
    if optimizer is not None:
        request |= {"optimizer": optimizer.checked(), "clip": optimizer.clip, "step": optimizer.step}
        moments = [_flat(f"moment {i + 1}", tree, shapes, kind) for i, tree in enumerate(optimizer.moments)]
        if len(moments) == 2 and bool(np.any(moments[1] < 0)):
            raise Error("moment 2 is negative somewhere: it is a mean of squares\nhint: are the moments swapped?")
    if factorial is not None:
        unknown = [arm for arm in factorial if arm not in grads]
        if len(factorial) != 4 or unknown:
            raise Error(f"a factorial is four arms, got {factorial}\nhint: the arms are {', '.join(grads)}")
        request["factorial"] = [list(grads).index(arm) for arm in factorial]
    run = _backcut.compare_f32 if kind == np.float32 else _backcut.compare_f64
    rows = json.loads(run(theta, flat, moments, json.dumps(request)))
    return Comparison(Table.of_rows(["quantity", "arm", "part", "value", "note"], rows), next(iter(grads)))


def _precision(params: Mapping[str, Any], grads: Mapping[str, Mapping[str, Any]],
               optimizer: Optimizer | None) -> Any:
    found: dict[Any, str] = {}
    trees = [("parameter", params), *((f"gradient of `{arm}`:", tree) for arm, tree in grads.items())]
    trees += [(f"moment {i + 1}:", tree) for i, tree in enumerate(optimizer.moments if optimizer else [])]
    for what, tree in trees:
        for name, value in tree.items():
            found.setdefault(np.asarray(value).dtype, f"{what} `{name}`")
    if len(found) > 1:
        (a, first), (b, second), *_ = found.items()
        raise Error(f"{first} is {a}, {second} is {b}\nhint: convert all of them to one precision")
    kind = next(iter(found))
    if kind not in (np.float32, np.float64):
        raise Error(f"{found[kind]} is {kind}\nhint: convert everything to float32 or float64")
    return kind


def _flat(what: str, tree: Mapping[str, Any], shapes: Mapping[str, Any], kind: Any) -> Any:
    """One vector, in the parameters' order; or what is missing, extra, reshaped or not finite."""
    missing = [name for name in shapes if name not in tree]
    extra = [name for name in tree if name not in shapes]
    if missing or extra:
        wrong = f"lacks `{missing[0]}`" if missing else f"has `{extra[0]}`, which is no parameter"
        raise Error(f"{what} {wrong}\nhint: a parameter without a gradient under an arm has a gradient of zeros")
    vector = np.empty(sum(int(np.prod(shape)) for shape in shapes.values()), kind)
    start = 0
    for name, shape in shapes.items():
        value = np.asarray(tree[name])
        if value.shape != shape:
            raise Error(f"{what} has `{name}` of shape {value.shape}; the parameter has {shape}")
        if not np.isfinite(value).all():
            raise Error(f"{what} is not finite in `{name}`")
        vector[start:start + value.size] = value.reshape(-1)
        start += value.size
    return vector


def _grouped(names: list[str], groups: Mapping[str, str] | None) -> list[str | None]:
    if groups is None:
        return [None] * len(names)
    chosen: list[str | None] = []
    for name in names:
        fitting = [group for group, pattern in groups.items() if re.search(pattern, name)]
        if len(fitting) > 1:
            raise Error(f"`{name}` belongs to the groups {' and '.join(fitting)}\n"
                        "hint: every parameter belongs to one part")
        chosen.append(fitting[0] if fitting else None)
    unused = [group for group in groups if group not in chosen]
    if unused:
        raise Error(f"no parameter matches the group `{unused[0]}` = {groups[unused[0]]!r}\n"
                    f"hint: names are {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}")
    return chosen
