"""What the guide to JAX shows of tapes and switches runs, in the order in which it shows it."""
import re

import pytest
from conftest import ROOT

jax = pytest.importorskip("jax")
pytest.importorskip("optax")


def test_the_guide_to_tapes_and_switches_runs():
    text = (ROOT / "docs" / "jax.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text[text.index("## Declared edges"):], re.DOTALL)
    assert len(blocks) == 4
    at_hand = {}
    with jax.enable_x64(False):
        for block in blocks:
            exec(compile("import backcut.jax\n" + block, f"jax: {block.splitlines()[0]}", "exec"), at_hand)
            if "tape.under" in block:
                assert at_hand["slope"]._cache_size() == 1
                assert "no credit reaches earlier steps" in str(at_hand["found"].undeclared)
                assert at_hand["found"].value("applied.cosine", "SEG-8") < 1
            if "switches(" in block:
                assert len(at_hand["found"].switches) == 1 and set(at_hand["found"].held_out) > {"as it is"}
    assert at_hand["found"].gradient["h"][9, 8] > 0 and at_hand["found"].held is not None
