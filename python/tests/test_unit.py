import json
import os

import pytest
from backcut._unit import UnitError, unit


@pytest.fixture
def given(tmp_path, monkeypatch):
    def make(**changes):
        content = {"version": 1, "unit": "5f0c", "arm": "every-8", "condition": "default", "seed": 3,
                   "updates": 200, "evaluate": [200], "settings": {"detach": 8, "width": 32},
                   "result": str(tmp_path / "result.json"), "progress": str(tmp_path / "progress"),
                   "checkpoint": str(tmp_path / "checkpoint")} | changes
        content = {key: value for key, value in content.items() if value is not None}
        (tmp_path / "unit.json").write_text(json.dumps(content))
        (tmp_path / "checkpoint").mkdir(exist_ok=True)
        monkeypatch.setenv("BACKCUT_UNIT", str(tmp_path / "unit.json"))
        return tmp_path
    return make


def test_settings_in_progress_and_result_out(given):
    folder = given(evaluate=[100, 200])
    it = unit(settings={"detach": 0, "width": 8})
    assert (it.arm, it.condition, it.seed, it.updates, it.id) == ("every-8", "default", 3, 200, "5f0c")
    assert it.settings == {"detach": 8, "width": 32} and it.in_study
    it.progress(17)
    assert (folder / "progress").read_text() == "17\n"
    it.record(100, 0.71)
    it.finding("gradient norm", 1.25)
    it.provenance(device="cpu")
    it.finish(0.4375)
    result = json.loads((folder / "result.json").read_text())
    assert result["value"] == 0.4375 and result["curve"] == [[100, 0.71], [200, 0.4375]]
    assert result["findings"] == [{"quantity": "gradient norm", "part": "all", "value": 1.25, "note": ""}]
    assert result["provenance"]["device"] == "cpu" and result["provenance"]["python"]
    assert sorted(os.listdir(folder)) == ["checkpoint", "progress", "result.json", "unit.json"]


def test_a_checkpoint_is_there_whole_or_not_at_all(given):
    given()
    it = unit()
    with it.saving("state.json") as path:
        path.write_text("1")
    with pytest.raises(ZeroDivisionError):
        with it.saving("state.json") as path:
            path.write_text("half")
            1 / 0
    assert (it.checkpoint / "state.json").read_text() == "1"


def test_failure_is_an_outcome(given):
    folder = given()
    unit().fail("the loss is\nnan")
    assert json.loads((folder / "result.json").read_text())["failed"] == "the loss is nan"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_not_handed_over(given, value):
    folder = given()
    for say in (unit().finish, lambda v: unit().record(1, v), lambda v: unit().finding("x", v)):
        with pytest.raises(UnitError, match="fail"):
            say(value)
    assert not (folder / "result.json").exists()


def test_what_the_study_asked_for_must_come(given):
    given(evaluate=[100, 200])
    it = unit()
    it.record(50, 1.0)
    with pytest.raises(UnitError, match=r"\[100, 200\]"):
        it.finish(0.5)
    with pytest.raises(UnitError, match="after update 50"):
        it.record(50, 1.0)


def test_settings_that_only_one_side_names_are_an_error(given):
    given()
    with pytest.raises(UnitError, match="'detach' is named by the study"):
        unit(settings={"width": 1})
    with pytest.raises(UnitError, match="'rate' is named by the program"):
        unit(settings={"detach": 0, "width": 1, "rate": 0.1})


def test_units_that_can_not_be_read(given, monkeypatch):
    given(version=2)
    with pytest.raises(UnitError, match="version 2"):
        unit()
    given(seed=None)
    with pytest.raises(UnitError, match="seed"):
        unit()
    monkeypatch.setenv("BACKCUT_UNIT", "nowhere.json")
    with pytest.raises(UnitError, match="nowhere"):
        unit()


def test_by_hand_there_is_a_unit_too(monkeypatch, capsys):
    monkeypatch.delenv("BACKCUT_UNIT", raising=False)
    it = unit(seed=5, updates=3, settings={"detach": 2})
    assert (it.seed, it.settings, it.in_study) == (5, {"detach": 2}, False)
    assert it.checkpoint.is_dir()
    it.progress(1)
    it.finish(0.5)
    assert json.loads(capsys.readouterr().out)["value"] == 0.5
