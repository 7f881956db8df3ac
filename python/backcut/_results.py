"""Results folders: the tables of a collected study, with their rows' statuses."""
from __future__ import annotations

import csv
import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from ._backcut import Error, shown
from ._table import Table

# Names, even where all of them look like numbers: 0.20 is another condition than 0.2.
_NAMES = {"arm", "condition", "unit", "family", "contrast", "quantity", "part", "of", "cut", "state", "note", "why"}


class Results:
    """The tables of one study: `analysis`, `observations`, `units`, ... as attributes or by name.

    Nothing is judged here. A row's status is what the tables say; `backcut study verify` derives it again from
    the ledger. A file that is not the one that was collected is an error.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.names = sorted(path.stem for path in self.folder.glob("*.csv"))
        if not self.names:
            raise Error(f"there are no tables in {self.folder}\n"
                        "hint: give the folder that `backcut study collect` wrote")
        self._loaded: dict[str, Table] = {}

    @cached_property
    def about(self) -> dict[str, Any]:
        path = self.folder / "about.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    @cached_property
    def _hashes(self) -> dict[str, str]:
        path = self.folder / "SHA256SUMS"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return {name.lstrip("*"): digest for digest, _, name in (line.partition("  ") for line in lines)}

    def __getitem__(self, name: str) -> Table:
        if name not in self.names:
            raise KeyError(f"no table {name!r} in {self.folder}; there are {', '.join(self.names)}")
        if name not in self._loaded:
            self._loaded[name] = self._read(name)
        return self._loaded[name]

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in self.__dict__.get("names", []):
            raise AttributeError(name)
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names]

    def _read(self, name: str) -> Table:
        content = (self.folder / f"{name}.csv").read_bytes()
        wanted = self._hashes.get(f"{name}.csv")
        if wanted and hashlib.sha256(content).hexdigest() != wanted:
            raise Error(f"{self.folder / name}.csv is not the file that was collected (SHA256SUMS)\n"
                        "hint: collect the study again")
        header, *rows = csv.reader(content.decode("utf-8").splitlines())
        columns = list(zip(*rows)) or [()] * len(header)
        return Table({name: [entry or None for entry in column] if name in _NAMES else _typed(column)
                      for name, column in zip(header, columns)})

    @property
    def statuses(self) -> Table:
        """Family, contrast, verdict and status of every row of the analysis, and why it has that status."""
        analysis = self["analysis"]
        wanted = [name for name in ("family", "contrast", "verdict", "status", "why")
                  if name in analysis.columns]
        return Table({name: analysis[name] for name in wanted})

    def __repr__(self) -> str:
        return shown(f"Results({str(self.folder)!r}: {', '.join(self.names)})")


def _typed(column: tuple[str, ...]) -> list[Any]:
    """A column of numbers if every entry that is there is one; seeds and counts stay whole."""
    for kind in (int, float):
        try:
            return [kind(entry) if entry else None for entry in column]
        except ValueError:
            continue
    return [entry or None for entry in column]


def results(folder: str | Path) -> Results:
    """Reads what `backcut study collect` wrote."""
    return Results(folder)
