"""The paired protocol on a data frame."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _backcut
from ._table import Table

_ROW = ["name", "estimate", "family_low", "family_high", "pointwise_low", "pointwise_high", "n", "agreeing",
        "p", "adjusted_p", "verdict", "reason", "status"]


@dataclass(frozen=True, repr=False)
class Report:
    """What `backcut stats` says: a row per contrast, in `rows`; everything it holds, in `data`."""

    data: dict[str, Any]
    text: str
    svg: str

    @property
    def rows(self) -> Table:
        return Table.of_rows(_ROW, [_row(row) for row in self.data["rows"]])

    def verdict(self, name: str | None = None) -> str:
        """The verdict of a contrast, by name, or of the only one."""
        found = {row["name"]: row["verdict"] for row in self.data["rows"]}
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        if name not in found:
            raise KeyError(f"no contrast {name!r}; there are {', '.join(found)}")
        return found[name]

    def __repr__(self) -> str:
        return self.text

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{_escape(note)}</p>" for note in self.data["notes"])
        return self.svg + self.rows._repr_html_() + notes


def _row(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["family"]
    pointwise = row["pointwise"]
    return {**row, "family_low": low, "family_high": high, "pointwise_low": pointwise[0],
            "pointwise_high": pointwise[1], "p": row["exact"]["p"]}


def stats(
    table: Any,
    *contrasts: str,
    values: list[str] | tuple[str, ...] = (),
    family_size: int | None = None,
    margin: float | None = None,
    one_sided: bool = False,
    alpha: float | None = None,
    draws: int | None = None,
    seed: int | None = None,
    exact_up_to: int | None = None,
    source: str | None = None,
    arm: str | None = None,
    condition: str | None = None,
    value: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    drop_incomplete: bool = False,
    title: str | None = None,
) -> Report:
    """Paired source-level inference: the verdicts of `backcut stats` on the same numbers.

    `table`: whatever offers Arrow's `__arrow_c_stream__` (a polars data frame, a pandas one where pyarrow is
    installed, a pyarrow table, duckdb's results), a pandas data frame without it, a mapping of columns, or the path
    of a CSV or Parquet file. One row per source and a column
    per cell, or one row per measurement with the columns `arm`, `condition` (either may be missing) and `value`;
    the arguments of these names say which columns play these parts.

    Contrasts are expressions over bracketed cells: `"cost = [cut@0.2] - [full@0.2] > 0"`.
    """
    file, frame, columns, name = None, None, [], "data frame"
    if isinstance(table, (str, os.PathLike)):
        file, name = Path(table).read_bytes(), Path(table).name
    else:
        frame = _stream(table)
        columns = [] if frame else _columns(table)
    options = dict(
        contrasts=list(contrasts), values=list(values), family_size=family_size, margin=margin,
        one_sided=one_sided, alpha=alpha, draws=draws, seed=seed, exact_up_to=exact_up_to, source=source, arm=arm,
        condition=condition, value=value, cluster=cluster, stratum=stratum, drop_incomplete=drop_incomplete,
        title=title or name)
    data, text, svg = _backcut.stats(file, frame, columns, json.dumps(options))
    return Report(json.loads(data), text, svg)


class _Stream:
    """A frame's Arrow stream, made already: whether a frame has one shows when it is asked."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._capsule


def _stream(table: Any) -> _Stream | None:
    """The table as an Arrow stream; none of what offers none: a mapping, pandas without pyarrow, a column of
    mixed objects."""
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):  # a lazy frame
        table = table.collect()
    if not hasattr(table, "__arrow_c_stream__"):
        return None
    try:
        return _Stream(_with_index(table).__arrow_c_stream__())
    except Exception:  # whatever a library raises; its columns are read one by one then
        return None


def _with_index(table: Any) -> Any:
    """A pandas frame whose index has a name has it as a column."""
    name = getattr(getattr(table, "index", None), "name", None)
    return table.reset_index() if name is not None and name not in table.columns else table


def _columns(table: Any) -> list[tuple[str, list[Any]]]:
    """The columns of anything that has some, with `None` for what is missing."""
    module = type(table).__module__.partition(".")[0]
    if isinstance(table, Table):
        return list(table.columns.items())
    if module == "pandas":
        frame = _with_index(table)
        names = list(frame.columns)
        whole = [frame.iloc[:, i] for i in range(len(names))]
        return [(str(n), s.astype(object).where(s.notna(), None).tolist()) for n, s in zip(names, whole)]
    if hasattr(table, "items"):
        return [(str(name), _listed(values)) for name, values in table.items()]
    raise _backcut.Error(f"a {type(table).__name__} is no table\n"
                         "hint: give a pandas or polars data frame, a mapping of columns, or a CSV file's path")


def _listed(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _escape(text: str) -> str:
    import html
    return html.escape(text)
