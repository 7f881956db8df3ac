"""What cuts leave of declared edges, without a framework: the engine's answer, and its lanes."""
import backcut
import numpy as np
import pytest
from backcut._tape import Edges, Kind, Lanes, mapped


def declared(steps=6, **kinds):
    edges = Edges()
    edges.steps = steps
    for name, kind in kinds.items():
        edges.declare(name.replace("__", "."), kind)
    return edges


def test_tables_are_those_that_explain_draws():
    edges = declared(keys=Kind.STORED, h=Kind.CARRIED)
    words = {"own": (1, 1), "kept": (1, 1), "weights only": (0, 1), "cut": (0, 0), 0.5: (0.5, 1)}
    for cut in ("FF", "F_SG", "SEG-2", "SEG-4", "F_A0.5"):
        found = edges.credit(cut)
        for t, row in enumerate(backcut.explain(cut, steps=6).memory):
            for j, word in enumerate(row):
                assert (found.stored["keys"][t, j], found.weights["keys"][t, j]) == words[word], (cut, t, j)
        assert (found.stored["h"] == np.diagonal(found.stored["keys"], -1)).all()


def test_parts_draws_and_depths_come_from_the_engine():
    edges = declared(b__keys=Kind.STORED, b__values=Kind.STORED, body__x=Kind.STATE, body__v=Kind.STATE, seen=Kind.VALUE)
    found = edges.credit("K4F:keys=D:v=A0.5:x=F:seen=D")
    assert found.weights["b.keys"][5].tolist() == [0, 0, 0, 0, 0, 1] and (found.stored["b.values"][5] == 1).all()
    assert (found.states, found.values, found.most) == ({"body.x": (1, False), "body.v": (0.5, True)}, {"seen": 0}, 3)
    offsets = {str(edges.credit("RSEG-3", (7, update)).stored["b.keys"].tolist()) for update in range(20)}
    assert len(offsets) == 3


def test_what_edges_can_not_honour_is_refused_by_name():
    edges = declared(h=Kind.CARRIED, k=Kind.PROJECTED)
    for cut, why in [("FD", "makes a constant of what weights make of `h`"), ("FF:k=SG", "weights that made `k`"),
                     ("KF", "no state edge"), ("FF:nobody=D", "nobody"), ("RSEG-2", "none was drawn")]:
        with pytest.raises(backcut.Error, match=why):
            edges.credit(cut)
    with pytest.raises(backcut.Error, match="a name of its own"):
        edges.declare("h", Kind.STATE)
    assert (edges.credit("FF:k=D").weights["k"][3] == [0, 0, 0, 1, 0, 0]).all()


def test_lanes_count_the_states_that_a_path_passes():
    edges = declared(x=Kind.STATE, y=Kind.STATE)
    lanes = Lanes([edges.credit(cut) for cut in ("K3F:y=F", "FF", "KF:x=A0.5")])
    assert lanes.of == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0)] and lanes.seeds() == [1, 0, 0, 1, 1]
    assert lanes.passed("x") == ([0, 0, 1, 3, 4], [0, 1, 1, 1, 0])
    assert lanes.passed("y") == ([0, 1, 2, 3, 4], [1, 1, 1, 1, 0])
    assert list(lanes.sums()) == [[0, 1, 2], [3], [4]]


def test_every_value_of_a_tree_is_an_edge_of_its_own():
    tree = {"a": (1, [2, None])}
    assert mapped(tree, "h", lambda value, name: (name, value)) == {"a": (("h.a.0", 1), [("h.a.1.0", 2), None])}
