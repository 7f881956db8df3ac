"""Expected values for `probes_match_scikit_learn.rs`: nested ridge by scikit-learn on small data.

    pip install scikit-learn && python ridge.py > ridge.json

Data are rounded to f32, which the probe reads. Folds are given, as (outer, inner) per trajectory.
"""
import json

import numpy as np
import sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

STRENGTHS = [float(f"1e{k}") for k in range(-4, 4)]
FOLDS = 5


def nested(x, y, outer, inner):
    folds, chosen = [], []
    for held_out in range(FOLDS):
        train, test = outer != held_out, outer == held_out
        search = GridSearchCV(
            make_pipeline(StandardScaler(), Ridge(solver="svd")),
            {"ridge__alpha": STRENGTHS},
            cv=PredefinedSplit(inner[train]),
            scoring="r2",
        ).fit(x[train], y[train])
        folds.append(r2_score(y[test], search.predict(x[test])))
        chosen.append(search.best_params_["ridge__alpha"])
    return {"r2": float(np.mean(folds)), "folds": folds, "strengths": chosen}


def case(name, rng, trajectories, steps, width, outputs, noise, offset):
    rows = trajectories * steps
    own = rng.normal(size=(trajectories, width)).repeat(steps, axis=0)
    x = own + 0.7 * rng.normal(size=(rows, width))
    x = x * 10.0 ** rng.uniform(-2, 2, size=width) + offset * rng.normal(size=width)
    x[:, 1] = 3.5  # constant: must not matter
    x[:, 2] = x[:, 0] * 2 - x[:, 3]  # dependent: must not blow up
    y = x @ (rng.normal(size=(width, outputs)) / x.std(axis=0).clip(1e-3)[:, None])
    y = y + noise * y.std(axis=0) * rng.normal(size=y.shape) + offset
    x, y = x.astype(np.float32), y.astype(np.float32)
    order = rng.permutation(trajectories)
    outer, inner = np.empty(trajectories, int), np.empty(trajectories, int)
    outer[order] = np.arange(trajectories) % FOLDS
    inner[order] = np.arange(trajectories) // FOLDS % FOLDS
    x64, y64 = x.astype(float), y.astype(float)
    want = nested(x64, y64, outer.repeat(steps), inner.repeat(steps))
    return {
        "name": name, "trajectories": trajectories, "steps": steps,
        "width": width, "outputs": outputs,
        "x": [float(v) for v in x.ravel()], "y": [float(v) for v in y.ravel()],
        "outer": outer.tolist(), "inner": inner.tolist(), "want": want,
    }


rng = np.random.default_rng(20261115)
print(json.dumps({
    "sklearn": sklearn.__version__,
    "strengths": STRENGTHS,
    "cases": [
        case("little noise", rng, 27, 4, 6, 3, 0.05, 0.0),
        case("mostly noise", rng, 40, 3, 9, 2, 3.0, 0.0),
        case("far from zero", rng, 30, 5, 7, 1, 0.5, 100.0),
    ],
}))
