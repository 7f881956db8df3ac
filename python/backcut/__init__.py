"""What a detach costs: gradients, applied updates, paired studies and their statistics.

    import backcut

    backcut.explain("SEG-8", steps=12)            # what a cut keeps, drawn
    backcut.compare(params, {"full": g0, "cut": g1}, optimizer=...)  # gradient and update layers
    backcut.stats(frame, "cost = [cut@default] - [full@default] > 0")  # paired, honest
    backcut.unit()                                # the program side of a study of a command
    backcut.results("backcut-results/tables/detach")      # what a study found

`backcut.torch` and `backcut.jax` collect gradients and optimizer states, place memory cuts, and answer how far
a gradient really goes (`reach`). Nothing is imported before it is used: `import backcut` takes milliseconds.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import jax, torch
    from ._backcut import Error, __version__
    from ._compare import Comparison, Optimizer, compare
    from ._cut import Cut
    from ._explain import Explanation, explain
    from ._monitor import Monitor
    from ._reach import Reach
    from ._results import Results, results
    from ._stats import Report, stats
    from ._table import Table
    from ._unit import Unit, unit

_PLACES = {
    "Error": "_backcut", "__version__": "_backcut",
    "compare": "_compare", "Comparison": "_compare", "Optimizer": "_compare",
    "Cut": "_cut",
    "explain": "_explain", "Explanation": "_explain",
    "Monitor": "_monitor",
    "Reach": "_reach",
    "results": "_results", "Results": "_results",
    "stats": "_stats", "Report": "_stats",
    "Table": "_table",
    "unit": "_unit", "Unit": "_unit",
}

__all__ = [
    "Comparison", "Cut", "Error", "Explanation", "Monitor", "Optimizer", "Reach", "Report", "Results", "Table", "Unit",
    "__version__", "compare", "explain", "jax", "results", "stats", "torch", "unit",
]


def __getattr__(name: str) -> Any:
    if name in ("torch", "jax"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _PLACES:
        raise AttributeError(f"module 'backcut' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
