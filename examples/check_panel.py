"""Computes a probe, an attention mass and a donor cost anew from an exported panel, in numpy.

    backcut export --from run/checkpoint.safetensors --panel --out panel.safetensors
    python examples/check_panel.py panel.safetensors

The file holds the panel's taps, the policy's parameters, the derangement and the folds, and beside them what backcut
found at the same state. Nothing of backcut's own code is used here. The probe is a ridge regression from a tap to the
true velocity, by the procedure that `backcut measure probe --define` describes. The donor's cost needs a forward of the
quadrotor: each trajectory reads, before its own step, what its donor had stored. Quadrotor, attention, f32.
"""
import sys

import numpy as np

from export_file import Export

DT, GRAVITY, HORIZON, RATE_GAIN = 0.05, 9.81, 10, np.array([16.6, 16.6, 5.0])
TOLERANCE = 2e-4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def linear(params, name, x):
    y = x @ params[f"{name}.weight"]
    return y + params[f"{name}.bias"][0] if f"{name}.bias" in params else y


def layer_norm(params, name, x):
    centred = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return centred * scale * params[f"{name}.gain"][0] + params[f"{name}.bias"][0]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def probabilities(params, block, heads, window, asking, asked):
    """Of one query per row, `asking` [row][column], over positions `asked` [position][row][column]."""
    q = linear(params, f"{block}.w_q", asking).reshape(len(asking), heads, -1)
    k = linear(params, f"{block}.w_k", asked).reshape(len(asked), len(asking), heads, -1)
    scores = np.einsum("bhd,jbhd->bhj", q, k) / q.shape[-1] ** 0.5
    scores[:, :, :max(0, len(asked) - window)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attention_mass(params, policy, window, stored, block):
    """The mean probability of positions before the query's own, over the panel, heads and queries from step 1 on."""
    masses = [probabilities(params, block, policy["heads"], window, stored[t], stored[:t + 1])[:, :, :t].sum(-1)
              for t in range(1, len(stored))]
    return float(np.mean(masses))


def r_squared(x, y, fit, held, strength):
    """Ridge on the rows `fit`, scored on the rows `held`, averaged over the target's columns."""
    mean, scale = x[fit].mean(0), x[fit].std(0)
    keep = np.ptp(x[fit], axis=0) > 0
    z = (x[fit][:, keep] - mean[keep]) / scale[keep]
    centre = y[fit].mean(0)
    weights = np.linalg.solve(z.T @ z + strength * np.eye(z.shape[1]), z.T @ (y[fit] - centre))
    guess = (x[held][:, keep] - mean[keep]) / scale[keep] @ weights + centre
    spread = ((y[held] - y[held].mean(0)) ** 2).sum(0)
    return float((1 - ((y[held] - guess) ** 2).sum(0) / spread).mean())


def probe(x, y, folds, strengths):
    """`x`, `y`: [step][row][column]; five outer folds of trajectories, five inner ones choose the strength."""
    outer, inner = (np.tile(folds[name], len(x)) for name in ("outer", "inner"))
    x, y = (a.reshape(-1, a.shape[-1]).astype(np.float64) for a in (x, y))
    scores = []
    for held in range(5):
        rest = outer != held
        chosen = [sum(r_squared(x, y, rest & (inner != i), rest & (inner == i), s) for i in range(5))
                  for s in strengths]
        scores.append(r_squared(x, y, rest, ~rest, strengths[int(np.argmax(chosen))]))
    return float(np.mean(scores))


def rotation(attitude):
    """Body to world: Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(attitude).T, np.cos(attitude).T
    rows = [[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def observe(state, noise, position, velocity, sigma):
    p, attitude, v, rates = np.split(state, 4, -1)
    to_world = rotation(attitude)
    reading = np.zeros_like(v) if sigma is None else v + sigma * noise
    relative = velocity - reading[:, None]
    relative = np.zeros_like(relative) if sigma is None else relative
    ahead = np.concatenate([position - p[:, None], velocity, relative], -1).reshape(len(p), -1)
    body = np.einsum("bji,bj->bi", to_world, reading)
    return np.concatenate([reading, to_world[:, :2].reshape(len(p), 6), body, rates, ahead], -1)


def move(state, action):
    p, attitude, v, w = np.split(state, 4, -1)
    acceleration = rotation(attitude)[:, :, 2] * (15 * action[:, :1] - 7.5 + GRAVITY)
    acceleration = acceleration - np.array([0, 0, GRAVITY])
    (r, q, _), (w0, w1, w2) = attitude.T, w.T
    along = np.sin(r) * w1 + np.cos(r) * w2
    rate = np.stack([w0 + np.tan(q) * along, np.cos(r) * w1 - np.sin(r) * w2, along / np.cos(q)], -1)
    return np.concatenate([p + DT * v + DT**2 / 2 * acceleration, attitude + DT * rate, v + DT * acceleration,
                           w + DT * RATE_GAIN * (action[:, 1:] - 0.5 - w)], -1)


def embed(params, kind, token):
    x = linear(params, "embedding", token)
    if kind == "normalised":
        return layer_norm(params, "embedding_norm", x)
    return x * x.shape[-1] ** 0.5 if kind == "scaled" else x


def evaluate(export, params, donors=None):
    """The panel's mean error; with donors, each trajectory reads their history in place of its own."""
    policy, sigma = export.settings["policy"], export.settings["velocity"]
    sigma, window = None if sigma == "hidden" else sigma, export.settings["window"] or policy["steps"]
    inputs = {n: x.astype(np.float64) for n, x in export.family("input").items()}
    state, total = inputs["initial_state"], 0
    own = [[] for _ in range(policy["layers"])]
    for t in range(policy["steps"]):
        position, velocity = (inputs[f"reference_{n}"][:, t + 1:t + 1 + HORIZON] for n in ("position", "velocity"))
        token = observe(state, inputs["noise"][:, t], position, velocity, sigma)
        h = embed(params, policy.get("embedding", "plain"), token) + params["position"][t]
        for layer in range(policy["layers"]):
            block = f"block{layer}"
            n = layer_norm(params, f"{block}.norm1", h)
            own[layer].append(n)
            read = np.stack(own[layer])
            if donors is not None:
                read[:t] = export.tensors[f"panel/{block}.stored"][:t, donors]
            p = probabilities(params, block, policy["heads"], window, n, read)
            v = linear(params, f"{block}.w_v", read).reshape(t + 1, len(n), policy["heads"], -1)
            h = h + linear(params, f"{block}.w_o", np.einsum("bhj,jbhd->bhd", p, v).reshape(len(n), -1))
            wide = gelu(linear(params, f"{block}.feed1", layer_norm(params, f"{block}.norm2", h)))
            h = h + linear(params, f"{block}.feed2", wide)
        state = move(state, sigmoid(linear(params, "head", layer_norm(params, "norm", h))))
        total = total + ((state[:, :3] - position[:, 0]) ** 2).sum(-1)
    return float((total / policy["steps"]).mean())


def main(path):
    export = Export(path, "panel")
    policy = export.settings["policy"]
    if export.system != "quadrotor" or "mixer" in policy or policy.get("embedding") == "apg":
        sys.exit("check_panel.py knows the quadrotor with attention and a linear embedding")
    params = {n: p.astype(np.float64) for n, p in export.family("param").items()}
    panel = export.family("panel")
    window = export.settings["window"] or policy["steps"]

    def theirs(kind, quantity, part):
        return next(f["value"] for f in export.header["measured"][kind]
                    if (f["quantity"], f["part"]) == (quantity, part))

    folds, strengths, velocity = export.header["folds"], export.header["strengths"], panel["true_velocity"]
    plain = evaluate(export, params)
    changed = evaluate(export, params, export.header["donors"])
    found = [("panel error", plain, theirs("donor", "panel.error", "all")),
             ("donor error", changed, theirs("donor", "donor.error", "derangement")),
             ("attention, block0", attention_mass(params, policy, window, panel["block0.stored"], "block0"),
              theirs("attention", "attention.mass", "block0")),
             ("probe, token", probe(panel["token"], velocity, folds, strengths), theirs("probe", "probe.r2", "token")),
             ("probe, block1", probe(panel["block1.stored"], velocity, folds, strengths),
              theirs("probe", "probe.r2", "block1.stored"))]
    is_fine = True
    print(f"{'':>18} {'numpy':>12} {'backcut':>12} {'apart':>9}")
    for name, ours, other in found:
        apart = abs(ours / other - 1)
        is_fine &= apart < TOLERANCE
        print(f"{name:>18} {ours:12.6g} {other:12.6g} {apart:9.1e} {'' if apart < TOLERANCE else 'WRONG'}")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
