"""What the tests share: the command, built beside this package, and the examples' folder.

`BACKCUT` names the command. Tests that hold this package to it are skipped where it is not there; the project's
own test command always names it.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))


@pytest.fixture(scope="session")
def command():
    program = os.environ.get("BACKCUT") or shutil.which("backcut")
    if program is None:
        pytest.skip("the command `backcut` is not there: name it in BACKCUT")

    def run(*words, fails=(0,)):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
        assert done.returncode in fails, done.stderr
        return done.stdout
    return run


SMALL = ["--set", "policy.steps=6", "--set", "policy.width=8", "--set", "policy.layers=2", "--set", "policy.heads=2",
         "--set", "policy.hidden=8", "--set", "batch=3"]
CUTS = "FF,FD,F_SG,SEG-4,F_A0.5"


def off(export, name, found):
    """How far a gradient lies from the engine's, relative to the engine's."""
    theirs = export.family(f"gradient/{name}")
    assert sorted(found) == sorted(theirs)
    flat = lambda tree: np.concatenate([np.asarray(tree[n]).ravel() for n in sorted(tree)])
    return np.linalg.norm(flat(found) - flat(theirs)) / np.linalg.norm(flat(theirs))


@pytest.fixture(scope="session")
def export(command, tmp_path_factory):
    """Exports of a small quadrotor, by what is asked for."""
    folder, made = tmp_path_factory.mktemp("exports"), {}

    def get(*words):
        if words not in made:
            path = folder / f"{len(made)}.safetensors"
            command("export", *words, "--out", path)
            from export_file import Export
            made[words] = Export(path)
        return made[words]
    return get


@pytest.fixture(scope="session")
def judged(command, tmp_path_factory):
    """The command's verdicts on a table, as it prints them."""
    def run(csv, *words):
        path = tmp_path_factory.mktemp("tables") / "table.csv"
        path.write_text(csv)
        return json.loads(command("stats", path, "--json", *words, fails=(0, 1)))
    return run
