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

# What stands for a setting that is left out; a rate has to be said.
_KINDS = {kind: {**dict(settings), "rate": None} for kind, settings in _backcut.rules()}


class Unlike(Error):
    """A rule that makes other updates than those that were made."""


# What only a rule can say; the update itself needs none.
_OF_A_RULE = ("rho.", "moment.", "clip.", "clipped.", "unclipped.", "applied.sign")
# How far a computed update may lie from the one that was made, relative to it. Frameworks take powers of betas in
# single precision, so one minus 0.999 has four digits after the first update.
_ROUNDING = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


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
        wanted = _backcut.moments_of(json.dumps({"kind": self.kind, **settings}))
        if self.step < 0 or wanted and (self.step == 0) == bool(self.moments):
            raise Error(f"`{self.kind}` after {self.step} updates with {len(self.moments)} moments\n"
                        "hint: give the count of updates and the moments together, or neither before the first")
        if self.moments and len(self.moments) != wanted:
            raise Error(f"`{self.kind}` has {wanted} moments, {len(self.moments)} were given")
        return {"kind": self.kind, **settings}


@dataclass(frozen=True, repr=False)
class Comparison:
    """Findings as a tidy table: `quantity`, `arm`, `part`, `value`, `note` (why there is no value).

    `unknown`: the name of an optimizer that made the updates and whose rule is not known.
    """

    table: Table
    reference: str
    unknown: str | None = None

    def value(self, quantity: str, arm: str, part: str = "all") -> float | None:
        """One number."""
        found = self.table.where(quantity=quantity, arm=arm, part=part)
        if len(found) == 0:
            if self.unknown and quantity.startswith(_OF_A_RULE):
                raise Error(f"{self.unknown} makes its own updates, and what `{quantity}` is under its rule is not "
                            "known\nhint: `applied.*` are its updates; an `Optimizer` of the same settings gives "
                            "the rest, where it is one of " + ", ".join(_KINDS))
            names = sorted(set(self.table["quantity"]))
            raise KeyError(f"no {quantity!r} of {arm!r} in {part!r}; quantities are {', '.join(names)}")
        value: float | None = found["value"][0]
        return value

    def summary(self) -> Table:
        """A row per arm: the whole gradient and, with an optimizer, the applied update, against the reference."""
        names = ["gradient.norm", "gradient.ratio", "gradient.cosine", "gradient.difference", "clip.factor",
                 "rho.median", "applied.sign-cosine", "applied.ratio", "applied.cosine", "applied.difference"]
        whole = {(row["quantity"], row["arm"]): row["value"] for row in self.table if row["part"] == "all"}
        arms = [arm for name, arm in whole if name == "gradient.norm"]
        shown = [name for name in names if any(whole.get((name, arm)) is not None for arm in arms)]
        return Table({"arm": arms, **{name: [whole.get((name, arm)) for arm in arms] for name in shown}})

    def scalars(self, prefix: str = "") -> dict[str, float]:
        """The summary's numbers by `arm/quantity`, for any logger."""
        return {f"{prefix}{row['arm']}/{name}": value for row in self.summary() for name, value in row.items()
                if name != "arm" and value is not None}

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def compare(
    params: Mapping[str, Any],
    grads: Mapping[str, Mapping[str, Any]],
    optimizer: Optimizer | str | None = None,
    *,
    updates: Mapping[str, Mapping[str, Any]] | None = None,
    groups: Mapping[str, str] | None = None,
    factorial: tuple[str, str, str, str] | None = None,
) -> Comparison:
    """Compares gradients under several arms with the first arm's, and the updates an optimizer makes of them.

    `params`: arrays by name. `grads`: for every arm, an array for every parameter. All are of one precision
    (float32 or float64). `groups`: parts by name, each a regular expression over parameters' names; what none of
    them matches is grouped by the name of its module. `factorial`: four arms a, b, c, d; adds |a - b|, |c - d| and
    the interaction |a - b - c + d| at every layer, relative to the first arm's length.

    `updates`: for every arm, what your own clip and optimizer add to the parameters; `backcut.torch.measure` and
    `backcut.jax.measure` make them. Then `applied.*` are of these, whatever the optimizer is. An `Optimizer`
    beside them adds what only its rule can say (rho, saturation, the layers of a clip); it is refused if the
    updates that it computes are others. A text names an optimizer whose rule is not known.

    Without `updates` the optimizer's are computed: then the numbers are those of `backcut measure gradients` on
    the same arrays, to the last digit.
    """
    if not params or not grads:
        raise Error("there is nothing to compare\nhint: give parameters by name, and gradients by arm and name")
    known = optimizer if isinstance(optimizer, Optimizer) else None
    if updates is None and known is not optimizer:
        raise Error(f"the optimizer `{optimizer}` is not known\nhint: give the updates that it makes, or an Optimizer")
    if updates is not None and list(updates) != list(grads):
        raise Error(f"updates of the arms {', '.join(updates)}; there are gradients of {', '.join(grads)}\n"
                    "hint: one update for every arm's gradient, in the same order")
    kind = _precision(params, grads, updates, known)
    shapes = {name: np.shape(value) for name, value in params.items()}
    flat = [_flat(f"the gradient of arm `{arm}`", tree, shapes, kind) for arm, tree in grads.items()]
    request: dict[str, Any] = {
        "tensors": [{"name": name, "len": int(np.prod(shape)), "group": group}
                    for (name, shape), group in zip(shapes.items(), _grouped(list(shapes), groups))],
        "arms": list(grads), "optimizer": None, "clip": None, "step": 0, "factorial": None,
    }
    theta, moments = _flat("the parameters", params, shapes, kind), []
    if known is not None:
        request |= {"optimizer": known.checked(), "clip": known.clip, "step": known.step}
        moments = [_flat(f"moment {i + 1}", tree, shapes, kind) for i, tree in enumerate(known.moments)]
        if len(moments) == 2 and bool(np.any(moments[1] < 0)):
            raise Error("moment 2 is negative somewhere: it is a mean of squares\nhint: are the moments swapped?")
    if factorial is not None:
        missing = [arm for arm in factorial if arm not in grads]
        if len(factorial) != 4 or missing:
            raise Error(f"a factorial is four arms, got {factorial}\nhint: the arms are {', '.join(grads)}")
        request["factorial"] = [list(grads).index(arm) for arm in factorial]
    rows = _run(kind, theta, flat, moments, request)
    if updates is not None:
        made = [_flat(f"the update of arm `{arm}`", tree, shapes, kind) for arm, tree in updates.items()]
        if known is not None:
            _check(known, made, _computed(kind, theta, flat, moments, request), request)
        rows = _with_made(rows, _run(kind, theta, made, [], request | {"optimizer": None}))
    table = Table.of_rows(["quantity", "arm", "part", "value", "note"], rows)
    return Comparison(table, next(iter(grads)), optimizer if isinstance(optimizer, str) else None)


def _run(kind: Any, theta: Any, vectors: list[Any], moments: list[Any], request: dict[str, Any]) -> list[Any]:
    run = _backcut.compare_f32 if kind == np.float32 else _backcut.compare_f64
    rows: list[Any] = json.loads(run(theta, vectors, moments, json.dumps(request)))
    return rows


def _computed(kind: Any, theta: Any, flat: list[Any], moments: list[Any], request: dict[str, Any]) -> list[Any]:
    """What the known rule makes of every gradient, by the kernels that the engine trains with."""
    run = _backcut.updates_f32 if kind == np.float32 else _backcut.updates_f64
    return run(theta, flat, moments, json.dumps(request))


def _check(known: Optimizer, made: list[Any], computed: list[Any], request: dict[str, Any]) -> None:
    """That a rule with these settings makes the updates that were made, in every tensor of every arm."""
    for arm, ours, theirs in zip(request["arms"], computed, made):
        start = 0
        for tensor in request["tensors"]:
            piece = slice(start, start := start + tensor["len"])
            length = float(np.linalg.norm(theirs[piece].astype(np.float64)))
            off = float(np.linalg.norm(ours[piece].astype(np.float64) - theirs[piece].astype(np.float64)))
            if off > _ROUNDING[theirs.dtype] * length:
                raise Unlike(f"`{known.kind}` with {known.settings} and a clip of {known.clip} is not what made the "
                            f"updates: at `{tensor['name']}` of arm `{arm}` it is off by {off:.2g}, where the update "
                            f"has the length {length:.2g}\nhint: leave the optimizer out, `applied.*` needs none; or "
                            "give the settings, the state and the clip that made the updates")


def _with_made(rows: list[Any], made: list[Any]) -> list[Any]:
    """Findings in which updates that were made stand where computed ones stood."""
    applied = lambda quantity: "applied." + quantity.partition(".")[2]
    own = [row | {"quantity": applied(row["quantity"])} for row in made]
    lengths = {row["arm"]: row["value"] for row in rows
               if row["quantity"] == "gradient.norm" and row["part"] == "all"}
    for row in [row for row in own if row["part"] == "all"]:
        if row["quantity"] == "applied.norm":
            length = lengths[row["arm"]]
            share = row["value"] / length if length else None
            note = "" if length else "the gradient is zero"
            own.append(row | {"quantity": "r_U", "value": share, "note": note})
        if row["quantity"] == "applied.difference":
            own.append(row | {"quantity": "d_U"})
    key = lambda row: (row["quantity"], row["arm"], row["part"])
    replaced = {key(row) for row in own}
    return [row for row in rows if key(row) not in replaced] + own


def _precision(params: Mapping[str, Any], grads: Mapping[str, Mapping[str, Any]],
               updates: Mapping[str, Mapping[str, Any]] | None, optimizer: Optimizer | None) -> Any:
    found: dict[Any, str] = {}
    trees = [("parameter", params), *((f"gradient of `{arm}`:", tree) for arm, tree in grads.items())]
    trees += [(f"update of `{arm}`:", tree) for arm, tree in (updates or {}).items()]
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
        if np.ma.isMaskedArray(tree[name]):
            raise Error(f"{what} has a mask on `{name}`\nhint: fill it: `.filled(0)`")
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
    for group, pattern in groups.items():
        try:
            re.compile(pattern)
        except re.error as error:
            raise Error(f"the pattern of group `{group}`, {pattern!r}: {error}\nhint: escape it") from None
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
