import shutil

import backcut
import pytest
from conftest import ROOT


def test_tables_and_statuses_of_a_study():
    found = backcut.results(ROOT / "results" / "a4")
    assert {"analysis", "observations", "units"} <= set(found.names)
    assert len(found.observations) == len(found["observations"]) > 0
    row = next(iter(found.observations))
    assert isinstance(row["value"], float) and isinstance(row["source"], int)
    assert row["condition"] == "0.05"
    statuses = found.statuses
    assert set(statuses["status"]) <= {"confirmatory", "descriptive", "exploratory"}
    assert all(statuses["verdict"])


def test_a_table_that_was_changed_is_an_error(tmp_path):
    folder = tmp_path / "a4"
    shutil.copytree(ROOT / "results" / "a4", folder)
    path = folder / "observations.csv"
    path.write_text(path.read_text().replace("done", "gone", 1))
    found = backcut.results(folder)
    with pytest.raises(backcut.Error, match="not the file that was collected"):
        found.observations
    assert len(found.analysis) > 0


def test_a_folder_without_tables_is_an_error(tmp_path):
    with pytest.raises(backcut.Error, match="study collect"):
        backcut.results(tmp_path)
    with pytest.raises(KeyError, match="there are"):
        backcut.results(ROOT / "results" / "a4")["nothing"]
