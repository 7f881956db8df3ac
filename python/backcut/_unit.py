"""The program side of a study of a command: what to compute, and where to say what came of it.

A study with `[system] command = [...]` starts a program once per unit and names a file in the environment
variable `BACKCUT_UNIT` (docs/your-program.md describes it). `unit()` reads it:

    unit = backcut.unit(arm="every-8", settings={"detach": 8}, updates=200)   # used where no study runs
    for update in range(unit.updates): ...
    unit.finish(loss)
"""
from __future__ import annotations

import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VARIABLE = "BACKCUT_UNIT"
VERSION = 1


class UnitError(ValueError):
    """A unit that can not be read, or a result that makes no sense."""


@dataclass
class Unit:
    """One unit of a study: an arm under a condition, with a seed and a budget."""

    arm: str
    condition: str
    seed: int
    updates: int
    evaluate: list[int]
    settings: dict[str, Any]
    checkpoint: Path
    """A folder of the unit's own; what a killed attempt left in it is still there."""
    id: str | None = None
    """The unit's name in its study; `None` where no study runs."""
    _result: Path | None = None
    _progress: Path | None = None
    _curve: list[tuple[int, float]] = field(default_factory=list)
    _findings: list[dict[str, Any]] = field(default_factory=list)
    _provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def in_study(self) -> bool:
        return self._result is not None

    def progress(self, done: int) -> None:
        """Says how many updates are done; shown while the study runs."""
        if self._progress is not None:
            _replace(self._progress, f"{int(done)}\n".encode())

    def record(self, update: int, value: float) -> None:
        """Adds a point of the curve: the value after so many updates."""
        update, value = int(update), _finite(value, f"the value after update {update}")
        if self._curve and update <= self._curve[-1][0]:
            raise UnitError(f"update {update} was recorded after update {self._curve[-1][0]}")
        self._curve.append((update, value))

    def finding(self, quantity: str, value: float | None, part: str = "all", note: str = "") -> None:
        """Adds a number beside the result: a row of the study's measurements. Without a value it needs a note."""
        if value is not None:
            value = _finite(value, f"the finding {quantity!r}")
        elif not note:
            raise UnitError(f"the finding {quantity!r} has no value: say why in its note")
        self._findings.append({"quantity": quantity, "part": part, "value": value, "note": note})

    def findings(self, comparison: Any, quantities: list[str] | None = None, part: str | None = "all") -> None:
        """Adds rows of a comparison (`backcut.compare`), named `QUANTITY ARM`: of the named quantities or all, of one
        part of the parameters or, with `None`, of every part."""
        for row in comparison.table:
            if (quantities is None or row["quantity"] in quantities) and part in (None, row["part"]):
                name = f"{row['quantity']} {row['arm']}".strip()
                self.finding(name, row["value"], row["part"], row["note"])

    def provenance(self, **facts: Any) -> None:
        """Adds facts that are no part of the result, such as the device."""
        self._provenance.update(facts)

    @contextmanager
    def saving(self, name: str) -> Iterator[Path]:
        """Writes a file of the checkpoint folder whole or not at all: write to the path that is handed out."""
        path = self.checkpoint / name
        new = path.with_name(path.name + ".new")
        yield new
        os.replace(new, path)

    def finish(self, value: float | None = None) -> dict[str, Any]:
        """Hands over the result. `value` may be left out if the last point of the curve has it."""
        if value is None and not self._curve:
            raise UnitError("there is no value: give one, or record the curve")
        result: dict[str, Any] = {}
        if value is not None:
            result["value"] = _finite(value, "the value")
        missing = [u for u in self.evaluate if u not in {at for at, _ in self._curve}]
        if missing and (value is None or missing != [self.updates]):
            raise UnitError(f"the study asks for values after updates {missing}, which were not recorded")
        if self._curve:
            if missing and value is not None:
                self.record(self.updates, value)
            result["curve"] = [list(point) for point in self._curve]
        if self._findings:
            result["findings"] = self._findings
        return self._hand_over(result)

    def fail(self, why: str) -> dict[str, Any]:
        """Hands over that there is no value, and why: a failed unit is an outcome."""
        return self._hand_over({"failed": " ".join(why.split()) or "no reason given"})

    def _hand_over(self, result: dict[str, Any]) -> dict[str, Any]:
        result["provenance"] = {**_versions(), **self._provenance}
        text = json.dumps(result, allow_nan=False)
        if self._result is None:
            print(text)
        else:
            _replace(self._result, text.encode())
        return result


def unit(
    *,
    arm: str = "by hand",
    condition: str = "default",
    seed: int = 0,
    updates: int = 1,
    evaluate: list[int] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Unit:
    """The unit that a study asks this program for; where no study runs, one made of the arguments.

    Then the result is printed and the checkpoint folder is a temporary one. Settings that the program names
    here and the study does not are an error, and so is the reverse: a misspelt key would change nothing.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        folder = Path(tempfile.mkdtemp(prefix="backcut-unit-"))
        return Unit(arm, condition, seed, updates, evaluate or [updates], dict(settings or {}), folder)
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
    except (OSError, ValueError) as error:
        raise UnitError(f"failed to read the unit in {path}: {error}") from error
    if given.get("version") != VERSION:
        raise UnitError(f"the unit in {path} has version {given.get('version')}; this package reads {VERSION}")
    try:
        made = Unit(
            arm=given["arm"], condition=given["condition"], seed=given["seed"], updates=given["updates"],
            evaluate=list(given["evaluate"]), settings=dict(given["settings"]),
            checkpoint=Path(given["checkpoint"]), id=given["unit"], _result=Path(given["result"]),
            _progress=Path(given["progress"]))
    except KeyError as error:
        raise UnitError(f"the unit in {path} has no {error}") from error
    if settings is not None:
        for key in sorted(set(settings) ^ set(made.settings)):
            where = "the program, not the study" if key in settings else "the study, not the program"
            raise UnitError(f"the setting {key!r} is named by {where}")
    return made


def _finite(value: Any, what: str) -> float:
    value = float(value)
    if not math.isfinite(value):
        raise UnitError(f"{what} is {value}; say `unit.fail(...)` where there is none")
    return value


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    os.replace(new, path)


def _versions() -> dict[str, Any]:
    """Interpreter, and those packages that numbers come from, as far as they are in use."""
    packages = {}
    for name in ("numpy", "torch", "jax", "jaxlib", "optax", "flax", "tensorflow", "backcut"):
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            packages[name] = str(version)
    return {"python": platform.python_version(), "packages": packages}
