"""The worked examples run as units of a study."""
import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT


def run(tmp_path, example, settings):
    (tmp_path / "checkpoint").mkdir()
    unit = {"version": 1, "unit": "a", "arm": "a", "condition": "default", "seed": 1, "updates": 2, "evaluate": [2],
            "settings": settings, "result": str(tmp_path / "result.json"), "progress": str(tmp_path / "progress"),
            "checkpoint": str(tmp_path / "checkpoint")}
    (tmp_path / "unit.json").write_text(json.dumps(unit))
    done = subprocess.run([sys.executable, "train.py"], cwd=ROOT / "examples" / example, capture_output=True, text=True,
                          env={**os.environ, "BACKCUT_UNIT": str(tmp_path / "unit.json")})
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((tmp_path / "result.json").read_text())


def test_the_jax_example_gives_a_result(tmp_path):
    pytest.importorskip("jax")
    said, result = run(tmp_path, "jax-attention", {"cut": "SEG-4"})
    assert said == "by memory alone: SEG-4 at `stored`\n"
    found = {row["quantity"]: row["value"] for row in result["findings"]}
    assert found["gradient.cosine FF"] == pytest.approx(1) and found["gradient.cosine FD"] < 1
    assert result["value"] > 0 and "jax" in result["provenance"]["packages"]


def test_the_pytorch_example_gives_a_result(tmp_path):
    pytest.importorskip("torch")
    _, result = run(tmp_path, "pytorch-gru", {"detach": 4})
    found = {row["quantity"]: row["value"] for row in result["findings"]}
    assert found["gradient.cosine full"] == pytest.approx(1) and found["applied.cosine every 4"] < 1
    assert result["value"] > 0 and "torch" in result["provenance"]["packages"]


@pytest.mark.parametrize("example", ["jax-attention", "pytorch-gru"])
def test_an_example_can_be_planned_and_frozen(command, tmp_path, example):
    folder = shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    assert "24 (0 done)" in command("study", "plan", folder / "study.toml", "--out", tmp_path / "out")
    said = command("study", "freeze", folder / "study.toml", "--out", tmp_path / "out")
    assert "3 contrasts, asks to be confirmatory" in said
