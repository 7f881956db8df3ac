"""Checks an export against JAX or PyTorch: loss, gradient and applied update of every cut in it.

    backcut export --noise 0.20 --precision f64 --out export.safetensors
    backcut export --system vessel --set noise=0.1 --cuts FF,FD,K4_SG --precision f64 --out export.safetensors
    python examples/check_gradient.py export.safetensors [jax|torch] [CUT,CUT,...]

JAX knows both systems (the vessel in f64), PyTorch the quadrotor alone.

Differences are relative to the whole gradient's (update's) norm: the exact gradient of a key's bias is
zero by the softmax's shift invariance, so a relative error of its own would mean nothing. The update is
compared after one step of the same clipped optimizer in numpy, which shares no code with either side; Adam
divides a gradient by its own size, so entries whose gradient is rounding noise (those biases) may move
either way and are left out there. The update in the file is a difference of rounded parameters, which
matters beside a rate of 2e-6: half a unit in their last place is allowed beyond the tolerance.
"""
import importlib.util
import sys

import numpy as np

from export_file import Export

TOLERANCE = {"f64": 1e-12, "f32": 1e-5}


def flat(tensors, names):
    return np.concatenate([np.asarray(tensors[n], np.float64).ravel() for n in names])


def apply(export, gradient):
    """theta' - theta, from the export's own parameters, moments and count of steps, in f64."""
    rule, clip = export.optimizer[export.rule], export.optimizer["clip"]
    names = sorted(gradient)
    g, theta = flat(gradient, names), flat(export.family("param"), names)
    own = [np.full((gradient[n].size, 2), export.rate_and_decay(n)) for n in names]
    rate, decay = np.concatenate(own).T
    if clip != "none":
        g = g * min(1.0, clip / np.linalg.norm(g))
    if export.rule != "adamw":
        g = g + decay * theta
    if export.rule == "sgd":
        kept = flat(export.family("moment1"), names) if rule["momentum"] else 0.0
        return names, -rate * (rule["momentum"] * kept + g)
    m, v = (flat(export.family(f), names) for f in ("moment1", "moment2"))
    count = export.header["adam_step"] + 1
    m = rule["beta1"] * m + (1 - rule["beta1"]) * g
    v = rule["beta2"] * v + (1 - rule["beta2"]) * g**2
    direction = m / (1 - rule["beta1"]**count)
    direction /= np.sqrt(v / (1 - rule["beta2"]**count)) + rule["eps"]
    if export.rule == "adamw":
        direction += decay * theta
    return names, -rate * direction


def main(path, framework=None, cuts=None):
    export = Export(path)
    frameworks = [framework] if framework else ["jax", "torch"]
    available = [f for f in frameworks if importlib.util.find_spec(f)]
    if not available:
        sys.exit(f"not installed: {', '.join(frameworks)}")
    module = importlib.import_module(f"update_{available[0]}")
    precision = export.header["precision"]
    if (export.system, precision) == ("vessel", "f32"):
        sys.exit("positions in single precision have steps of half a metre: export with --precision f64")
    tolerance = TOLERANCE[precision]
    is_fine = True
    print(f"{export.system}, {available[0]}, {precision}, tolerance {tolerance:g}")
    print(f"{'cut':>8} {'loss':>10} {'gradient':>10} {'update':>10}")
    for name in cuts.split(",") if cuts else export.header["cuts"]:
        total, of_row, found = module.gradient(export, name)
        names = sorted(found)
        ours, theirs = flat(export.family(f"gradient/{name}"), names), flat(found, names)
        size = np.linalg.norm(ours)
        off_loss = max(abs(total / export.tensors["output/loss"][0] - 1),
                       np.max(np.abs(of_row / export.tensors["output/row_loss"] - 1)))
        off_gradient = np.linalg.norm(ours - theirs) / size
        names, applied = apply(export, found)
        made = flat(export.family(f"update/{name}"), names)
        clear = np.abs(theirs) > 1e-6 * size
        off_update = np.linalg.norm((applied - made)[clear]) / np.linalg.norm(made)
        last_place = np.spacing(flat(export.family("param"), names).astype(precision.replace("f", "float")))
        rounding = np.linalg.norm(last_place / 2) / np.linalg.norm(made)
        ok = max(off_loss, off_gradient) < tolerance and off_update < 10 * tolerance + rounding
        is_fine &= ok
        print(f"{name:>8} {off_loss:10.2e} {off_gradient:10.2e} {off_update:10.2e} {'' if ok else 'WRONG'}")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
