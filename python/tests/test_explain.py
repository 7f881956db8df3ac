import json

import backcut
import pytest


def test_segments_are_triangles():
    memory = backcut.explain("SEG-2", steps=4).memory
    assert memory == [["own"], ["kept", "own"], ["weights only"] * 2 + ["own"],
                      ["weights only"] * 2 + ["kept", "own"]]
    assert backcut.explain("F_A0.5", steps=2).memory == [["own"], [0.5, "own"]]
    assert backcut.explain("FF", steps=3, window=2).memory[2] == [None, "kept", "own"]


@pytest.mark.parametrize("cut", ["FF", "FD", "F_SG", "SEG-3", "K2F", "K_SEG-2", "F_A0.25"])
def test_it_agrees_with_the_command(command, cut):
    said = json.loads(command("explain", cut, "--steps", 7, "--layers", 1, "--json"))
    ours = backcut.explain(cut, steps=7)
    assert ours.meaning == said["meaning"]
    assert ours.stored[6] == said["reach"]["stored"][0]
    assert ours.action[6] == said["reach"]["action"]
    assert ours.state_edges_per_path == said["state_edges_per_path"]


def test_it_draws_and_prints():
    shown = backcut.explain("SEG-8", steps=12)
    assert shown._repr_svg_().startswith("<svg") and "SEG-8" in shown._repr_svg_()
    assert repr(shown).splitlines()[-2].endswith("- - - - - - - - # # # o")


def test_cuts_are_values():
    cut = backcut.Cut("seg-8")
    assert (cut.name, cut.depth, cut.segment, cut.share) == ("SEG-8", None, 8, 0.0)
    assert cut == backcut.Cut(cut) and cut != backcut.Cut("SEG-4")
    assert cut.ends(7) and not cut.ends(6)
    assert backcut.Cut("K4D").depth == 4 and backcut.Cut("K4D").share is None
    for bad in ("SEG-0", "full", ""):
        with pytest.raises(backcut.Error, match="hint:"):
            backcut.Cut(bad)
    with pytest.raises(backcut.Error, match="hint:"):
        backcut.explain("FF", steps=0)
