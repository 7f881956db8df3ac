import csv
import json

import backcut
import numpy as np
import pytest
from conftest import SMALL

RNG = np.random.default_rng(5)
SHAPES = {"cell.weight": (7, 5), "cell.bias": (5,), "head.weight": (5, 2)}


def tree(kind=np.float32, scale=1.0):
    return {name: (scale * RNG.normal(size=shape)).astype(kind) for name, shape in SHAPES.items()}


def flat(values):
    return np.concatenate([np.asarray(v, np.float64).ravel() for v in values.values()])


def squares():
    return {name: value**2 for name, value in tree().items()}


PARAMS, FULL, CUT = tree(), tree(), tree()


def test_the_gradient_layer_is_geometry():
    found = backcut.compare(PARAMS, {"full": FULL, "cut": CUT})
    a, b = flat(FULL), flat(CUT)
    close = lambda name, value: found.value(f"gradient.{name}", "cut") == pytest.approx(value, rel=1e-12)
    assert close("norm", np.linalg.norm(b)) and close("ratio", np.linalg.norm(b) / np.linalg.norm(a))
    assert close("difference", np.linalg.norm(b - a) / np.linalg.norm(a))
    assert close("cosine", a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert found.value("gradient.difference", "full") == 0.0
    part = np.linalg.norm(flat({k: v for k, v in CUT.items() if k.startswith("cell")}))
    assert found.value("gradient.norm", "cut", "cell") == pytest.approx(part, rel=1e-12)
    assert found.summary()["arm"] == ["full", "cut"]
    assert "<table>" in found._repr_html_() and "cut" in repr(found)


def test_groups_are_regular_expressions():
    found = backcut.compare(PARAMS, {"full": FULL}, groups={"biases": r"bias$", "weights": r"weight$"})
    assert set(found.table["part"]) == {"biases", "weights", "all"}
    for groups in ({"a": "cell", "b": "bias"}, {"a": "nothing"}, {"a": "("}):
        with pytest.raises(backcut.Error, match="hint:"):
            backcut.compare(PARAMS, {"full": FULL}, groups=groups)


def step_by_numpy(kind, s, g, theta, moments, step):
    """PyTorch's documented updates, in f64."""
    if kind in ("sgd", "momentum", "adam"):
        g = g + s["decay"] * theta
    if kind in ("sgd", "momentum"):
        return -s["rate"] * (s.get("momentum", 0) * moments[0] + g)
    m = s["beta1"] * moments[0] + (1 - s["beta1"]) * g
    v = s["beta2"] * moments[1] + (1 - s["beta2"]) * g**2
    direction = m / (1 - s["beta1"]**(step + 1)) / (np.sqrt(v / (1 - s["beta2"]**(step + 1))) + s["eps"])
    return -s["rate"] * (direction + (s["decay"] * theta if kind == "adamw" else 0))


SETTINGS = {
    "sgd": {"rate": 0.1, "decay": 0.01},
    "momentum": {"rate": 0.1, "decay": 0.01, "momentum": 0.9},
    "adam": {"rate": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.02},
    "adamw": {"rate": 0.01, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.02},
}


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("step", [0, 4])
@pytest.mark.parametrize("clip", [None, 1.0])
def test_the_update_is_the_optimizers(kind, step, clip):
    wide = lambda values: {name: v.astype(np.float64) for name, v in values.items()}
    count = {"sgd": 0, "momentum": 1}.get(kind, 2)
    moments = [wide(tree()), wide(squares())][:count] if step else []
    optimizer = backcut.Optimizer(kind.replace("momentum", "sgd"), SETTINGS[kind], clip, step if count else 0, moments)
    found = backcut.compare(wide(PARAMS), {"full": wide(FULL), "cut": wide(CUT)}, optimizer)
    updates = {}
    for arm, gradient in (("full", FULL), ("cut", CUT)):
        g = flat(gradient)
        factor = min(1.0, clip / np.linalg.norm(g)) if clip else 1.0
        assert found.value("clip.factor", arm) == pytest.approx(factor, rel=1e-12)
        flats = [flat(m) for m in moments] or [np.zeros_like(g)] * 2
        updates[arm] = step_by_numpy(kind, SETTINGS[kind], factor * g, flat(PARAMS), flats, step)
    a, b = updates["full"], updates["cut"]
    close = lambda name, value: found.value(f"applied.{name}", "cut") == pytest.approx(value, rel=1e-9)
    assert close("norm", np.linalg.norm(b)) and close("cosine", a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    assert close("difference", np.linalg.norm(a - b) / np.linalg.norm(a))


def test_a_factorial_has_an_interaction():
    arms = {name: tree() for name in "abcd"}
    found = backcut.compare(PARAMS, arms, factorial=tuple("abcd"))
    a, b, c, d = (flat(arms[name]) for name in "abcd")
    want = np.linalg.norm(a - b - c + d) / np.linalg.norm(a)
    assert found.value("raw.interaction", "a - b - c + d") == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("cuts", ["FF,FD,F_SG,KF,KD,K_SG", "FF,SEG-4"])
def test_it_agrees_with_measure_to_the_last_digit(command, tmp_path, cuts):
    run, out = tmp_path / "run", tmp_path / "out"
    command("train", "quadrotor", *SMALL, "--updates", 5, "--out", run)
    checkpoint = run / "checkpoint.safetensors"
    command("export", "--from", checkpoint, "--cuts", cuts, "--out", tmp_path / "export.safetensors")
    from export_file import Export
    export = Export(tmp_path / "export.safetensors")
    names = export.header["parameters"]
    ordered = lambda prefix: {name: export.family(prefix)[name] for name in names}
    adamw = export.optimizer["adamw"]
    optimizer = backcut.Optimizer("adamw", adamw, export.optimizer["clip"], export.header["adam_step"],
                                  [ordered("moment1"), ordered("moment2")])
    arms = {cut: ordered(f"gradient/{cut}") for cut in cuts.split(",")}
    found = backcut.compare(ordered("param"), arms, optimizer)
    ours = {(r["quantity"], r["arm"], r["part"]): r["value"] for r in found.table}
    shared = 0
    for layer in (["gradient"], ["update", "--together"]):
        said = json.loads(command("measure", *layer, "--checkpoint", checkpoint, "--cuts", cuts, "--json"))
        for row in rows_of(said):
            key = row["quantity"], row["cut"], row["part"]
            if key in ours:
                shared += 1
                assert ours[key] == row["value"], key
    groups = len(set(found.table["part"]))
    assert shared == len(ours) and shared > 20 * groups, (shared, len(ours))


def rows_of(said):
    """The findings in what `measure --json` prints, wherever they stand."""
    if isinstance(said, dict):
        return [said] if "quantity" in said else [row for value in said.values() for row in rows_of(value)]
    return [row for value in said for row in rows_of(value)] if isinstance(said, list) else []


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd"])
def test_it_agrees_with_measure_gradients_to_the_last_digit(command, tmp_path, kind):
    from safetensors.numpy import save_file
    arms = {"full": FULL, "cut": CUT, "other": tree(), "last": tree()}
    moments = [tree(), squares()][:1 if kind == "sgd" else 2]
    settings = {"rate": 0.1, "momentum": 0.9, "decay": 0.01} if kind == "sgd" else SETTINGS[kind]
    families = {"param": PARAMS, **{f"gradient/{arm}": gradient for arm, gradient in arms.items()},
                **{f"moment{i + 1}": moment for i, moment in enumerate(moments)}}
    tensors = {f"{family}/{name}": value for family, values in families.items() for name, value in values.items()}
    header = {"kind": "export", "format": 2, "arms": list(arms), "parameters": list(SHAPES), "step": 7,
              "optimizer": {"kind": kind, **settings, "clip": 1.0}}
    save_file(tensors, tmp_path / "state.safetensors", metadata={"backcut": json.dumps(header)})
    said = json.loads(command("measure", "gradients", tmp_path / "state.safetensors", "--json",
                              "--group", "biases=bias$"))
    optimizer = backcut.Optimizer(kind, settings, 1.0, 7, moments)
    found = backcut.compare(PARAMS, arms, optimizer, groups={"biases": "bias$"})
    key = lambda row: (row["quantity"], row.get("cut", row.get("arm")), row["part"])
    theirs = {key(row): row["value"] for row in rows_of(said)}
    assert theirs == {key(row): row["value"] for row in found.table} and len(theirs) > 50


def test_before_the_first_update_there_is_no_scale():
    found = backcut.compare(PARAMS, {"full": FULL}, backcut.Optimizer("adamw", SETTINGS["adamw"]))
    row = next(iter(found.table.where(quantity="rho.median")))
    assert row["value"] is None and "no second moment" in row["note"]


def wrong(values, name, value):
    return {**values, name: value}


@pytest.mark.parametrize("arm, words", [
    ({k: v for k, v in CUT.items() if k != "cell.bias"}, "lacks `cell.bias`"),
    (wrong(CUT, "other", np.zeros(2, np.float32)), "`other`, which is no parameter"),
    (wrong(CUT, "cell.bias", np.zeros(4, np.float32)), "of shape"),
    (wrong(CUT, "cell.bias", np.full(5, np.nan, np.float32)), "not finite in `cell.bias`"),
    (wrong(CUT, "cell.bias", np.zeros(5)), "one precision"),
    (wrong(CUT, "cell.bias", np.ma.masked_less(CUT["cell.bias"], 0)), "a mask on `cell.bias`"),
])
def test_gradients_that_do_not_fit_are_errors(arm, words):
    with pytest.raises(backcut.Error, match=words):
        backcut.compare(PARAMS, {"full": FULL, "cut": arm})


@pytest.mark.parametrize("optimizer, words", [
    (backcut.Optimizer("rmsprop", {"rate": 1}), "not known"),
    (backcut.Optimizer("adamw"), "needs a `rate`"),
    (backcut.Optimizer("sgd", {"rate": 1, "beta1": 1}), "no setting `beta1`"),
    (backcut.Optimizer("adam", {"rate": 1}, None, 0, [PARAMS, PARAMS]), "after 0 updates with 2 moments"),
    (backcut.Optimizer("adam", {"rate": 1}, None, 3), "after 3 updates with 0 moments"),
    (backcut.Optimizer("adam", {"rate": 1}, None, 3, [PARAMS]), "has 2 moments"),
    (backcut.Optimizer("adam", {"rate": 1}, None, 3, [PARAMS, PARAMS]), "negative"),
    (backcut.Optimizer("sgd", {"rate": 1}, -1.0), "clipped to -1"),
])
def test_optimizers_that_make_no_sense_are_errors(optimizer, words):
    with pytest.raises(backcut.Error, match=words):
        backcut.compare(PARAMS, {"full": FULL}, optimizer)


def test_nothing_and_unknown_arms_are_errors():
    with pytest.raises(backcut.Error, match="nothing to compare"):
        backcut.compare(PARAMS, {})
    with pytest.raises(backcut.Error, match="four arms"):
        backcut.compare(PARAMS, {"a": FULL}, factorial=("a", "a", "a", "b"))


def test_tables_are_handed_on():
    table = backcut.compare(PARAMS, {"full": FULL}).table
    header, *rows = csv.reader(table.to_csv().splitlines())
    assert header == ["quantity", "arm", "part", "value", "note"] and len(rows) == len(table)
    with pytest.raises(KeyError, match="there are quantity"):
        table.where(nothing=1)
