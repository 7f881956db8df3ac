"""A small table: columns by name, printed, shown in a notebook, or handed on."""
from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _backcut

_SHOWN = 60


class Table:
    """Columns of one length. Rows are dictionaries; `to_pandas` and `to_polars` hand them on."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = {name: list(values) for name, values in columns.items()}
        if len({len(values) for values in self.columns.values()}) > 1:
            raise ValueError("columns of a table have one length")

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
        return cls({name: [row.get(name) for row in rows] for name in names})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for values in zip(*self.columns.values()):
            yield dict(zip(self.columns, values))

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    def where(self, **wanted: Any) -> Table:
        """The rows in which each named column has the given value."""
        for name in wanted:
            if name not in self.columns:
                raise KeyError(f"no column {name!r}; there are {', '.join(self.columns)}")
        rows = [row for row in self if all(row[name] == value for name, value in wanted.items())]
        return Table.of_rows(list(self.columns), rows)

    def to_pandas(self) -> Any:
        import pandas
        return pandas.DataFrame(self.columns)

    def to_polars(self) -> Any:
        import polars
        return polars.DataFrame(self.columns)

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(_harmless, self.columns))
        writer.writerows(map(_harmless, values) for values in zip(*self.columns.values()))
        return text.getvalue()

    def __repr__(self) -> str:
        shown = [[_short(name) for name in self.columns]]
        shown += [[_short(value) for value in row.values()] for row in _first(self)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in shown]
        return "\n".join(lines + _rest(self))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(_short(name))}</th>" for name in self.columns)
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_short(v))}</td>" for v in row.values()) + "</tr>"
            for row in _first(self))
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in _rest(self))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>{rest}"


def _harmless(value: Any) -> Any:
    return _backcut.shown(value) if isinstance(value, str) else value


def _first(table: Table) -> list[dict[str, Any]]:
    return [row for row, _ in zip(table, range(_SHOWN))]


def _rest(table: Table) -> list[str]:
    return [f"... {len(table)} rows"] if len(table) > _SHOWN else []


def _short(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else _backcut.shown(str(value))
